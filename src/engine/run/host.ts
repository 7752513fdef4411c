import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";

/** Numbers in JavaScript's memory. 16-bit floats are held as Float32Array, booleans as Uint8Array of 0 and 1. */
export type HostArray = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

/** Numbers in lists of lists. */
export type Nested = number | boolean | readonly Nested[];

/**
 * The numbers of nested arrays in order, the shape that they fill, and their element type: bool where all are
 * booleans. `refuse` is given what is neither a number nor a list.
 */
export function flattenNested(
  op: string,
  data: unknown,
  refuse: (part: unknown) => void,
): { readonly flat: number[]; readonly shape: number[]; readonly dtype: DType } {
  const shape: number[] = [];
  for (let at = data; Array.isArray(at); at = at[0] as unknown) shape.push(at.length);
  const ragged = () =>
    userError(
      "SHAPE_MISMATCH",
      `${op}: the nested arrays are not all of shape ${shapeText(shape)}`,
      "make every row equally long",
    );
  const flat: number[] = [];
  let booleans = 0;
  const walk = (part: unknown, depth: number): void => {
    if (typeof part === "number" || typeof part === "boolean") {
      if (depth !== shape.length) throw ragged();
      if (typeof part === "boolean") booleans++;
      flat.push(Number(part));
    } else if (!Array.isArray(part)) refuse(part);
    else if (part.length !== shape[depth]) throw ragged();
    else for (const inner of part) walk(inner, depth + 1);
  };
  walk(data, 0);
  return { flat, shape, dtype: booleans > 0 && booleans === flat.length ? "bool" : "f32" };
}

/** An element type that an engine lacks, and why: see `Backend.lacks`. */
type Lacks = (dtype: DType) => string | undefined;

/** The element type a JavaScript array has by itself. Doubles become f32 on an engine that lacks f64. */
export function dtypeOf(array: HostArray, lacks: Lacks): DType {
  if (array instanceof Float32Array) return "f32";
  if (array instanceof Float64Array) return lacks("f64") === undefined ? "f64" : "f32";
  if (array instanceof Int32Array) return "i32";
  if (array instanceof Uint32Array) return "u32";
  return "u8";
}

export const isHostArray = (value: unknown): value is HostArray =>
  value instanceof Float32Array ||
  value instanceof Float64Array ||
  value instanceof Int32Array ||
  value instanceof Uint32Array ||
  value instanceof Uint8Array ||
  value instanceof Uint8ClampedArray;

/** The arrays that hold elements of each type. */
const arrays = {
  f32: Float32Array,
  f64: Float64Array,
  f16: Float32Array,
  bf16: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  u8: Uint8Array,
  bool: Uint8Array,
} as const;

/** An empty array that can hold elements of this type. */
export const hostArray = (dtype: DType, size: number): HostArray => new arrays[dtype](size);

/** The numbers as an array of another element type: floats cut towards zero for integers, bits kept for 32-bit ones. */
export function castHost(array: HostArray | readonly number[] | readonly boolean[], dtype: DType): HostArray {
  if (isHostArray(array) && arrays[dtype] === array.constructor && dtype !== "bool") return array;
  const result = hostArray(dtype, array.length);
  for (let i = 0; i < array.length; i++) {
    const value = Number(array[i]);
    result[i] = dtype === "bool" ? (value === 0 ? 0 : 1) : value;
  }
  return result;
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** The elements as the bytes an engine with native 16-bit floats stores. No copy for the other types. */
export function toBytes(array: HostArray, dtype: DType): Uint8Array {
  if (dtype !== "f16" && dtype !== "bf16")
    return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  const halves = new Uint16Array(array.length);
  const encode = dtype === "bf16" ? bf16Bits : f16Bits;
  for (let i = 0; i < array.length; i++) halves[i] = encode(array[i] as number);
  return new Uint8Array(halves.buffer);
}

/** The reverse of {@link toBytes}; `bytes` is not kept unless it can be used as it is. */
export function fromBytes(bytes: Uint8Array<ArrayBuffer>, dtype: DType): HostArray {
  if (dtype === "f16" || dtype === "bf16") {
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
    const decode = dtype === "bf16" ? bf16Number : f16Number;
    return Float32Array.from(halves, decode);
  }
  const make = arrays[dtype];
  return new make(bytes.buffer, bytes.byteOffset, bytes.byteLength / make.BYTES_PER_ELEMENT);
}

/** Rounds to the nearest, halves to even; NaN stays NaN. */
function bf16Bits(value: number): number {
  scratch[0] = value;
  const bits = scratchBits[0] as number;
  if (Number.isNaN(value)) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function bf16Number(bits: number): number {
  scratchBits[0] = bits << 16;
  return scratch[0] as number;
}

function f16Bits(value: number): number {
  scratch[0] = value;
  const bits = scratchBits[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: count in units of 2^-24, halves to even.
    const units = Math.abs(value) * 2 ** 24;
    const low = Math.floor(units);
    const rest = units - low;
    return sign | (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low);
  }
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function f16Number(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
