import { didYouMean, EspalierError } from "../../core/index.ts";
import type { DType, HostArray, Shape } from "../../engine/index.ts";
import {
  decodeHeader,
  dtypeNamed,
  encodeHeader,
  type Header,
  headerLength,
  lengthBytes,
  nameOf,
  type TensorEntry,
} from "./header.ts";

/** A file as it is read here: `length` bytes from a position. */
export interface ReadableBytes {
  readonly size: number;
  read(from: number, length: number): Promise<Uint8Array>;
}

/** A tensor in JavaScript's memory. 16-bit floats are held as Float32Array, booleans as Uint8Array. */
export interface HostTensor {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: HostArray;
}

/** Reads the header of a safetensors file, and none of its data. */
export async function readHeader(file: ReadableBytes): Promise<Header> {
  const first = await file.read(0, Math.min(lengthBytes, file.size));
  return decodeHeader(await file.read(lengthBytes, headerLength(first, file.size)), file.size);
}

/**
 * Reads one tensor by name, and no other.
 *
 * @example
 * ```ts
 * const header = await readHeader(file);
 * const { data, shape } = await readTensor(file, header, "hidden0.w");
 * ```
 */
export async function readTensor(file: ReadableBytes, header: Header, name: string): Promise<HostTensor> {
  const entry = header.tensors.get(name);
  if (!entry)
    throw new EspalierError(
      "TENSOR_UNKNOWN",
      `the file has no tensor "${name}"${didYouMean(name, header.tensors.keys())}`,
    );
  const { start, end } = entry;
  return { ...typeOf(entry), data: toHost(entry, await file.read(header.dataStart + start, end - start)) };
}

/** The numbers of a tensor from its bytes, without a copy where their type allows. */
export function toHost(entry: TensorEntry, bytes: Uint8Array): HostArray {
  const { dtype } = typeOf(entry);
  // Typed arrays of wider elements cannot begin just anywhere.
  const own = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  if (dtype === "f16" || dtype === "bf16") return widen(own, dtype);
  if (dtype === "u8" || dtype === "bool") return own;
  const make = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u32: Uint32Array }[dtype];
  // The compiler knows these constructors for unshared memory; they take both.
  return new make(own.buffer as ArrayBuffer, own.byteOffset, own.byteLength / make.BYTES_PER_ELEMENT);
}

/** The element type and shape of a listed tensor. */
export function typeOf(entry: TensorEntry): { readonly dtype: DType; readonly shape: Shape } {
  const dtype = dtypeNamed(entry.dtype);
  if (dtype) return { dtype, shape: entry.shape };
  throw new EspalierError(
    "DTYPE_UNSUPPORTED",
    `tensor "${entry.name}" is of type ${entry.dtype}, which is not supported`,
    { fix: "convert it where the file was made" },
  );
}

/** The bytes of numbers in memory as files hold them, without a copy except for 16-bit floats. */
export function toFileBytes(data: HostArray, dtype: DType): Uint8Array {
  if (process.getBuiltinModule("node:os").endianness() !== "LE")
    throw new EspalierError(
      "SAFETENSORS_BYTE_ORDER",
      "safetensors files are written on little-endian machines only",
    );
  if (dtype === "f16" || dtype === "bf16") return narrow(data as Float32Array, dtype);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * A whole safetensors file in memory: for small ones, such as exported weights.
 *
 * @example
 * ```ts
 * await writeFile("model.safetensors", encodeSafetensors({ w: { dtype: "f32", shape: [2], data } }));
 * ```
 */
export function encodeSafetensors(
  tensors: Readonly<Record<string, HostTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const plans = Object.entries(tensors).map(([name, { dtype, shape }]) => ({
    name,
    dtype: nameOf(dtype),
    shape,
  }));
  const { bytes, header } = encodeHeader(plans, metadata);
  const file = new Uint8Array(header.fileBytes);
  file.set(bytes);
  for (const [name, { start, end }] of header.tensors) {
    const { data, dtype } = tensors[name] as HostTensor;
    const raw = toFileBytes(data, dtype);
    if (raw.byteLength !== end - start)
      throw new EspalierError(
        "SAFETENSORS_INVALID",
        `tensor "${name}" has ${raw.byteLength} bytes, and its shape takes ${end - start}`,
      );
    file.set(raw, header.dataStart + start);
  }
  return file;
}

/** Converts the 16-bit floats of a file to 32-bit ones, which hold them exactly. */
export function widen(bytes: Uint8Array, dtype: "f16" | "bf16"): Float32Array<ArrayBuffer> {
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const wide = new Float32Array(halves.length);
  // Written as bits, so that not even a NaN's bits are touched.
  const bits = new Uint32Array(wide.buffer);
  const convert = dtype === "bf16" ? (half: number) => half << 16 : f16Bits;
  for (let i = 0; i < halves.length; i++) bits[i] = convert(halves[i] as number);
  return wide;
}

/** The reverse of {@link widen}: exact for numbers that came from 16 bits. */
export function narrow(wide: Float32Array, dtype: "f16" | "bf16"): Uint8Array<ArrayBuffer> {
  const bits = new Uint32Array(wide.buffer, wide.byteOffset, wide.length);
  const halves = new Uint16Array(wide.length);
  const convert = dtype === "bf16" ? (word: number) => word >>> 16 : halfBits;
  for (let i = 0; i < bits.length; i++) halves[i] = convert(bits[i] as number);
  return new Uint8Array(halves.buffer);
}

function f16Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return sign | 0x7f800000 | (fraction << 13);
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // A subnormal half is a normal float: its first bit becomes the one that is not written.
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 1023) << 13);
}

function halfBits(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const exponent = (word >>> 23) & 255;
  const fraction = (word >>> 13) & 1023;
  if (exponent === 255) return sign | 0x7c00 | fraction;
  if (exponent > 112) return sign | ((exponent - 112) << 10) | fraction;
  if (exponent === 0) return sign;
  return sign | ((fraction | 1024) >>> (113 - exponent));
}
