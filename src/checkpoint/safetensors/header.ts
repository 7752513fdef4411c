import { EspalierError } from "../../core/index.ts";
import type { Shape } from "../../engine/index.ts";
import { broken, truncated } from "./broken.ts";
import { widthOf } from "./dtypes.ts";
import { parseEntries } from "./parse.ts";

/** A tensor as a safetensors file lists it. `start` and `end` count from the beginning of the data. */
export interface TensorEntry {
  readonly name: string;
  /** As the format calls it: `F32`, `BF16`, ... */
  readonly dtype: string;
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
}

/** What stands before the data of a safetensors file. */
export interface Header {
  /** In the order of their data. */
  readonly tensors: ReadonlyMap<string, TensorEntry>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Where in the file the data begins. */
  readonly dataStart: number;
  /** Bytes of the whole file. */
  readonly fileBytes: number;
}

/** The original refuses longer headers, and so do we. */
export const longestHeader = 100_000_000;
/** Bytes of the header's own length, in front of it. */
export const lengthBytes = 8;

/** A tensor to be written. */
export interface TensorPlan {
  readonly name: string;
  readonly dtype: string;
  readonly shape: Shape;
}

/**
 * Lays tensors out one after another in the order given and writes the bytes that stand before their data: the
 * header's length, and the header, filled up with spaces to a multiple of 8 so that the data is aligned.
 */
export function encodeHeader(
  tensors: readonly TensorPlan[],
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

/** Reads a header and checks every promise it makes: no overlap, no holes, nothing beyond the end of the file. */
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
