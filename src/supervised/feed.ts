import { EspalierError, treeLeaves } from "../core/index.ts";
import {
  type BatchGroup,
  DataLoader,
  type DataLoaderConfig,
  Dataset,
  type Example,
  type ExampleArrays,
  type LoadedBatch,
  Loader,
  placeArrays,
} from "../data/index.ts";
import { type HostArray, put, type Tensor } from "../engine/index.ts";
import { type Examples, joined, zipArrays } from "./examples.ts";
import type { AnyOptions, StreamedData } from "./options.ts";
import type { HeldOut } from "./validation.ts";

// Rows for the training program, which gathers each batch from `data` by `order`:
//
//   arrays   data = all examples, which stay on the device     order = the epoch's, from the loader
//   streams  data = a chunk of the next updates' batches       order = 0, 1, 2, ...
//            while the device works on it, the loader makes the batches of the next chunk
//
// A batch has the same rows in the same order either way, and the program is the same: so are the bits.

/** Goes on with a value: at once, or when it is there. */
export const after = <A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> =>
  value instanceof Promise ? value.then(next) : next(value);

/** Rows on the device for some updates. */
export interface UpdateRows {
  readonly data: Examples["data"];
  readonly order: Tensor;
  /** The first update's first entry of the order. */
  readonly from: number;
  /** Updates: fewer than were asked for where a stream has ended. */
  readonly count: number;
  /** A stream has ended behind them. */
  readonly ended: boolean;
}

/** Where the rows of updates come from. */
export interface Feed {
  /** The component `data`: how far it has got. */
  readonly loader: Loader | DataLoader;
  readonly shuffle: boolean;
  /** The number of examples; null for a stream. */
  readonly length: number | null;
  /** The updates of an epoch. */
  readonly groups: readonly BatchGroup[];
  /** The most updates of a group in one call, where a program may do `most`. */
  capacity(batches: BatchGroup, most: number): number;
  /** Rows of the next `count` updates. */
  rows(batches: BatchGroup, count: number): UpdateRows | Promise<UpdateRows>;
  /** Moves past updates that the device was given; `mark` is a tensor of their results. */
  advance(batches: BatchGroup, count: number, mark: Tensor | undefined): void;
  /** Begins anew with another key, which a streaming loader with a seed of its own ignores. */
  restart(key: Uint32Array): void;
  close(): Promise<void>;
}

export interface FeedOptions {
  /** Examples in an update. */
  readonly size: number;
  readonly key: Uint32Array;
  readonly where: NonNullable<Parameters<typeof put>[1]>;
}

/** Rows of arrays on the device. */
export function arrayFeed(
  { data, length }: Examples,
  { shuffle, lastBatch }: AnyOptions,
  { size, key, where }: FeedOptions,
): Feed {
  const loader = new Loader({ length, batchSize: size, key, shuffle, lastBatch });
  let order: { readonly rows: Int32Array; readonly tensor: Tensor } | undefined;
  const orderOnDevice = (): Tensor => {
    const rows = loader.order;
    if (order?.rows === rows) return order.tensor;
    order?.tensor.dispose();
    order = { rows, tensor: put(rows, where) };
    return order.tensor;
  };
  return {
    loader,
    shuffle: loader.shuffle,
    length,
    groups: loader.groups,
    capacity: ({ count }, most) => Math.min(most, count),
    rows: (_batches, count) => ({ data, order: orderOnDevice(), from: loader.position, count, ended: false }),
    advance: (batches, count) => {
      loader.advance(count * batches.size);
      // Now the device is busy.
      loader.prepareNext();
    },
    restart: (fresh) => loader.setState({ key: fresh, epoch: 0, position: 0 }),
    close: async () => {},
  };
}

/** True for data that is streamed, and not put on the device as a whole. */
export const isStreamed = (data: unknown): data is StreamedData =>
  data instanceof Dataset || data instanceof DataLoader;

/** The dataset behind streamed data, and how it is loaded. */
export function loading(
  what: string,
  data: StreamedData,
  options: Pick<AnyOptions, "batchSize" | "shuffle" | "lastBatch" | "workers">,
): { readonly data: Dataset<Example>; readonly config: DataLoaderConfig } {
  const { batchSize, shuffle, lastBatch, workers } = options;
  if (data instanceof DataLoader) {
    if (data.config.batchSize === batchSize) return { data: data.data, config: data.config };
    throw new EspalierError(
      "OPTION_INVALID",
      `${what}: the loader has batches of ${data.config.batchSize}, and batchSize is ${batchSize}`,
      { fix: "give both the same number" },
    );
  }
  // The order of a stream is its own.
  const order = data.length === undefined ? {} : { shuffle };
  return { data, config: { batchSize, lastBatch, workers, ...order } };
}

