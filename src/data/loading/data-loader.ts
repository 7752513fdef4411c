import {
  badOption,
  EspalierError,
  emitWarning,
  inTime,
  Late,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { ArrayTree } from "../arrays.ts";
import { type Bookmark, Dataset, type Pass } from "../dataset.ts";
import type { Example } from "../example.ts";
import { aKey, type BatchGroup, Loader, loaderTable } from "../loader.ts";
import { fromArrays } from "../sources.ts";
import { BatchMaker, type BatchRequest, isEnd, type LoadedBatch, type Made } from "./batches.ts";
import { hangs, LoaderWorkers } from "./workers.ts";

const table = {
  ...loaderTable,
  /** The seed of orders and of the examples' random numbers. Default: 0. */
  seed: option.integer({ min: 0 }),
  /** Instead of a seed: a key from a random stream, `streams.get("data").key()`. */
  key: option.made<Uint32Array>(aKey, ArrayBuffer.isView, {}),
  /**
   * Worker threads that make batches. Default: 0, on the main thread. Of a stream each reads all, and makes examples of
   * its own batches alone.
   */
  workers: option.integer({ min: 0, max: 256, default: 0 }),
  /** Batches that are made ahead, by each worker. Default: 2. */
  prefetch: option.integer({ min: 0, default: 2 }),
  /** Milliseconds that a batch may take. Default: 300,000. */
  timeout: option.integer({ min: 1, max: 2 ** 31 - 1, default: 300_000 }),
  /**
   * An example that cannot be read or does not fit: an error, or left out. Then another one of the same batch is taken
   * twice (a stream goes on to its next row), and a warning says once an epoch how many there were. Default: "error".
   */
  onBadExample: option.oneOf(["error", "skip"], { default: "error" }),
  /**
   * Makes later batches in the memory of those that were taken, from when the next one is asked for: for loops that keep
   * no batch, or copies of what they keep. Training always does. Default: false.
   */
  reuse: option.flag({ default: false }),
  /** Takes warnings. Default: those of the process. */
  warn: option.made<(text: string, code: string) => void>(
    "a function",
    (value) => typeof value === "function",
    {},
  ),
};

/** Options of {@link createLoader}. A stream has its own order, `data.shuffle({ buffer })`, and is not shuffled. */
export interface DataLoaderConfig extends Options<typeof table> {}

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
  readonly making: Made | Promise<Made>;
  /** The batch, once it is there. */
  made: Made | undefined;
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
  /** The key, the orders, the epoch and the position. */
  readonly #loader: Loader;
  #bookmark: Bookmark | undefined;
  #skipped = 0;
  #queue: Slot[] = [];
  /**
   * The first batch that was not asked for yet; undefined where the state says it. Of a stream its number since all
   * threads have opened it, and from where they have.
   */
  #ahead:
    | { readonly epoch: number; readonly position: number; readonly from?: Bookmark | undefined }
    | undefined;
  #turn = 0;
  /** The memory of batches that were taken, for later ones. */
  #used: (readonly ArrayBuffer[])[] = [];
  #workers: LoaderWorkers | undefined;
  #maker: BatchMaker | undefined;
  /** The end of what the main thread reads of a stream. */
  #reading: Promise<unknown> = Promise.resolve();
  #warnedOfRest = false;
  #generation = 0;
  #lastPass: Pass | undefined;

  constructor(data: Dataset<Example>, config: DataLoaderConfig) {
    const settings = settingsOf(config);
    const { batchSize, shuffle, key, seed, lastBatch, rank } = settings;
    const stream = data.length === undefined;
    if (stream && shuffle)
      throw badOption(
        "createLoader",
        `${data.name} is a stream, which has its own order`,
        "shuffle it in blocks of rows: data.shuffle({ buffer: 10_000 }), or read it: await data.inMemory()",
      );
    this.data = data;
    this.config = config;
    this.#settings = settings;
    this.#loader = new Loader({
      length: data.length ?? endless,
      batchSize,
      key: key ?? hostKey(seed ?? 0),
      shuffle,
      lastBatch,
      rank,
    });
    this.groups = stream ? [] : this.#loader.groups;
  }

  /** Batches in an epoch; undefined for a stream. */
  get length(): number | undefined {
    if (this.data.length === undefined) return undefined;
    return this.groups.reduce((sum, { count }) => sum + count, 0);
  }
  /** The epoch it is in, by its own count from 0. */
  get epoch(): number {
    return this.#loader.epoch;
  }
  /** The number of examples of this epoch that have been taken. */
  get position(): number {
    return this.#loader.position;
  }

  /** Examples at this epoch's end that fill no batch, where `peek` has come to it. */
  get leftOver(): number {
    const end = this.#queue[0]?.made;
    return end && isEnd(end) ? end.leftOver : 0;
  }

  /** Changes when what was asked for is dropped: batches that were peeked at before are not the next ones. */
  get generation(): number {
    return this.#generation;
  }

  /** The batches of this epoch that have not been taken. The next loop gets those of the next epoch. */
  [Symbol.asyncIterator](): AsyncIterator<LoadedBatch, undefined, undefined> {
    const { epoch } = this;
    // No generator: with one, a batch in memory would take a tenth longer.
    return {
      next: async () => {
        if (this.epoch !== epoch) return { done: true, value: undefined };
        this.request(1);
        const slot = this.#queue[0];
        const made = slot && (slot.made ?? (await this.#answer(slot)));
        if (made === undefined || isEnd(made)) {
          this.#loader.startNext();
          this.#endEpoch(epoch);
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
    const { epoch } = this;
    for (let i = 0; i < count; i++) {
      const made = this.#queue.shift()?.made;
      if (made === undefined || isEnd(made))
        throw new EspalierError("DATA_POSITION", "batches were taken that are not there", {
          fix: "take as many as peek gave",
        });
      this.#loader.advance(made.batch.rows.length);
      this.#skipped += made.skipped;
      this.#bookmark = made.bookmark;
      if (this.#settings.reuse) this.#used.push(made.memory ?? []);
    }
    const next = this.#queue[0]?.made;
    if (next && isEnd(next)) this.#loader.startNext();
    if (this.epoch !== epoch) this.#endEpoch(epoch);
  }

  /** Leaves what is left of this epoch. */
  startNext(): void {
    const { epoch } = this;
    this.#forget();
    this.#loader.startNext();
    this.#endEpoch(epoch);
  }

  /** Ends its threads and its reader. It goes on where it was when it is used again. */
  async close(): Promise<void> {
    const { workers, maker, reading } = this.#leave();
    await workers?.close();
    // A source that waits is left to itself.
    await inTime(
      reading.then(() => maker?.close()),
      hangs,
    ).catch(unlessLate);
  }

  getState(): StateTree {
    return {
      ...(this.#loader.getState() as object),
      ...(this.#bookmark !== undefined && { bookmark: this.#bookmark }),
      ...(this.config.onBadExample === "skip" && { skipped: this.#skipped }),
    };
  }

  setState(state: StateTree): void {
    const { position, bookmark, skipped = 0 } = (state ?? {}) as Readonly<Record<string, StateTree>>;
    const stream = this.data.length === undefined;
    if (stream && bookmark === undefined && Number(position) > 0)
      throw new EspalierError(
        "STATE_MISMATCH",
        `the state is at example ${shown(position)} of an epoch, without a bookmark of the stream`,
        { fix: "resume with the data that it was saved with" },
      );
    this.#loader.setState(state);
    this.#forget();
    this.#lastPass = undefined;
    this.#bookmark = stream ? bookmark : undefined;
    this.#skipped = Number(skipped);
  }

  /** Has `count` batches made ahead of what was taken, beside those that always are. Failures show in `peek`. */
  request(count: number): void {
    const wanted = count + this.#settings.prefetch * Math.max(this.#settings.workers, 1);
    while (this.#queue.length < wanted) {
      const last = this.#queue.at(-1)?.made;
      if (last && isEnd(last)) return;
      const asked = this.#nextRequest();
      if (asked === undefined) return;
      const turn = this.#turn++;
      const making = this.#make(turn, asked.request);
      const made = making instanceof Promise ? undefined : making;
      const slot: Slot = { epoch: asked.epoch, turn, making, made };
      this.#queue.push(slot);
      if (making instanceof Promise)
        making.then(
          (batch) => {
            slot.made = batch;
          },
          () => undefined,
        );
    }
  }

  /** The next batch to ask for. */
  #nextRequest(): { readonly epoch: number; readonly request: BatchRequest } | undefined {
    const { epoch, position } = this.#ahead ?? this;
    const pass = this.#pass(epoch);
    if (this.data.length === undefined) {
      const { position: number, from } = this.#ahead ?? { position: 0, from: this.#bookmark };
      this.#ahead = { epoch, position: number + 1, from };
      const { batchSize: size, lastBatch, rank = { index: 0, count: 1 } } = this.#settings;
      const others = Math.max(0, this.#settings.workers - 1);
      const begins = number <= others;
      const place = begins ? { open: { from }, before: number } : { before: others };
      return { epoch, request: { pass, size, rank, keepRest: lastBatch === "keep", ...place } };
    }
    const rows = this.#loader.rowsAt(epoch, position);
    if (!rows) return undefined;
    const end = position + rows.length;
    this.#ahead = end >= this.#loader.used ? { epoch: epoch + 1, position: 0 } : { epoch, position: end };
    // A message to a thread would take all of the order along.
    return { epoch, request: { pass, rows: this.#settings.workers === 0 ? rows : rows.slice() } };
  }

  #pass(epoch: number): Pass {
    if (this.#lastPass?.epoch !== epoch)
      this.#lastPass = { epoch, key: hostFoldIn(hostFoldIn(this.#loader.key, epoch), ofExamples) };
    return this.#lastPass;
  }

  #make(turn: number, request: BatchRequest): Made | Promise<Made> {
    const skip = this.config.onBadExample === "skip";
    // What a loop has moved away itself is gone.
    const used = this.#settings.reuse
      ? (this.#used.shift() ?? []).filter(({ byteLength }) => byteLength > 0)
      : undefined;
    if (this.#settings.workers > 0) {
      this.#workers ??= new LoaderWorkers(this.data, this.#settings.workers, skip);
      return this.#workers.at(turn).make(request, used ?? []);
    }
    this.#maker ??= new BatchMaker(this.data, skip);
    const maker = this.#maker;
    if ("rows" in request) return maker.make(request, used);
    const made = this.#reading.then(() => maker.make(request, used));
    this.#reading = made.catch(() => undefined);
    return made;
  }

  /** The batch of a slot, when it is made. */
  async #answer({ making, turn, epoch }: Slot): Promise<Made> {
    const { timeout } = this.#settings;
    const made = await inTime(making, timeout).catch(unlessLate);
    if (made) return made;
    const { workers } = this.#leave();
    await workers?.close();
    const who = (workers?.at(turn) ?? this.data).name;
    throw new EspalierError(
      "DATA_TIMEOUT",
      `${who}: a batch of epoch ${epoch} was not made within ${timeout / 1000} s`,
      {
        fix: "look for a source that waits or a loop that does not end; if it only takes long, give a larger timeout",
      },
    );
  }

  /** Has the next request begin anew, with other threads or another reader than those that it gives. */
  #leave() {
    const left = { workers: this.#workers, maker: this.#maker, reading: this.#reading };
    this.#forget();
    this.#workers = undefined;
    this.#maker = undefined;
    this.#reading = Promise.resolve();
    return left;
  }

  /** Drops what was asked for: the next request begins at the state. */
  #forget(): void {
    this.#generation++;
    this.#queue = [];
    this.#used = [];
    this.#ahead = undefined;
  }

  /** Warns of what an epoch has left out. */
  #endEpoch(epoch: number): void {
    const end = this.#queue[0]?.made;
    const skipped = this.#skipped + (end && isEnd(end) ? end.skipped : 0);
    const { name } = this.data;
    const { batchSize, warn = emitWarning } = this.#settings;
    if (skipped > 0)
      warn(
        `${name}: ${skipped} examples of epoch ${epoch} could not be used and were left out (onBadExample: "skip")`,
        "DATA_SKIPPED",
      );
    if (this.leftOver > 0 && !this.#warnedOfRest) {
      this.#warnedOfRest = true;
      warn(
        `${name}: the last ${this.leftOver} examples of an epoch do not fill a batch of ${batchSize} and are left out; ` +
          "give a smaller batchSize, or read the data first: await data.inMemory()",
        "DATA_LEFT_OVER",
      );
    }
    if (this.data.length === undefined) this.#forget();
    this.#bookmark = undefined;
    this.#skipped = 0;
  }
}

function unlessLate(error: unknown): undefined {
  if (!(error instanceof Late)) throw error;
}

/** Folded into an epoch's key for the random numbers of its examples; the key itself is that of its order. */
const ofExamples = 1;

/** More examples than a stream can have. */
const endless = 2 ** 52;
