import { badOption, checkNames, checkSize, EspalierError } from "../../core/index.ts";
import { type HostArray, hostRandom, type Tensor } from "../../engine/index.ts";
import type { Field } from "../../losses/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { ExperienceBuffer } from "./experience.ts";
import {
  gatherEntries,
  given,
  hostArray,
  hostFields,
  placed,
  restored,
  saved,
  type Where,
} from "./host-fields.ts";

/** Numbers by field: one row, or several one after the other. */
export type FieldNumbers = Readonly<Record<string, ArrayLike<number>>>;

/** What a {@link ReplayBuffer} is made with. */
export interface ReplayBufferOptions extends Where {
  /** How many rows are kept; the oldest make room. */
  readonly capacity: number;
  readonly fields: Readonly<Record<string, Field>>;
  /** From how many rows on it is ready. Default 1. */
  readonly minimum?: number | undefined;
}

/** What to draw. */
export interface ReplayChoice {
  /** How many rows. */
  readonly count: number;
  /** By which key. With a list of keys a batch is drawn by each, and they come stacked: [keys, count, ...]. */
  readonly key: Uint32Array | readonly Uint32Array[];
  /** With a list: how long the first axis is at least. What is beyond the keys is anything. */
  readonly room?: number | undefined;
}

/** Rows on the device by field: [count, ...], or [keys, count, ...]. */
export type ReplayBatch = Readonly<Record<string, Tensor>>;

/** Experience of the past, from which batches are drawn. */
export interface ReplayBuffer extends ExperienceBuffer<FieldNumbers, ReplayBatch, ReplayChoice> {
  readonly capacity: number;
  /** Rows there are. */
  readonly size: number;
  /** Keeps one row out of arrays that hold many, without making anything. */
  addFrom(rows: FieldNumbers, row: number): void;
}

const kind = "replayBuffer";

/**
 * Experience to draw from again and again: a ring of rows in JavaScript's memory. Rows that are drawn, with replacement
 * and each alike, are put on the device together. Writing a row costs nothing that way, however large the ring is; on
 * the device every write would copy all of it.
 *
 * @example
 * ```ts
 * const buffer = replayBuffer({
 *   capacity: 100_000,
 *   minimum: 1000,
 *   fields: { observation: { shape: [4], dtype: "f32" }, action: { shape: [1], dtype: "f32" } },
 * });
 * buffer.add({ observation: [0, 0.1, 0, 0], action: [1] });
 * if (buffer.ready) learn(buffer.sample({ count: 128, key: stream.key() }));
 * ```
 */
export function replayBuffer(options: ReplayBufferOptions): ReplayBuffer {
  checkNames(kind, options, ["capacity", "fields", "minimum", "engine", "device"]);
  const capacity = checkSize(kind, "capacity", options.capacity);
  const minimum = checkSize(kind, "minimum", options.minimum ?? 1);
  if (minimum > capacity)
    throw badOption(
      kind,
      `minimum is ${minimum}, and only ${capacity} are kept`,
      "keep more, or ask for fewer",
    );
  const fields = hostFields(kind, options.fields, capacity);
  const first = fields[0] as (typeof fields)[number];
  let [size, next] = [0, 0];

  const take = (rows: FieldNumbers, row: number): void => {
    for (const { name, size: numbers, data } of fields) {
      const from = rows[name] as ArrayLike<number>;
      const [target, source] = [next * numbers, row * numbers];
      for (let i = 0; i < numbers; i++) data[target + i] = from[source + i] as number;
    }
    next = (next + 1) % capacity;
    size = Math.min(size + 1, capacity);
  };

  // Where rows are gathered on their way to the device: kept as long as as many are drawn.
  let drawn = 0;
  let staged: readonly HostArray[] = [];
  const stage = (count: number): readonly HostArray[] => {
    if (count !== drawn) staged = fields.map(({ field, size }) => hostArray(field.dtype, count * size));
    drawn = count;
    return staged;
  };

  return {
    capacity,
    varies: true,
    get size() {
      return size;
    },
    get ready() {
      return size >= minimum;
    },
    add: (rows) => {
      const count = (rows[first.name]?.length ?? 0) / first.size;
      for (const field of fields) given(kind, rows, field, Math.max(Math.ceil(count), 1));
      for (let row = 0; row < count; row++) take(rows, row);
    },
    addFrom: take,
    sample: ({ count, key, room = 0 }) => {
      checkSize(kind, "count", count);
      if (size < minimum) throw notReady(size, minimum);
      const keys = ArrayBuffer.isView(key) ? [key as Uint32Array] : (key as readonly Uint32Array[]);
      const batches = Math.max(keys.length, room);
      const arrays = stage(batches * count);
      keys.forEach((one, batch) => {
        const rows = hostRandom.hostBits(one, count);
        for (let i = 0; i < count; i++) rows[i] = Math.floor(((rows[i] as number) * size) / 2 ** 32);
        fields.forEach((field, k) => {
          gatherEntries(field, rows, arrays[k] as HostArray, batch * count * field.size);
        });
      });
      const axes = ArrayBuffer.isView(key) ? [count] : [batches, count];
      return Object.fromEntries(
        fields.map((field, k) => [field.name, placed(field, arrays[k] as HostArray, axes, options)]),
      );
    },
    clear: () => {
      [size, next] = [0, 0];
    },
    getState: (): StateTree => ({ size, next, fields: saved(fields, size) }),
    setState: (state) => {
      const { size: rows, next: at, fields: arrays } = (state ?? {}) as Readonly<Record<string, unknown>>;
      if (!isPlace(rows, capacity + 1) || !isPlace(at, capacity) || (rows < capacity && at !== rows))
        throw new EspalierError("STATE_MISMATCH", `${kind}: this is no state of a ring of ${capacity} rows`, {
          fix: "restore what a buffer with the same capacity saved",
        });
      restored(kind, fields, arrays, rows);
      [size, next] = [rows, at];
    },
  };
}

const isPlace = (x: unknown, end: number): x is number =>
  typeof x === "number" && Number.isInteger(x) && x >= 0 && x < end;

const notReady = (size: number, minimum: number): EspalierError =>
  new EspalierError(
    "BUFFER_NOT_READY",
    `${kind}: there are ${size} rows, and ${minimum} are needed to draw`,
    {
      fix: "ask `ready` first",
    },
  );