/** The first example of streamed data, by which the model is built and the program compiled. */
export async function sampleOf(
  what: string,
  { data, config }: ReturnType<typeof loading>,
): Promise<ExampleArrays> {
  // Where examples may be skipped, the first may be a bad one.
  const batchSize = config.onBadExample === "skip" ? 64 : 1;
  const { timeout, onBadExample, warn } = config;
  const how = { timeout, onBadExample, warn, prefetch: 0, shuffle: false };
  const loader = new DataLoader(data, { ...how, batchSize });
  try {
    const [first] = await loader.peek(1);
    if (!first)
      throw new EspalierError("DATA_EMPTY", `${what}: ${data.name} has no examples`, {
        fix: "give at least one example, from which the model's inputs are known",
      });
    const { rows: _, ...arrays } = first;
    return arrays;
  } finally {
    await loader.close();
  }
}

/** A held-out set that is loaded batch by batch, each time from its first example on. */
export function heldBatches(
  { data, config }: ReturnType<typeof loading>,
  { where, check, warn }: Pick<StreamParts, "where" | "check" | "warn">,
): HeldOut {
  const { rank: _, ...rest } = config;
  const how = { lastBatch: "keep", shuffle: false, warn: config.warn ?? warn } as const;
  const loader = new DataLoader(data, { ...rest, ...how });
  const start = loader.getState();
  return {
    length: data.length,
    close: () => loader.close(),
    async *calls() {
      loader.setState(start);
      let last: readonly Tensor[] = [];
      for await (const { rows, ...arrays } of loader) {
        check({ ...arrays, rows });
        const { tree } = placeArrays("validation", { ...arrays }, where);
        // A tree of arrays { x, y } becomes one of tensors with the same names.
        yield { data: tree as Examples["data"], from: 0, count: 1, size: rows.length, capacity: 1 };
        for (const tensor of last) tensor.dispose();
        last = treeLeaves<Tensor>(tree);
      }
    },
  };
}

/** More updates than an epoch can have. */
const endless = 2 ** 31 - 1;

/** Bytes of a chunk that has more than one update. */
const chunkBytes = 16 * 2 ** 20;

interface Chunk {
  readonly batches: BatchGroup;
  /** The loader's generation and epoch, and the position of the first row. */
  readonly generation: number;
  readonly epoch: number;
  readonly from: number;
  readonly count: number;
  readonly ended: boolean;
  readonly data: Examples["data"];
}

interface StreamParts extends FeedOptions {
  /** Examples like all others. */
  readonly sample: Examples;
  readonly load: ReturnType<typeof loading>;
  /** Refuses a batch. */
  readonly check: (batch: LoadedBatch) => void;
  readonly warn: (text: string) => void;
}

/** Rows of a dataset, chunk by chunk. */
export class StreamFeed implements Feed {
  readonly loader: DataLoader;
  readonly shuffle: boolean;
  readonly length: number | null;
  readonly groups: readonly BatchGroup[];
  readonly #parts: StreamParts;
  /** Updates in a chunk, by group. */
  readonly #updates = new Map<BatchGroup, number>();
  readonly #orders = new Map<BatchGroup, Tensor>();
  readonly #staging = new Map<string, HostArray>();
  readonly #ownKey: boolean;
  #chunk: Chunk | undefined;
  /** Results of the last call with this chunk, and with the one before. */
  #mark: Tensor | undefined;
  #markBefore: Tensor | undefined;

