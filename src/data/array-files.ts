import {
  EspalierError,
  node,
  type Options,
  option,
  resolveOptions,
  type Settings,
  shown,
} from "../core/index.ts";
import { type HostArray, hostRandom } from "../engine/index.ts";
import { checkArgument, Dataset, emptyError, type Pass, type Recipe, rowKey } from "./dataset.ts";
import { DataFile } from "./text-files.ts";

// Files of numbers that are read by position: a row is one read of the file, wherever it is.

/** A row of an array: its numbers and its shape, [] for one number. */
export interface ArrayRow {
  readonly data: HostArray;
  readonly shape: readonly number[];
}

/** How numbers lie in a file: their bytes, how one is read, and the type they have in memory. */
interface Numbers {
  readonly bytes: number;
  readonly read: (view: DataView, at: number, little: boolean) => number;
  readonly array: new (size: number) => HostArray;
  /** The number that IDX files have for it. */
  readonly idx?: number;
}

/** The kinds of numbers, by NumPy's names without the byte order. */
const kinds: Readonly<Record<string, Numbers>> = {
  b1: { bytes: 1, read: (view, at) => view.getUint8(at), array: Uint8Array },
  u1: { bytes: 1, read: (view, at) => view.getUint8(at), array: Uint8Array, idx: 8 },
  i1: { bytes: 1, read: (view, at) => view.getInt8(at), array: Int32Array, idx: 9 },
  u2: { bytes: 2, read: (view, at, little) => view.getUint16(at, little), array: Int32Array },
  i2: { bytes: 2, read: (view, at, little) => view.getInt16(at, little), array: Int32Array, idx: 11 },
  u4: { bytes: 4, read: (view, at, little) => view.getUint32(at, little), array: Uint32Array },
  i4: { bytes: 4, read: (view, at, little) => view.getInt32(at, little), array: Int32Array, idx: 12 },
  i8: { bytes: 8, read: (view, at, little) => whole(view.getBigInt64(at, little)), array: Int32Array },
  f4: { bytes: 4, read: (view, at, little) => view.getFloat32(at, little), array: Float32Array, idx: 13 },
  f8: { bytes: 8, read: (view, at, little) => view.getFloat64(at, little), array: Float32Array, idx: 14 },
};

function whole(value: bigint): number {
  if (BigInt.asIntN(32, value) === value) return Number(value);
  throw new EspalierError("DATA_INVALID", `${value} does not fit 32 bits`, {
    fix: "save the array as float64",
  });
}

/** Where an array lies in a file, or in memory, and how. */
interface ArrayLayout {
  readonly shape: readonly number[];
  readonly numbers: Numbers;
  readonly littleEndian: boolean;
  readonly offset: number;
  readonly memory?: Uint8Array | undefined;
}

function arrayRows(file: DataFile, kind: string, layout: ArrayLayout): Dataset<ArrayRow> {
  const { shape, numbers, littleEndian, offset, memory } = layout;
  const [length = 0, ...rest] = shape;
  const size = rest.reduce((a, b) => a * b, 1);
  const bytes = size * numbers.bytes;
  const held = memory?.length ?? file.size;
  if (length === 0) throw emptyError(file.name);
  if (offset + length * bytes > held) {
    const what = `its header says [${shape}], ${length * bytes} bytes, and there are ${held - offset}`;
    throw corrupt(file, kind, what);
  }
  return new Dataset({
    name: file.name,
    length,
    recipe: { kind, args: [file.path] },
    get: (index) => {
      const at = offset + index * bytes;
      const row = memory ? memory.subarray(at, at + bytes) : file.read(at, bytes);
      if (numbers.array === Uint8Array) return { data: row, shape: rest };
      const view = new DataView(row.buffer, row.byteOffset, bytes);
      const data = new numbers.array(size);
      for (let i = 0; i < size; i++) data[i] = numbers.read(view, i * numbers.bytes, littleEndian);
      return { data, shape: rest };
    },
  });
}

const corrupt = (file: DataFile, kind: string, what: string): EspalierError =>
  new EspalierError("DATA_CORRUPT", `${file.name} is no ${kind} file that can be read: ${what}`, {
    fix: "write the file again",
  });

/**
 * The rows of an array that NumPy saved (`numpy.save`), by number, along its first axis. f64 and i64 become f32 and
 * i32.
 *
 * @example
 * ```ts
 * const data = zip({ x: npy("images.npy"), y: npy("labels.npy") });
 * ```
 */
export function npy(path: string | URL): Dataset<ArrayRow> {
  const file = new DataFile(path);
  const start = file.read(0, 12);
  const view = new DataView(start.buffer);
  if (start.length < 12 || String.fromCharCode(...start.subarray(1, 6)) !== "NUMPY")
    throw corrupt(file, "npy", "it does not begin as one");
  const wide = (start[6] as number) > 1;
  const begin = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder().decode(file.read(begin, length));
  const [, order, type] = /'descr': '([<>|=])(\w+)'/.exec(header) ?? [];
  const [, axes] = /'shape': \(([\d, ]*)\)/.exec(header) ?? [];
  const numbers = kinds[type ?? ""];
  if (!numbers || axes === undefined) {
    const known = Object.keys(kinds).join(", ");
    throw corrupt(file, "npy", `its header is ${shown(header.trim())}; known types are ${known}`);
  }
  if (/'fortran_order': True/.test(header))
    throw corrupt(file, "npy", "it is in Fortran order; save numpy.ascontiguousarray(array)");
  const shape = axes.split(",").flatMap((axis) => (axis.trim() === "" ? [] : [Number(axis)]));
  return arrayRows(file, "npy", { shape, numbers, littleEndian: order !== ">", offset: begin + length });
}

