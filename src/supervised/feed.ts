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
  const how = { lastBatch: "keep", shuffle: false, reuse: true, warn: config.warn ?? warn } as const;
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

/** Updates on the device, and where they are in the loader: its generation and epoch, and the first row's position. */
interface Chunk extends UpdateRows {
  readonly batches: BatchGroup;
  readonly generation: number;
  readonly epoch: number;
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
export function streamFeed({ sample, load, check, warn, size, key, where }: StreamParts): Feed {
  const { data, config } = load;
  const stream = data.length === undefined;
  const ownKey = config.key !== undefined || config.seed !== undefined;
  const loader = new DataLoader(data, {
    ...config,
    batchSize: size,
    // Batches are copied, side by side, before they are taken.
    reuse: true,
    warn: config.warn ?? warn,
    ...(!ownKey && { key }),
    // A task says beforehand what its updates add to the counters, and a stream's end is not known then.
    ...(stream && { lastBatch: "drop" }),
  });
  /** Updates in a chunk, by group. */
  const updates = new Map<BatchGroup, number>();
  const roomOf = (batches: BatchGroup): number => updates.get(batches) ?? 1;
  const staging = new Map<string, HostArray>();
  let chunk: Chunk | undefined;
  /** Results of the last call with this chunk, and with the one before. */
  let mark: Tensor | undefined;
  let markBefore: Tensor | undefined;

  const drop = (): void => {
    chunk?.order.dispose();
    if (chunk && chunk.count > 0) for (const tensor of treeLeaves<Tensor>(chunk.data)) tensor.dispose();
    chunk = undefined;
  };

  /** The chunk on the device has these updates, or is the stream's last. */
  const has = ({ batches, epoch, generation, from, count, ended }: Chunk, wanted: number): boolean =>
    epoch === loader.epoch &&
    generation === loader.generation &&
    (ended || loader.position + wanted * batches.size <= from + count * batches.size);

  /** Joins batches into arrays as long as a whole chunk, for the program takes arrays of one length. */
  const place = (rows: number, taken: readonly LoadedBatch[]): Examples["data"] => {
    const trees = taken.map(({ rows: _, ...arrays }) => ({ ...arrays }));
    const placed: unknown = zipArrays(trees, (parts, path) => {
      const [{ data, shape }] = parts;
      const length = rows * (data.length / (shape[0] as number));
      let array = staging.get(path);
      if (array?.length !== length) {
        array = new (data.constructor as new (length: number) => HostArray)(length);
        staging.set(path, array);
      }
      return put(joined(parts, array), { ...where, shape: [rows, ...shape.slice(1)] });
    });
    return placed as Examples["data"];
  };

  /** Puts the next updates' rows on the device. */
  const next = async (batches: BatchGroup): Promise<Chunk> => {
    drop();
    const { epoch, position: from, generation } = loader;
    const most = Math.min(roomOf(batches), batches.count - (from - batches.from) / batches.size);
    // One more of a stream tells whether it goes on.
    const loaded = await loader.peek(most + Number(stream));
    const taken = loaded.slice(0, most);
    taken.forEach(check);
    // Two chunks are on the device at most: the one it works on, and this one.
    if (markBefore?.isDisposed === false) await markBefore.ready();
    markBefore = mark;
    const rows = roomOf(batches) * batches.size;
    const data = taken.length > 0 ? place(rows, taken) : sample.data;
    const order = put(
      Int32Array.from({ length: rows }, (_, i) => i),
      where,
    );
    const ended = stream && loaded.length <= most;
    return { batches, generation, epoch, from, count: taken.length, ended, data, order };
  };

  return {
    loader,
    shuffle: config.shuffle ?? !stream,
    length: data.length ?? null,
    groups: stream ? [{ size, count: endless, from: 0 }] : loader.groups,
    capacity: (batches, most) => {
      const { data, length } = sample;
      const example = treeLeaves<Tensor>(data).reduce((sum, { type }) => sum + type.bytes, 0) / length;
      const fitting = Math.max(1, Math.floor(chunkBytes / (example * batches.size)));
      const room = Math.min(most, batches.count, fitting);
      updates.set(batches, room);
      return room;
    },
    rows: async (batches, count) => {
      if (chunk?.batches !== batches || !has(chunk, count)) chunk = await next(batches);
      const from = loader.position - chunk.from;
      const left = chunk.count - from / batches.size;
      return { ...chunk, from, count: Math.min(count, left), ended: chunk.ended && left <= count };
    },
    advance: (batches, count, result) => {
      mark = result;
      loader.take(count);
      // Now the device is busy.
      loader.request(roomOf(batches));
    },
    restart: (fresh) => {
      if (!ownKey) loader.setState({ key: fresh, epoch: 0, position: 0 });
    },
    close: async () => {
      drop();
      await loader.close();
    },
  };
}
