import {
  badOption,
  EspalierError,
  emitWarning,
  type OptionTable,
  option,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { ArrayTree } from "../arrays.ts";
import { type Bookmark, Dataset, type Pass } from "../dataset.ts";
import type { Example } from "../example.ts";
import { type BatchGroup, Loader, shuffled } from "../loader.ts";
import { fromArrays } from "../sources.ts";
import { BatchMaker, type BatchRequest, isEnd, type LoadedBatch, type Made, type Rank } from "./batches.ts";
import { LoaderWorkers } from "./workers.ts";

/** Options of {@link createLoader}. */
export interface DataLoaderConfig {
  /** Examples in a batch. Where there are fewer examples, all of them are one smaller batch. */
  readonly batchSize: number;
  /** Gives each epoch an order of its own. Default: true. A stream has its own order: `data.shuffle({ buffer })`. */
  readonly shuffle?: boolean | undefined;
  /** The seed of orders and of the examples' random numbers. Default: 0. */
  readonly seed?: number | undefined;
  /** Instead of a seed: a key from a random stream, `streams.get("data").key()`. */
  readonly key?: Uint32Array | undefined;
  /** Keeps examples that do not fill a batch, as a smaller one, or drops them. Default: "keep". */
  readonly lastBatch?: "keep" | "drop" | undefined;
  /** Worker threads that make batches. Default: 0, on the main thread. A stream has one reader, so one thread at most. */
  readonly workers?: number | undefined;
  /** Batches that are made ahead, by each worker. Default: 2. */
  readonly prefetch?: number | undefined;
  /** One of several processes that train together: it takes every `count`-th example of the order. */
  readonly rank?: Rank | undefined;
  /** Milliseconds that a batch may take. Default: 300,000. */
  readonly timeout?: number | undefined;
  /**
   * An example that cannot be read or does not fit: an error, or left out. Then another one of the same batch is taken
   * twice (a stream goes on to its next row), and a warning says once an epoch how many there were. Default: "error".
   */
  readonly onBadExample?: "error" | "skip" | undefined;
  /** Takes warnings. Default: those of the process. */
  readonly warn?: ((text: string) => void) | undefined;
}

const table = {
  batchSize: option.integer({ min: 1, required: true, doc: "Examples in a batch." }),
  shuffle: option.flag({ doc: "Gives each epoch an order of its own." }),
  seed: option.integer({ min: 0, doc: "The seed of orders and of the examples' random numbers." }),
  key: option.made<Uint32Array>('a key, such as streams.get("data").key()', ArrayBuffer.isView, {}),
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep", doc: "An incomplete last batch." }),
  workers: option.integer({ min: 0, max: 256, default: 0, doc: "Worker threads that make batches." }),
  prefetch: option.integer({ min: 0, default: 2, doc: "Batches that are made ahead, by each worker." }),
  rank: option.group<Rank>(
    { index: option.integer({ min: 0, required: true }), count: option.integer({ min: 1, required: true }) },
    {},
  ),
  timeout: option.integer({
    min: 1,
    max: 2 ** 31 - 1,
    default: 300_000,
    doc: "Milliseconds that a batch may take.",
  }),
  onBadExample: option.oneOf(["error", "skip"], { default: "error", doc: "An example that cannot be used." }),
  warn: option.made<(text: string) => void>("a function", (value) => typeof value === "function", {}),
} satisfies OptionTable<DataLoaderConfig>;

const settingsOf = (config: DataLoaderConfig) => resolveOptions("createLoader", config, table);

/**
 * Batches of a dataset, made ahead of time, on worker threads if wanted, always in the same order.
 *
 * @example
 * ```ts
 * const loader = createLoader(data, { batchSize: 64, workers: 2 });
 * for (let epoch = 0; epoch < 10; epoch++)
 *   for await (const { x, y } of loader) step(x, y); // { data: Float32Array, shape: [64, ...] }
 * await loader.close();
 * ```
 */
export function createLoader(
  data: Dataset<Example> | { readonly x: ArrayTree; readonly y?: ArrayTree; readonly weight?: ArrayTree },
  config: DataLoaderConfig,
): DataLoader {
  return new DataLoader(data instanceof Dataset ? data : fromArrays(data), config);
}

const { hostFoldIn, hostKey } = hostRandom;

/** A batch that was asked for. */
interface Slot {
  readonly epoch: number;
  /** The number of the request, which decides its worker. */
  readonly turn: number;
  /** Settles when it is made or failed; undefined where it was made at once. */
  answer: Promise<void> | undefined;
  made: Made | undefined;
  failed: { readonly error: unknown } | undefined;
}

/**
 * What {@link createLoader} makes.
 *
 * ```
 * order of the epoch (rows by number), or the stream's own
 *   -> requests: the rows of batch 0, 1, 2, ...   a few ahead of what was taken, into the next epoch too
 *   -> BatchMaker: examples, put together         batches.ts; on worker b mod n for batch b: workers.ts
 *   -> queue: the batches, in the order of the requests
 *   -> peek(n): the next ones, once they are made; take(n) moves the position past them
 * ```
 *
 * The state is the key, the epoch and the position of what was taken, with the reader's bookmark for a stream: batches
 * that were made ahead are made again after a restore.
 */
export class DataLoader implements Stateful, AsyncIterable<LoadedBatch> {
  readonly data: Dataset<Example>;
  readonly config: DataLoaderConfig;
  /** The batches of an epoch: full ones, then the smaller one. None for a stream. */
  readonly groups: readonly BatchGroup[];
  readonly #settings: ReturnType<typeof settingsOf>;
  readonly #threads: number;
  readonly #rank: Rank;
  readonly #used: number;
  #key: Uint32Array;
  #epoch = 0;
  #position = 0;
  #bookmark: Bookmark | undefined;
  #skipped = 0;
  #queue: Slot[] = [];
  /** The first batch that was not asked for yet; undefined where the state says it. */
  #ahead: { readonly epoch: number; readonly position: number } | undefined;
  #turn = 0;
  #orders: readonly { readonly epoch: number; readonly rows: Int32Array }[] = [];
  #workers: LoaderWorkers | undefined;
  #maker: BatchMaker | undefined;
  /** The end of what the main thread reads of a stream. */
  #reading: Promise<unknown> = Promise.resolve();
  #warnedOfRest = false;
  #generation = 0;
  #lastPass: Pass | undefined;

  constructor(data: Dataset<Example>, config: DataLoaderConfig) {
    const settings = settingsOf(config);
    const { batchSize, key, seed, lastBatch, workers, rank = { index: 0, count: 1 } } = settings;
    if (rank.index >= rank.count)
      throw badOption("createLoader", `rank is ${shown(rank)}`, "give an index below the count");
    if (data.length === undefined && config.shuffle)
      throw badOption(
        "createLoader",
        `${data.name} is a stream, which has its own order`,
        "shuffle it in blocks of rows: data.shuffle({ buffer: 10_000 }), or read it: await data.inMemory()",
      );
    this.data = data;
    this.config = config;
    this.#rank = rank;
    this.#key = Uint32Array.from(key ?? hostKey(seed ?? 0));
    this.#settings = settings;
    this.#threads = data.length === undefined ? Math.min(workers, 1) : workers;
    const length = Math.floor((data.length ?? 0) / rank.count);
    const epoch = new Loader({ length, batchSize, key: this.#key, shuffle: false, lastBatch });
    this.groups = epoch.groups;
    this.#used = epoch.used;
  }

  /** Batches in an epoch; undefined for a stream. */
  get length(): number | undefined {
    if (this.data.length === undefined) return undefined;
    return this.groups.reduce((sum, { count }) => sum + count, 0);
  }
  /** The epoch it is in, by its own count from 0. */
  get epoch(): number {
    return this.#epoch;
  }
  /** The number of examples of this epoch that have been taken. */
  get position(): number {
    return this.#position;
  }
  /** Examples of this epoch that were left out: see `onBadExample`. */
  get skipped(): number {
    return this.#skipped;
  }

  /** Changes when what was asked for is dropped: batches that were peeked at before are not the next ones. */
  get generation(): number {
    return this.#generation;
  }

  /** The batches of this epoch that have not been taken. The next loop gets those of the next epoch. */
  [Symbol.asyncIterator](): AsyncIterator<LoadedBatch, undefined, undefined> {
    const epoch = this.#epoch;
    // No generator: with one, a batch in memory would take a tenth longer.
    return {
      next: async () => {
        if (this.#epoch !== epoch) return { done: true, value: undefined };
        this.request(1);
        const slot = this.#queue[0];
        const made = slot && (slot.made ?? (await this.#answer(slot)));
        if (made === undefined || isEnd(made)) {
          this.#endEpoch();
          return { done: true, value: undefined };
        }
        this.take(1);
        return { done: false, value: made.batch };
      },
    };
  }

  /** The next batches of this epoch, without taking them: fewer than `count` where it ends. */
  async peek(count: number): Promise<readonly LoadedBatch[]> {
    this.request(count);
    const batches: LoadedBatch[] = [];
    const { epoch } = this;
    for (const slot of this.#queue.slice(0, count)) {
      if (slot.epoch !== epoch) break;
      const made = slot.made ?? (await this.#answer(slot));
      if (isEnd(made)) break;
      batches.push(made.batch);
    }
    return batches;
  }

  /** Takes batches that `peek` gave. After the last of an epoch comes the first of the next. */
  take(count: number): void {
    for (let i = 0; i < count; i++) {
      const made = this.#queue.shift()?.made;
      if (made === undefined || isEnd(made))
        throw new EspalierError("DATA_POSITION", "batches were taken that are not there", {
          fix: "take as many as peek gave",
        });
      this.#position += made.batch.rows.length;
      this.#skipped += made.skipped;
      this.#bookmark = made.bookmark;
    }
    const next = this.#queue[0]?.made;
    if (this.data.length === undefined ? next && isEnd(next) : this.#position >= this.#used) this.#endEpoch();
  }

  /** Leaves what is left of this epoch. */
  startNext(): void {
    this.#forget();
    this.#endEpoch();
  }

  /** Ends its threads and its reader. It goes on where it was when it is used again. */
  async close(): Promise<void> {
    const [workers, maker, reading] = [this.#workers, this.#maker, this.#reading];
    this.#forget();
    this.#workers = undefined;
    this.#maker = undefined;
    await workers?.close();
    await reading;
    await maker?.close();
  }

  getState(): StateTree {
    return {
      key: this.#key.slice(),
      epoch: this.#epoch,
      position: this.#position,
      ...(this.#bookmark !== undefined && { bookmark: this.#bookmark }),
      ...(this.config.onBadExample === "skip" && { skipped: this.#skipped }),
    };
  }

  setState(state: StateTree): void {
    const saved = (state ?? {}) as Partial<SavedState>;
    const { key, epoch, position, bookmark, skipped = 0 } = saved;
    const whole = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
    if (!ArrayBuffer.isView(key) || key.length !== 2 || !whole(epoch) || !whole(position))
      throw new EspalierError("STATE_INVALID", "this is not a state of a data loader", {
        fix: "pass what getState() gave: { key, epoch, position }",
      });
    const stream = this.data.length === undefined;
    if (stream ? position > 0 && bookmark === undefined : position > 0 && position >= this.#used)
      throw new EspalierError(
        "STATE_MISMATCH",
        `the state is at example ${position} of an epoch${stream ? ", without a bookmark of the stream" : `, and there are ${this.#used}`}`,
        { fix: "resume with the data, batch size, lastBatch and ranks it was saved with" },
      );
    this.#forget();
    this.#orders = [];
    this.#lastPass = undefined;
    this.#key = Uint32Array.from(key);
    this.#epoch = epoch;
    this.#position = position;
    this.#bookmark = stream ? bookmark : undefined;
    this.#skipped = skipped;
  }

  /** Has `count` batches made ahead of what was taken, beside those that always are. Failures show in `peek`. */
  request(count: number): void {
    const wanted = count + this.#settings.prefetch * Math.max(this.#threads, 1);
    while (this.#queue.length < wanted) {
      const last = this.#queue.at(-1)?.made;
      if (last && isEnd(last)) return;
      const asked = this.#nextRequest();
      if (asked === undefined) return;
      const turn = this.#turn++;
      const making = this.#make(turn, asked.request);
      const slot: Slot = { epoch: asked.epoch, turn, made: undefined, failed: undefined, answer: undefined };
      if (!(making instanceof Promise)) slot.made = making;
      else
        slot.answer = making.then(
          (made) => {
            slot.made = made;
          },
          (error: unknown) => {
            slot.failed = { error };
          },
        );
      this.#queue.push(slot);
    }
  }

  /** The next batch to ask for. */
  #nextRequest(): { readonly epoch: number; readonly request: BatchRequest } | undefined {
    const { epoch, position } = this.#ahead ?? { epoch: this.#epoch, position: this.#position };
    const pass = this.#pass(epoch);
    if (this.data.length === undefined) {
      const open = this.#ahead ? undefined : { from: this.#bookmark };
      this.#ahead = { epoch, position };
      const keepRest = this.#settings.lastBatch === "keep";
      const { batchSize: size } = this.config;
      return { epoch, request: { pass, size, rank: this.#rank, keepRest, ...(open && { open }) } };
    }
    const group = this.groups.find(({ size, count, from }) => position < from + size * count);
    if (!group) return undefined;
    const end = position + group.size;
    this.#ahead = end >= this.#used ? { epoch: epoch + 1, position: 0 } : { epoch, position: end };
    return { epoch, request: { pass, rows: this.#rows(epoch, position, group.size) } };
  }

  #pass(epoch: number): Pass {
    if (this.#lastPass?.epoch !== epoch)
      this.#lastPass = { epoch, key: hostFoldIn(hostFoldIn(this.#key, epoch), ofExamples) };
    return this.#lastPass;
  }

  /** Entries of an epoch's order, those of this rank. */
  #rows(epoch: number, from: number, size: number): Int32Array {
    const { index, count } = this.#rank;
    const order = this.config.shuffle === false ? undefined : this.#order(epoch);
    // A message to a thread would take all of the order along.
    if (order && count === 1 && this.#threads === 0) return order.subarray(from, from + size);
    const rows = new Int32Array(size);
    for (let i = 0; i < size; i++) {
      const at = (from + i) * count + index;
      rows[i] = order ? (order[at] as number) : at;
    }
    return rows;
  }

  #order(epoch: number): Int32Array {
    const known = this.#orders.find((order) => order.epoch === epoch);
    if (known) return known.rows;
    const rows = shuffled(hostFoldIn(this.#key, epoch), this.data.length as number);
    // Of this epoch and of the next, into which batches are made ahead.
    this.#orders = [...this.#orders.filter((order) => order.epoch >= this.#epoch), { epoch, rows }].slice(-2);
    return rows;
  }

  #make(turn: number, request: BatchRequest): Made | Promise<Made> {
    const skip = this.config.onBadExample === "skip";
    if (this.#threads > 0) {
      this.#workers ??= new LoaderWorkers(this.data, this.#threads, skip);
      return this.#workers.make(turn, request);
    }
    this.#maker ??= new BatchMaker(this.data, skip);
    const maker = this.#maker;
    if ("rows" in request) return maker.make(request);
    const made = this.#reading.then(() => maker.make(request));
    this.#reading = made.catch(() => undefined);
    return made;
  }

  /** The batch of a slot, when it is made. */
  async #answer(slot: Slot): Promise<Made> {
    if (slot.made === undefined && slot.failed === undefined) {
      const { timeout } = this.#settings;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<"late">((resolve) => {
        timer = setTimeout(resolve, timeout, "late");
      });
      const first = await Promise.race([slot.answer, late]);
      clearTimeout(timer);
      if (first === "late") throw await this.#hangs(slot, timeout);
    }
    if (slot.failed) throw slot.failed.error;
    return slot.made as Made;
  }

  async #hangs({ turn, epoch }: Slot, timeout: number): Promise<EspalierError> {
    const who = this.#workers ? this.#workers.nameOf(turn) : this.data.name;
    const error = new EspalierError(
      "DATA_TIMEOUT",
      `${who}: a batch of epoch ${epoch} was not made within ${timeout / 1000} s`,
      {
        fix: "look for a source that waits or a loop that does not end; if it only takes long, give a larger timeout",
      },
    );
    const workers = this.#workers;
    this.#workers = undefined;
    this.#forget();
    await workers?.close();
    return error;
  }

  /** Drops what was asked for: the next request begins at the state. */
  #forget(): void {
    this.#generation++;
    this.#queue = [];
    this.#ahead = undefined;
  }

  #endEpoch(): void {
    const end = this.#queue[0]?.made;
    const skipped = this.#skipped + (end && isEnd(end) ? end.skipped : 0);
    if (skipped > 0)
      this.#warn(
        `${this.data.name}: ${skipped} examples of epoch ${this.#epoch} could not be used and were left out (onBadExample: "skip")`,
        "DATA_SKIPPED",
      );
    if (end && isEnd(end) && end.leftOver > 0 && !this.#warnedOfRest) {
      this.#warnedOfRest = true;
      this.#warn(
        `${this.data.name}: the last ${end.leftOver} examples of an epoch do not fill a batch of ${this.config.batchSize} and are left out`,
        "DATA_LEFT_OVER",
      );
    }
    if (this.data.length === undefined) this.#forget();
    this.#epoch++;
    this.#position = 0;
    this.#bookmark = undefined;
    this.#skipped = 0;
  }

  #warn(text: string, code: string): void {
    if (this.config.warn) this.config.warn(text);
    else emitWarning(text, code);
  }
}

/** Folded into an epoch's key for the random numbers of its examples; the key itself is that of its order. */
const ofExamples = 1;

interface SavedState {
  readonly key: Uint32Array;
  readonly epoch: number;
  readonly position: number;
  readonly bookmark: Bookmark;
  readonly skipped: number;
}
