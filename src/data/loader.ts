import { badOption, EspalierError, type Options, option, resolveOptions, shown } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

/** One of several processes that train together. */
export interface Rank {
  readonly index: number;
  readonly count: number;
}

/** Options that a loader of batches has as well. */
export const loaderTable = {
  /** Examples in a batch. Where there are fewer examples, all of them are one smaller batch. */
  batchSize: option.integer({ min: 1, required: true }),
  /** Gives each epoch an order of its own. Default: true. */
  shuffle: option.flag({}),
  /** Keeps examples that do not fill a batch, as a smaller one, or drops them. Default: "keep". */
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
  /** One of several processes that train together: it takes every `count`-th example of the order. */
  rank: option.group<Rank>(
    { index: option.integer({ min: 0, required: true }), count: option.integer({ min: 1, required: true }) },
    {},
  ),
};

const isKey = (value: unknown): value is Uint32Array =>
  ArrayBuffer.isView(value) && (value as Uint32Array).length === 2;
export const aKey = 'a key, such as streams.get("data").key()';

const table = {
  ...loaderTable,
  /** The number of examples. */
  length: option.integer({ min: 0, required: true }),
  /** The key of the orders, from a random stream: `streams.get("data").key()`. */
  key: option.made<Uint32Array, { readonly required: true }>(aKey, ArrayBuffer.isView, { required: true }),
};

/** Options of {@link Loader}. */
export interface LoaderOptions extends Options<typeof table> {}

/** Batches of one size, one after the other. */
export interface BatchGroup {
  readonly size: number;
  readonly count: number;
  /** The first one's first example within the order. */
  readonly from: number;
}

/**
 * Batches of examples, as rows of whatever holds them: their order, and how far an epoch has got. The order of an
 * epoch follows from the key and the epoch's number alone, so that a position in the middle of one is three numbers to
 * save, and a loader that is restored goes on with the same next batch.
 *
 * @example
 * ```ts
 * const loader = new Loader({ length: 1000, batchSize: 64, key: streams.get("data").key() });
 * loader.groups; // [{ size: 64, count: 15, from: 0 }, { size: 40, count: 1, from: 960 }]
 * const rows = loader.next(); // 64 row numbers
 * loader.position; // 64
 * ```
 */
export class Loader implements Stateful {
  readonly length: number;
  readonly shuffle: boolean;
  /** The batches of an epoch: full ones, then the smaller one where there is one. */
  readonly groups: readonly BatchGroup[];
  /** The number of examples in an epoch. */
  readonly used: number;
  readonly #rank: Rank;
  #key: Uint32Array;
  #epoch = 0;
  #position = 0;
  /** Orders that have been drawn: of this epoch and of the next. */
  #orders: readonly { readonly epoch: number; readonly rows: Int32Array }[] = [];

  constructor(options: LoaderOptions) {
    const settings = resolveOptions("loader", options, table);
    const { batchSize, shuffle = true, lastBatch, rank = { index: 0, count: 1 } } = settings;
    if (rank.index >= rank.count)
      throw badOption("loader", `rank is ${shown(rank)}`, "give an index below the count");
    this.length = options.length;
    this.shuffle = shuffle;
    this.#rank = rank;
    this.#key = Uint32Array.from(options.key);
    const length = Math.floor(options.length / rank.count);
    const count = Math.floor(length / batchSize);
    const rest = lastBatch === "keep" ? length % batchSize : 0;
    this.groups = [
      { size: batchSize, count, from: 0 },
      { size: rest, count: rest === 0 ? 0 : 1, from: count * batchSize },
    ].filter((group) => group.count > 0);
    this.used = count * batchSize + rest;
    if (length > 0 && this.groups.length === 0)
      throw new EspalierError(
        "DATA_TOO_SMALL",
        `loader: ${length} examples do not fill one batch of ${batchSize}, and the smaller batch is dropped`,
        { fix: 'take a smaller batchSize, or lastBatch: "keep"' },
      );
  }

  /** The key of the orders. */
  get key(): Uint32Array {
    return this.#key;
  }
  /** The epoch it is in, by its own count from 0. */
  get epoch(): number {
    return this.#epoch;
  }
  /** The number of examples of this epoch that have been taken. */
  get position(): number {
    return this.#position;
  }

  /** The rows of this epoch's examples, in order: one array for one epoch. */
  get order(): Int32Array {
    return this.#order(this.#epoch);
  }

  /** Draws the next epoch's order ahead of time: while a device is busy, say. */
  prepareNext(): void {
    if (this.shuffle) this.#order(this.#epoch + 1);
  }

  #order(epoch: number): Int32Array {
    const known = this.#orders.find((order) => order.epoch === epoch || !this.shuffle);
    if (known) return known.rows;
    const rows = this.shuffle
      ? shuffled(hostRandom.hostFoldIn(this.#key, epoch), this.length)
      : Int32Array.from({ length: this.length }, (_, i) => i);
    this.#orders = [...this.#orders.filter((order) => order.epoch >= this.#epoch), { epoch, rows }].slice(-2);
    return rows;
  }

  /** The rows of the batch at a position of this epoch or the next; undefined at its end. */
  rowsAt(epoch: number, position: number): Int32Array | undefined {
    const group = this.groups.find(({ size, count, from }) => position < from + size * count);
    if (!group) return undefined;
    const { index, count } = this.#rank;
    const order = this.shuffle ? this.#order(epoch) : undefined;
    if (order && count === 1) return order.subarray(position, position + group.size);
    const rows = new Int32Array(group.size);
    for (let i = 0; i < rows.length; i++) {
      const at = (position + i) * count + index;
      rows[i] = order ? (order[at] as number) : at;
    }
    return rows;
  }

  /** The rows of the next batch, which are taken. */
  next(): Int32Array {
    const rows = this.rowsAt(this.#epoch, this.#position)?.slice() ?? new Int32Array(0);
    this.advance(rows.length);
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
    const { key, epoch, position } = (state ?? {}) as {
      readonly [Name in "key" | "epoch" | "position"]?: unknown;
    };
    const whole = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
    if (!isKey(key) || !whole(epoch) || !whole(position))
      throw new EspalierError("STATE_INVALID", "this is not a state of a data loader", {
        fix: "pass what getState() gave: { key, epoch, position }",
      });
    if (position > 0 && position >= this.used)
      throw new EspalierError(
        "STATE_MISMATCH",
        `the state is at example ${position} of an epoch, and there are ${this.used}`,
        { fix: "resume with the data, batch size, lastBatch and ranks it was saved with" },
      );
    this.#key = Uint32Array.from(key);
    this.#epoch = epoch;
    this.#position = position;
    this.#orders = [];
  }
}

/**
 * The numbers from 0 up to n in random order, from a key of two words: by exchanges, with numbers of the small fast
 * generator sfc32. With threefry's bits, as `random` draws them, it took four times as long.
 */
export function shuffled(key: Uint32Array, n: number): Int32Array {
  let [a, b] = [key[0] as number, key[1] as number];
  let [c, counter] = [0, 1];
  const order = new Int32Array(n);
  for (let i = -settling; i < n; i++) {
    const bits = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + bits) | 0;
    if (i < 0) continue;
    const other = (((bits >>> 0) / 2 ** 32) * (i + 1)) | 0;
    order[i] = order[other] as number;
    order[other] = i;
  }
  return order;
}

/** Draws until keys that differ in one bit give unrelated numbers. */
const settling = 16;