  constructor(parts: StreamParts) {
    const { data, config } = parts.load;
    const { size, key, warn } = parts;
    this.#parts = parts;
    this.#ownKey = config.key !== undefined || config.seed !== undefined;
    this.loader = new DataLoader(data, {
      ...config,
      batchSize: size,
      warn: config.warn ?? warn,
      ...(!this.#ownKey && { key }),
      // A task says beforehand what its updates add to the counters, and a stream's end is not known then.
      ...(data.length === undefined && { lastBatch: "drop" }),
    });
    this.shuffle = config.shuffle ?? data.length !== undefined;
    this.length = data.length ?? null;
    this.groups = data.length === undefined ? [{ size, count: endless, from: 0 }] : this.loader.groups;
  }

  capacity(batches: BatchGroup, most: number): number {
    const { data, length } = this.#parts.sample;
    const example = treeLeaves<Tensor>(data).reduce((sum, { type }) => sum + type.bytes, 0) / length;
    const fitting = Math.max(1, Math.floor(chunkBytes / (example * batches.size)));
    const updates = Math.min(most, batches.count, fitting);
    this.#updates.set(batches, updates);
    return updates;
  }

  async rows(batches: BatchGroup, count: number): Promise<UpdateRows> {
    const { data, ...chunk } = this.#current(batches, count) ?? (await this.#next(batches));
    const from = this.loader.position - chunk.from;
    const left = chunk.count - from / batches.size;
    const ended = chunk.ended && left <= count;
    return { data, order: this.#order(batches), from, count: Math.min(count, left), ended };
  }

  advance(batches: BatchGroup, count: number, mark: Tensor | undefined): void {
    this.#mark = mark;
    this.loader.take(count);
    // Now the device is busy.
    this.loader.request(this.#room(batches));
  }

  restart(key: Uint32Array): void {
    if (!this.#ownKey) this.loader.setState({ key, epoch: 0, position: 0 });
  }

  async close(): Promise<void> {
    this.#drop();
    await this.loader.close();
  }

  #room(batches: BatchGroup): number {
    return this.#updates.get(batches) ?? 1;
  }

  /** The chunk on the device, where it has these updates. */
  #current(batches: BatchGroup, count: number): Chunk | undefined {
    const { epoch, position, generation } = this.loader;
    const chunk = this.#chunk;
    if (chunk?.batches !== batches || chunk.epoch !== epoch || chunk.generation !== generation)
      return undefined;
    const end = chunk.from + chunk.count * batches.size;
    return chunk.ended || position + count * batches.size <= end ? chunk : undefined;
  }

  /** Puts the next updates' rows on the device. */
  async #next(batches: BatchGroup): Promise<Chunk> {
    this.#drop();
    const { epoch, position: from, generation } = this.loader;
    const room = this.#room(batches);
    const stream = this.length === null;
    const most = Math.min(room, batches.count - (from - batches.from) / batches.size);
    // One more of a stream tells whether it goes on.
    const loaded = await this.loader.peek(most + Number(stream));
    const taken = loaded.slice(0, most);
    taken.forEach(this.#parts.check);
    // Two chunks are on the device at most: the one it works on, and this one.
    if (this.#markBefore?.isDisposed === false) await this.#markBefore.ready();
    this.#markBefore = this.#mark;
    this.#chunk = {
      batches,
      generation,
      epoch,
      from,
      count: taken.length,
      ended: stream && loaded.length <= most,
      data: taken.length > 0 ? this.#place(batches, taken) : this.#parts.sample.data,
    };
    return this.#chunk;
  }

  /** Joins batches into arrays as long as a whole chunk, for the program takes arrays of one length. */
  #place(batches: BatchGroup, taken: readonly LoadedBatch[]): Examples["data"] {
    const rows = this.#room(batches) * batches.size;
    const trees = taken.map(({ rows: _, ...arrays }) => ({ ...arrays }));
    const placed: unknown = zipArrays(trees, (parts, path) => {
      const [{ data, shape }] = parts;
      const length = rows * (data.length / (shape[0] as number));
      let array = this.#staging.get(path);
      if (array?.length !== length) {
        array = new (data.constructor as new (length: number) => HostArray)(length);
        this.#staging.set(path, array);
      }
      return put(joined(parts, array), { ...this.#parts.where, shape: [rows, ...shape.slice(1)] });
    });
    return placed as Examples["data"];
  }

  #order(batches: BatchGroup): Tensor {
    let order = this.#orders.get(batches);
    if (!order) {
      const length = this.#room(batches) * batches.size;
      order = put(
        Int32Array.from({ length }, (_, i) => i),
        this.#parts.where,
      );
      this.#orders.set(batches, order);
    }
    return order;
  }

  #drop(): void {
    const chunk = this.#chunk;
    this.#chunk = undefined;
    if (chunk && chunk.count > 0) for (const tensor of treeLeaves<Tensor>(chunk.data)) tensor.dispose();
  }
}
