import { EspalierError, isPlainObject, messageOf } from "../../core/index.ts";
import type { DType, Shape } from "../../engine/index.ts";

// A safetensors file is 8 bytes with the length of its header, the header as JSON, and the tensors' bytes without gaps:
//
//   {"__metadata__": {text: text}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}

/** A tensor as a safetensors file lists it. `start` and `end` count from the beginning of the data. */
export interface TensorEntry {
  readonly name: string;
  /** As the format calls it: `F32`, `BF16`, ... */
  readonly dtype: string;
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
}

/** The part of a safetensors file before its data. */
export interface Header {
  /** In the order of their data. */
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Position of the data in the file. */
  readonly dataStart: number;
  /** Bytes of the whole file. */
  readonly fileBytes: number;
}

/** The longest header that the reference implementation reads. */
export const longestHeader = 100_000_000;
/** Bytes in front of the header that hold its length. */
export const lengthBytes = 8;

/** A tensor to be written. */
interface NewTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: Shape;
}

/**
 * Lays tensors out one after another in the order given and writes the bytes that stand before their data: the
 * header's length, and the header, filled up with spaces to a multiple of 8 so that the data is aligned.
 */
export function encodeHeader(
  tensors: readonly NewTensor[],
  metadata: Readonly<Record<string, string>> = {},
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly header: Header } {
  const parts: string[] = [];
  const entries = new Map<string, TensorEntry>();
  if (Object.keys(metadata).length > 0) parts.push(`"__metadata__":${JSON.stringify(metadata)}`);
  let start = 0;
  for (const { name, dtype, shape } of tensors) {
    if (name === "__metadata__" || entries.has(name))
      throw new EspalierError(
        "SAFETENSORS_INVALID",
        `a tensor cannot be called "${name}": the name is taken`,
      );
    const end = start + bytesOf(dtype, shape);
    entries.set(name, { name, dtype, shape, start, end });
    parts.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [start, end] })}`);
    start = end;
  }
  const text = Buffer.from(`{${parts.join(",")}}`, "utf8");
  const length = Math.ceil(text.length / 8) * 8;
  if (length > longestHeader)
    throw new EspalierError(
      "SAFETENSORS_INVALID",
      `the header would have ${length} bytes; the format allows ${longestHeader}`,
      { fix: "keep lists of plain numbers in typed arrays, which go into the data" },
    );
  const bytes = new Uint8Array(lengthBytes + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, lengthBytes);
  const dataStart = bytes.length;
  return { bytes, header: { tensors: entries, metadata, dataStart, fileBytes: dataStart + start } };
}

function bytesOf(dtype: string, shape: Shape): number {
  const width = widthOf(dtype);
  if (width === undefined)
    throw new EspalierError("SAFETENSORS_INVALID", `there is no element type ${dtype}`);
  return shape.reduce((product, n) => product * n, width);
}

/** The length of the header, from the first 8 bytes of a file of `fileBytes`. */
export function headerLength(first: Uint8Array, fileBytes: number): number {
  if (first.length < lengthBytes)
    throw truncated(`${fileBytes} bytes, not even the ${lengthBytes} of a header's length`);
  const length = new DataView(first.buffer, first.byteOffset, lengthBytes).getBigUint64(0, true);
  if (length > BigInt(longestHeader))
    throw broken(`its header claims ${length} bytes; the format allows ${longestHeader}`);
  if (lengthBytes + Number(length) > fileBytes)
    throw truncated(`${fileBytes} bytes, and the header alone takes ${lengthBytes + Number(length)}`);
  return Number(length);
}

/** Reads a header and checks its tensors: no overlap, no holes, nothing beyond the end of the file. */
export function decodeHeader(text: Uint8Array, fileBytes: number): Header {
  const { metadata, entries } = parseEntries(text);
  const dataStart = lengthBytes + text.length;
  const ordered = entries.sort((a, b) => a.start - b.start || a.end - b.end);
  let reached = 0;
  let previous = "the header";
  for (const { name, dtype, shape, start, end } of ordered) {
    const width = widthOf(dtype);
    if (width === undefined)
      throw broken(`tensor "${name}" has the element type ${JSON.stringify(dtype)}, which is unknown`);
    if (start < reached)
      throw broken(`tensor "${name}" begins at ${start}, inside ${previous}, which ends at ${reached}`);
    if (start > reached)
      throw broken(`nothing fills the bytes from ${reached} to ${start}, before tensor "${name}"`);
    const expected = shape.reduce((product, n) => product * n, width);
    if (end - start !== expected)
      throw broken(
        `tensor "${name}" of shape [${shape}] and type ${dtype} takes ${expected} bytes, not ${end - start}`,
      );
    reached = end;
    previous = `tensor "${name}"`;
  }
  const whole = dataStart + reached;
  if (whole > fileBytes) throw truncated(`${fileBytes} bytes of ${whole}: ${previous} lies beyond its end`);
  if (whole < fileBytes) throw broken(`${fileBytes - whole} bytes follow the last tensor`);
  return { tensors: new Map(ordered.map((entry) => [entry.name, entry])), metadata, dataStart, fileBytes };
}