/**
 * The rows of an IDX file, as MNIST's are, by number. A file that ends in .gz is unpacked into memory.
 *
 * @example
 * ```ts
 * const digits = zip({ x: idx("train-images-idx3-ubyte.gz"), y: idx("train-labels-idx1-ubyte.gz") });
 * ```
 */
export function idx(path: string | URL): Dataset<ArrayRow> {
  const file = new DataFile(path);
  const memory = file.path.endsWith(".gz") ? unpacked(file) : undefined;
  const start = memory ?? file.read(0, 4 + 4 * 8);
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const numbers = Object.values(kinds).find((kind) => kind.idx !== undefined && kind.idx === start[2]);
  const axes = start[3] ?? 0;
  if (start[0] !== 0 || start[1] !== 0 || !numbers || axes === 0 || start.length < 4 + 4 * axes)
    throw corrupt(file, "idx", "it does not begin as one");
  const shape = Array.from({ length: axes }, (_, i) => view.getUint32(4 + 4 * i));
  return arrayRows(file, "idx", { shape, numbers, littleEndian: false, offset: 4 + 4 * axes, memory });
}

function unpacked(file: DataFile): Uint8Array {
  try {
    return node.zlib.gunzipSync(file.read(0, file.size));
  } catch (cause) {
    throw corrupt(file, "gzip", (cause as Error).message);
  }
}

const windowTable = {
  /** Tokens in an example. */
  window: option.integer({ min: 1, required: true }),
  /** Windows that begin anywhere, others in each pass, or one after the other. Default: "random". */
  order: option.oneOf(["random", "sequential"], { default: "random" }),
};

const tokenTable = {
  ...windowTable,
  /** The type of the tokens in the file. Default: "u16". */
  dtype: option.oneOf(["u16", "u32"], { default: "u16" }),
};

/** Examples of consecutive tokens: `x`, and as `y` for each of them the token after it. */
export interface TokenExample {
  readonly x: Int32Array;
  readonly y: Int32Array;
}

/**
 * Windows of a file of tokens (raw little-endian numbers, as `writeTokens` makes it), each one read of the file: it is
 * never in memory as a whole. A pass has as many windows as the file would be cut into.
 *
 * @example
 * ```ts
 * const train = tokenFile("stories.u16", { window: 128 });
 * ```
 */
export function tokenFile(path: string | URL, options: Options<typeof tokenTable>): Dataset<TokenExample> {
  const { dtype, ...how } = resolveOptions("tokenFile", options, tokenTable);
  const file = new DataFile(path);
  const bytes = dtype === "u16" ? 2 : 4;
  const tokens = Math.floor(file.size / bytes);
  if (file.size % bytes !== 0)
    throw corrupt(file, "token", `${file.size} bytes are no whole number of ${dtype}`);
  const read = (at: number, length: number): Int32Array => {
    const { buffer } = file.read(at * bytes, length * bytes);
    return Int32Array.from(bytes === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer));
  };
  const recipe = { kind: "tokenFile", args: [file.path, { dtype, ...how }] };
  return windows(file.name, tokens, how, read, recipe);
}

/** As {@link tokenFile}, of tokens in memory. */
export function tokenWindows(
  tokens: Int32Array | Uint32Array,
  options: Options<typeof windowTable>,
): Dataset<TokenExample> {
  const how = resolveOptions("tokenWindows", options, windowTable);
  checkArgument(ArrayBuffer.isView(tokens), "tokenWindows", tokens, "the tokens as an Int32Array");
  const read = (at: number, length: number): Int32Array => Int32Array.from(tokens.subarray(at, at + length));
  return windows("tokens", tokens.length, how, read, { kind: "tokenWindows", args: [tokens, how] });
}

function windows(
  name: string,
  tokens: number,
  { window, order }: Settings<typeof windowTable>,
  read: (at: number, length: number) => Int32Array,
  recipe: Recipe,
): Dataset<TokenExample> {
  const length = Math.floor((tokens - 1) / window);
  if (length < 1)
    throw new EspalierError(
      "DATA_TOO_SMALL",
      `${name}: ${tokens} tokens are no window of ${window} and the next`,
      { fix: "give more text, or a smaller window" },
    );
  return new Dataset({
    name,
    length,
    recipe,
    get: (index, pass) => {
      const start = order === "random" ? randomBelow(tokens - window, pass, index) : index * window;
      const all = read(start, window + 1);
      return { x: all.slice(0, window), y: all.slice(1) };
    },
  });
}

/** A whole number from 0 up to n that follows from the pass and a number. */
function randomBelow(n: number, pass: Pass, index: number): number {
  const [high, low] = hostRandom.hostBits(rowKey(pass, index), 2) as Uint32Array & [number, number];
  return Math.floor(((high * 2 ** 21 + (low >>> 11)) / 2 ** 53) * n);
}
