import { EspalierError } from "../core/index.ts";
import type { HostArray } from "../engine/index.ts";
import type { NamedArrays } from "./rollout.ts";

const arrayTypes = {
  Float32Array,
  Float64Array,
  Int32Array,
  Uint32Array,
  Uint8Array,
} as const;
type ArrayType = keyof typeof arrayTypes;

/** Where arrays lie in a block of bytes. Plain data. */
export interface ArrayLayout {
  /** Bytes of all of them. */
  readonly bytes: number;
  readonly arrays: readonly {
    readonly name: string;
    readonly type: ArrayType;
    readonly shape: readonly number[];
    /** Position in the block, a multiple of 8. */
    readonly start: number;
    readonly length: number;
  }[];
}

/** Lays arrays out one after the other. */
export function layoutOf(arrays: NamedArrays): ArrayLayout {
  let bytes = 0;
  const laid = Object.entries(arrays).map(([name, { data, shape }]) => {
    const start = bytes;
    bytes += paddedLength(data);
    return { name, type: typeName(name, data), shape, start, length: data.length };
  });
  return { bytes, arrays: laid };
}

/** Bytes that an array takes in a block. */
export const paddedLength = ({ byteLength }: HostArray): number => Math.ceil(byteLength / 8) * 8;

function typeName(name: string, data: HostArray): ArrayType {
  const type = data.constructor.name;
  if (type in arrayTypes) return type as ArrayType;
  throw new EspalierError("WEIGHTS_INVALID", `arrays cannot be sent: "${name}" is a ${type}`, {
    fix: `give one of ${Object.keys(arrayTypes).join(", ")}`,
  });
}

/** The bytes of an array. */
export const bytesOf = ({ buffer, byteOffset, byteLength }: HostArray): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** The arrays of a block. They share its memory, which begins at a multiple of 8. */
export function arraysIn({ arrays }: ArrayLayout, block: Uint8Array): NamedArrays {
  const named = arrays.map(({ name, type, shape, start, length }) => {
    const data = new arrayTypes[type](block.buffer as ArrayBuffer, block.byteOffset + start, length);
    return [name, { data, shape }] as const;
  });
  return Object.fromEntries(named);
}

/** Bytes before the header: its length, and the length of what follows it. */
const lengths = 8;

/** Arrays with a header of plain values as one message. */
export function packArrays(header: object, arrays: NamedArrays): Uint8Array {
  const layout = layoutOf(arrays);
  const text = new TextEncoder().encode(JSON.stringify({ header, layout }, withoutNaN));
  const start = Math.ceil((lengths + text.length) / 8) * 8;
  const message = new Uint8Array(start + layout.bytes);
  new DataView(message.buffer).setUint32(0, text.length, true);
  new DataView(message.buffer).setUint32(4, start, true);
  message.set(text, lengths);
  Object.values(arrays).forEach(({ data }, i) => {
    message.set(bytesOf(data), start + (layout.arrays[i]?.start ?? 0));
  });
  return message;
}

/** JSON has no NaN and no infinity: they travel as objects. */
const withoutNaN = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? { $number: String(value) } : value;
const withNaN = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "$number" in value ? Number(value.$number) : value;

const decoder = new TextDecoder();

/** The header and the arrays of a message of {@link packArrays}, which share its memory where it is aligned. */
export function unpackArrays(given: Uint8Array): { readonly header: unknown; readonly arrays: NamedArrays } {
  // A Buffer's slice would not copy.
  const message = given.byteOffset % 8 === 0 ? given : new Uint8Array(given);
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const length = view.getUint32(0, true);
  const start = view.getUint32(4, true);
  const text = decoder.decode(message.subarray(lengths, lengths + length));
  const revive = text.includes('"$number"') ? withNaN : undefined;
  const { header, layout } = JSON.parse(text, revive) as { header: unknown; layout: ArrayLayout };
  return { header, arrays: arraysIn(layout, message.subarray(start)) };
}
