import { EspalierError } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { shuffled } from "./shuffled.ts";

/** What a {@link Loader} is made with. */
export interface LoaderOptions {
  /** How many examples there are. */
  readonly length: number;
  /** How many make a batch. Where there are fewer examples, all of them are one smaller batch. */
  readonly batchSize: number;
  /** What orders are drawn from: a key of a random stream, `streams.get("data").key()`. */
  readonly key: Uint32Array;
  /** Whether each epoch has an order of its own. Default: true. */
  readonly shuffle?: boolean | undefined;
  /** What becomes of examples that do not fill a batch. Default: "keep", as a smaller one. */
  readonly lastBatch?: "keep" | "drop" | undefined;
}

/** Batches of one size, one after the other. */
export interface Run {
  readonly size: number;
  readonly count: number;
  /** The first one's first example within the order. */
  readonly from: number;
}

interface LoaderState {
  readonly key: Uint32Array;
  readonly epoch: number;
  readonly position: number;
}

/**
 * Batches of examples, as rows of whatever holds them: their order, and how far an epoch has got. The order of an
 * epoch follows from the key and the epoch's number alone, so that a position in the middle of one is three numbers to
 * save, and a loader that is restored goes on with the same next batch.
 *
 * @example
 * ```ts
 * const loader = new Loader({ length: 1000, batchSize: 64, key: streams.get("data").key() });
 * loader.runs; // [{ size: 64, count: 15, from: 0 }, { size: 40, count: 1, from: 960 }]
 * const rows = loader.next(); // 64 row numbers
 * loader.position; // 64
 * ```
 */
export class Loader implements Stateful {
  readonly length: number;
  readonly shuffle: boolean;
  /** The batches of an epoch: full ones, then the smaller one where there is one. */
  readonly runs: readonly Run[];
  #key: Uint32Array;
  #epoch = 0;
  #position = 0;
  /** This epoch's order and the next one's, as far as they have been drawn. */
  #orders: readonly { readonly epoch: number; readonly rows: Int32Array }[] = [];

  constructor(options: LoaderOptions) {
    const { length, batchSize, shuffle = true, lastBatch = "keep" } = options;
    checkCount("length", length, 0);
    checkCount("batchSize", batchSize, 1);
    if (lastBatch !== "keep" && lastBatch !== "drop")
      throw new EspalierError("OPTION_INVALID", `loader: lastBatch cannot be ${JSON.stringify(lastBatch)}`, {
        fix: 'use "keep" or "drop"',
      });
    this.length = length;
    this.shuffle = shuffle;
    this.#key = options.key.slice();
    const count = Math.floor(length / batchSize);
    const rest = lastBatch === "keep" ? length % batchSize : 0;
    this.runs = [
      { size: batchSize, count, from: 0 },
      { size: rest, count: rest === 0 ? 0 : 1, from: count * batchSize },
    ].filter((run) => run.count > 0);
    if (length > 0 && this.runs.length === 0)
      throw new EspalierError(
        "DATA_TOO_SMALL",
        `loader: ${length} examples do not fill one batch of ${batchSize}, and the smaller batch is dropped`,
        { fix: 'take a smaller batchSize, or lastBatch: "keep"' },
      );
  }

  /** How many examples an epoch takes. */
  get used(): number {
    return this.runs.reduce((sum, { size, count }) => sum + size * count, 0);
  }
  /** The epoch it is in, by its own count from 0. */
  get epoch(): number {
    return this.#epoch;
  }
  /** How many examples of this epoch have been taken. */
  get position(): number {
    return this.#position;
  }

  /** The rows of this epoch's examples, in order: one array for one epoch. */
  get order(): Int32Array {
    const [made] = this.#orders.filter(({ epoch }) => epoch === this.#epoch);
    if (made) return made.rows;
    const rows = this.#orderOf(this.#epoch);
    this.#orders = [{ epoch: this.#epoch, rows }];
    return rows;
  }

  /** Draws the next epoch's order ahead of time: while a device is busy, say. */
  prepareNext(): void {
    const epoch = this.#epoch + 1;
    if (!this.shuffle || this.#orders.some((made) => made.epoch === epoch)) return;
    this.#orders = [
      { epoch: this.#epoch, rows: this.order },
      { epoch, rows: this.#orderOf(epoch) },
    ];
  }

  #orderOf(epoch: number): Int32Array {
    if (this.shuffle) return shuffled(hostRandom.hostFoldIn(this.#key, epoch), this.length);
    return this.#orders[0]?.rows ?? Int32Array.from({ length: this.length }, (_, i) => i);
  }

  /** The rows of the next batch, which are taken. */
  next(): Int32Array {
    const run = this.runs.find(({ size, count, from }) => this.#position < from + size * count);
    const size = run?.size ?? 0;
    const rows = this.order.slice(this.#position, this.#position + size);
    this.advance(size);
    return rows;
  }

  /** Takes examples. After the last of an epoch comes the first of the next. */
  advance(count: number): void {
    this.#position += count;
    if (this.#position >= this.used) this.startNext();
  }

  /** Leaves what is left of this epoch. */
  startNext(): void {
    this.#epoch++;
    this.#position = 0;
  }

  getState(): StateTree {
    return { key: this.#key.slice(), epoch: this.#epoch, position: this.#position };
  }

  setState(state: StateTree): void {
    const { key, epoch, position } = (state ?? {}) as Partial<LoaderState>;
    const whole = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
    if (!ArrayBuffer.isView(key) || key.length !== 2 || !whole(epoch) || !whole(position))
      throw new EspalierError("STATE_INVALID", "this is not a state of a data loader", {
        fix: "pass what getState() gave: { key, epoch, position }",
      });
    if (position > 0 && position >= this.used)
      throw new EspalierError(
        "STATE_MISMATCH",
        `the state is at example ${position} of an epoch, and there are ${this.used}`,
        { fix: "resume with the data, batch size and lastBatch it was saved with" },
      );
    this.#key = Uint32Array.from(key);
    this.#epoch = epoch;
    this.#position = position;
    this.#orders = [];
  }
}

function checkCount(name: string, value: unknown, least: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least) return;
  throw new EspalierError("OPTION_INVALID", `loader: ${name} is ${String(value)}`, {
    fix: `give a whole number from ${least} on`,
  });
}