/** Parses a header and checks each entry by itself. */
function parseEntries(bytes: Uint8Array): {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: TensorEntry[];
} {
  const text = reading("UTF-8", () =>
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
  );
  const parsed: unknown = reading("JSON", () => JSON.parse(text));
  if (!text.startsWith("{") || !isPlainObject(parsed)) throw broken("its header is not a JSON object");
  const names = topLevelKeys(text);
  if (names.length !== new Set(names).size) {
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    throw broken(`the name "${twice}" stands twice in its header`);
  }
  const { __metadata__: metadata = {}, ...rest } = parsed;
  if (!isPlainObject(metadata) || Object.values(metadata).some((value) => typeof value !== "string"))
    throw broken("its __metadata__ is not a map from text to text");
  return {
    metadata: metadata as Readonly<Record<string, string>>,
    entries: Object.entries(rest).map(([name, value]) => entry(name, value)),
  };
}

/** The result of reading a part of the header; `what` is said where it fails. */
function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw broken(`its header is not ${what} (${messageOf(cause)})`, cause);
  }
}

const count = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function entry(name: string, value: unknown): TensorEntry {
  const {
    dtype,
    shape,
    data_offsets: offsets,
  } = (isPlainObject(value) ? value : {}) as Record<string, unknown>;
  if (typeof dtype !== "string") throw broken(`tensor "${name}" has no dtype`);
  if (!Array.isArray(shape) || !shape.every(count))
    throw broken(`tensor "${name}" has no shape of whole numbers`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(count))
    throw broken(`tensor "${name}" has no data_offsets of two whole numbers`);
  const [start, end] = offsets as [number, number];
  if (end < start) throw broken(`tensor "${name}" ends at ${end}, before its start at ${start}`);
  return { name, dtype, shape: shape as number[], start, end };
}

/** The keys of the outermost object of valid JSON, repeated ones included, which JSON.parse would hide. */
export function topLevelKeys(text: string): string[] {
  const keys: string[] = [];
  let depth = 0;
  let last = "";
  for (let at = 0; at < text.length; at++) {
    const found = text[at];
    if (found === '"') {
      const start = at;
      for (at++; text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (depth === 1) last = text.slice(start, at + 1);
    } else if (found === "{" || found === "[") depth++;
    else if (found === "}" || found === "]") depth--;
    else if (found === ":" && depth === 1) keys.push(JSON.parse(last) as string);
  }
  return keys;
}

const dtypes: readonly DType[] = ["f64", "f32", "i32", "u32", "f16", "bf16", "u8", "bool"];

/** The name that safetensors gives to an element type of ours. */
export const nameOf = (dtype: DType): string => dtype.toUpperCase();

/** Our element type of that name, or undefined where there is none. */
export const dtypeNamed = (name: string): DType | undefined => dtypes.find((dtype) => nameOf(dtype) === name);

/** Every type of the format whose elements fill whole bytes, by their width: files with other types list too. */
const widths: Readonly<Record<number, readonly string[]>> = {
  1: ["BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"],
  2: ["I16", "U16", "F16", "BF16"],
  4: ["I32", "U32", "F32"],
  8: ["I64", "U64", "F64", "C64"],
};

/** Bytes of an element; undefined of a type that is unknown. */
export const widthOf = (name: string): number | undefined =>
  [1, 2, 4, 8].find((width) => widths[width]?.includes(name));

/** The error of a file that does not follow the format. */
const broken = (what: string, cause?: unknown): EspalierError =>
  new EspalierError("SAFETENSORS_INVALID", `this is not a whole safetensors file: ${what}`, { cause });

/** The error of a file whose end is missing. */
const truncated = (what: string): EspalierError =>
  new EspalierError("SAFETENSORS_TRUNCATED", `the safetensors file is cut off: it has ${what}`, {
    fix: "take another copy of the file",
  });
