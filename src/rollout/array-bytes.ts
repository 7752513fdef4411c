/**
 * Arrays with a header of plain values as bytes, for messages and shared memory:
 *
 *     [ length of the text | where arrays begin | text: { header, layout } | array | array | ... ]
 *
 * The text and every array are filled up to a multiple of 8 bytes, so that arrays can be used where they lie.
 */
import { EspalierError } from "../core/index.ts";
import type { HostArray } from "../engine/index.ts";
import type { NamedArrays, ShapedArray } from "./rollout.ts";

const arrayTypes = {
  Float32Array,
  Float64Array,
  Int32Array,
  Uint32Array,
  Uint8Array,
} as const;
type ArrayType = keyof typeof arrayTypes;

/** An array in a message, in whose order they stand there. */
interface LaidArray extends Pick<ShapedArray, "shape"> {
  readonly name: string;
  readonly type: ArrayType;
  readonly length: number;
}

/** Bytes before the text. */
const lengths = 8;
const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** The pieces that make up the bytes of a header and arrays; the arrays' own are not copied. */
export function piecesOf(header: object, arrays: NamedArrays): readonly Uint8Array[] {
  const layout = Object.entries(arrays).map(
    ([name, { data, shape }]): LaidArray => ({
      name,
      type: typeName(name, data),
      shape,
      length: data.length,
    }),
  );
  const text = new TextEncoder().encode(JSON.stringify({ header, layout }, withoutNaN));
  const head = new Uint8Array(padded(lengths + text.length));
  new DataView(head.buffer).setUint32(0, text.length, true);
  new DataView(head.buffer).setUint32(4, head.length, true);
  head.set(text, lengths);
  const own = Object.values(arrays).flatMap(({ data: { buffer, byteOffset, byteLength } }) => [
    new Uint8Array(buffer, byteOffset, byteLength),
    new Uint8Array(padded(byteLength) - byteLength),
  ]);
  return [head, ...own];
}

function typeName(name: string, data: HostArray): ArrayType {
  const type = data.constructor.name;
  if (type in arrayTypes) return type as ArrayType;
  throw new EspalierError("WEIGHTS_INVALID", `arrays cannot be sent: "${name}" is a ${type}`, {
    fix: `give one of ${Object.keys(arrayTypes).join(", ")}`,
  });
}

/** JSON has no NaN and no infinity: they travel as objects. */
const withoutNaN = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? { $number: String(value) } : value;
const withNaN = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "$number" in value ? Number(value.$number) : value;

/** A header and arrays as one message. */
export function packArrays(header: object, arrays: NamedArrays): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.concat(piecesOf(header, arrays));
  return new Uint8Array(buffer, byteOffset, length);
}

const decoder = new TextDecoder();

/** The header and the arrays of a message of {@link packArrays}, which share its memory where it is aligned. */
export function unpackArrays(given: Uint8Array): { readonly header: unknown; readonly arrays: NamedArrays } {
  // A Buffer's slice would not copy.
  const message = given.byteOffset % 8 === 0 ? given : new Uint8Array(given);
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const text = decoder.decode(message.subarray(lengths, lengths + view.getUint32(0, true)));
  let at = message.byteOffset + view.getUint32(4, true);
  const revive = text.includes('"$number"') ? withNaN : undefined;
  const { header, layout } = JSON.parse(text, revive) as { header: unknown; layout: readonly LaidArray[] };
  const arrays = layout.map(({ name, type, shape, length }) => {
    const data = new arrayTypes[type](message.buffer as ArrayBuffer, at, length);
    at += padded(data.byteLength);
    return [name, { data, shape }] as const;
  });
  return { header, arrays: Object.fromEntries(arrays) };
}
