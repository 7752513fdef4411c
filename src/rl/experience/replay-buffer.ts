import {
  badOption,
  checkSize,
  didYouMean,
  EspalierError,
  type Options,
  option,
  required,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import { type DType, type HostArray, hostRandom, put, type Tensor } from "../../engine/index.ts";
import type { Field } from "../../losses/index.ts";
import type { StateTree } from "../../state/index.ts";
import { checkedElsewhere } from "../option-rows.ts";
import type { ExperienceBuffer } from "./experience.ts";

/** Numbers by field: one row, or several one after the other. */
type FieldNumbers = Readonly<Record<string, ArrayLike<number>>>;

const kind = "replayBuffer";
const table = {
  /** The number of rows kept; new rows replace the oldest. */
  capacity: option.integer({ min: 1, required: true }),
  fields: required(option.object<Readonly<Record<string, Field>>>("fields by name", [], {})),
  /** Rows needed before it is ready. Default: 1. */
  minimum: option.integer({ min: 1, default: 1 }),
  engine: checkedElsewhere.engine,
  device: checkedElsewhere.device,
};

/** Options of {@link replayBuffer}. */
export interface ReplayBufferOptions extends Options<typeof table> {}

/** Options of {@link ReplayBuffer.sample}. */
export interface ReplaySampleOptions {
  /** Rows of a batch. */
  readonly count: number;
  /** The random key. With a list of keys a batch is drawn by each, and they come stacked: [keys, count, ...]. */
  readonly key: Uint32Array | readonly Uint32Array[];
  /** With a list: the least length of the first axis. Entries beyond the keys are undefined. */
  readonly room?: number | undefined;
}

/** Rows on the device by field: [count, ...], or [keys, count, ...]. */
export type ReplayBatch = Readonly<Record<string, Tensor>>;

/** A ring of past experience, from which batches are drawn. */
export interface ReplayBuffer extends ExperienceBuffer<FieldNumbers, ReplayBatch, ReplaySampleOptions> {
  readonly capacity: number;
  /** Rows in it now. */
  readonly size: number;
  /** Adds one row of arrays that hold many, without allocating. */
  addFrom(rows: FieldNumbers, row: number): void;
}

/**
 * A replay buffer: a ring of rows in JavaScript's memory. Rows are drawn uniformly with replacement and put on the
 * device together. Writing a row is cheap, however large the ring is; on the device every write would copy all of it.
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
  const { capacity, minimum } = resolveOptions(kind, options, table);
  if (minimum > capacity)
    throw badOption(
      kind,
      `minimum is ${minimum}, and only ${capacity} are kept`,
      "keep more, or ask for fewer",
    );
  const fields = hostFields(options.fields, capacity);
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

  // Drawn rows on their way to the device: reused while the same number is drawn.
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
      for (const field of fields) checkEntries(rows, field, Math.max(Math.ceil(count), 1));
      for (let row = 0; row < count; row++) take(rows, row);
    },
    addFrom: take,
    sample: ({ count, key, room = 0 }) => {
      checkSize(kind, "count", count);
      if (size < minimum)
        throw new EspalierError(
          "BUFFER_NOT_READY",
          `${kind}: there are ${size} rows, and ${minimum} are needed to draw`,
          { fix: "ask `ready` first" },
        );
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
      if (!isIndex(rows, capacity + 1) || !isIndex(at, capacity) || (rows < capacity && at !== rows))
        throw new EspalierError("STATE_MISMATCH", `${kind}: this is no state of a ring of ${capacity} rows`, {
          fix: "restore what a buffer with the same capacity saved",
        });
      restore(fields, arrays, rows);
      [size, next] = [rows, at];
    },
  };
}

const isIndex = (x: unknown, end: number): x is number =>
  typeof x === "number" && Number.isInteger(x) && x >= 0 && x < end;

type HostField = ReturnType<typeof hostFields>[number];

/** Fields of experience in JavaScript's memory: entries of one size, one after the other. */
function hostFields(fields: Readonly<Record<string, Field>>, entries: number) {
  const all = Object.entries(fields);
  if (all.length === 0) throw badOption(kind, "there are no fields", "name the fields to keep");
  return all.map(([name, field]) => {
    /** Numbers in an entry. */
    const size = field.shape.reduce((a, b) => a * b, 1);
    if (!(Number.isInteger(size) && size > 0))
      throw badOption(
        kind,
        `the field "${name}" has the shape ${shown(field.shape)}`,
        "use whole numbers from 1 on",
      );
    return { name, field, size, data: hostArray(field.dtype, entries * size) };
  });
}

/** An array of an element type as `put` takes it. */
function hostArray(dtype: DType, length: number): HostArray {
  if (dtype === "i32") return new Int32Array(length);
  if (dtype === "u32") return new Uint32Array(length);
  if (dtype === "u8" || dtype === "bool") return new Uint8Array(length);
  return dtype === "f64" ? new Float64Array(length) : new Float32Array(length);
}

/** Entries on the device, along the leading axes. */
const placed = (
  { field }: HostField,
  data: HostArray,
  axes: readonly number[],
  { engine, device }: ReplayBufferOptions,
): Tensor =>
  put(data, {
    shape: [...axes, ...field.shape],
    dtype: field.dtype,
    ...(engine !== undefined && { engine }),
    ...(device !== undefined && { device }),
  });

/** Refuses a field that is missing, or has another number of entries. */
function checkEntries(numbers: FieldNumbers, { name, size }: HostField, entries: number): void {
  const found = numbers[name];
  if (found?.length === entries * size) return;
  throw new EspalierError(
    "SHAPE_MISMATCH",
    found === undefined
      ? `${kind}: the field "${name}" is missing${didYouMean(name, Object.keys(numbers))}`
      : `${kind}: the field "${name}" has ${found.length} numbers, and ${entries * size} are wanted`,
    { fix: `give ${entries} times ${size} numbers for "${name}"` },
  );
}

/** Copies of the first entries of every field. */
const saved = (fields: readonly HostField[], entries: number): Readonly<Record<string, HostArray>> =>
  Object.fromEntries(fields.map(({ name, size, data }) => [name, data.slice(0, entries * size)]));

/** Restores saved entries; nothing changes where they do not fit. */
function restore(fields: readonly HostField[], state: unknown, entries: number): void {
  const arrays = (state ?? {}) as Readonly<Record<string, unknown>>;
  for (const { name, size, data } of fields) {
    const array = arrays[name];
    const fits = ArrayBuffer.isView(array) && array.constructor === data.constructor;
    if (!fits || (array as HostArray).length !== entries * size)
      throw new EspalierError("STATE_MISMATCH", `${kind}: the state's field "${name}" does not fit`, {
        fix: "restore what a buffer with the same fields saved",
      });
  }
  for (const { name, data } of fields) data.set(arrays[name] as HostArray);
}

/** Copies some entries of a field to `out`, from a position on. */
function gatherEntries({ size, data }: HostField, rows: Uint32Array, out: HostArray, position: number): void {
  let target = position;
  for (let i = 0; i < rows.length; i++) {
    const source = (rows[i] as number) * size;
    for (let j = 0; j < size; j++) out[target++] = data[source + j] as number;
  }
}
