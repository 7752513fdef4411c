import { didYouMean, EspalierError } from "../../core/index.ts";
import type { DType, HostArray, Shape } from "../../engine/index.ts";
import { dtypeNamed } from "./dtypes.ts";
import { widen } from "./halves.ts";
import { decodeHeader, type Header, headerLength, lengthBytes, type TensorEntry } from "./header.ts";

/** What a file must be able to do to be read here: `length` bytes from a position. */
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

/** Reads what a safetensors file holds, and none of its data. */
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

/** The numbers of a tensor from its bytes, which are used as they are where their type allows. */
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

/** A listed tensor's element type and shape as ours. */
export function typeOf(entry: TensorEntry): { readonly dtype: DType; readonly shape: Shape } {
  const dtype = dtypeNamed(entry.dtype);
  if (dtype) return { dtype, shape: entry.shape };
  throw new EspalierError(
    "DTYPE_UNSUPPORTED",
    `tensor "${entry.name}" is of type ${entry.dtype}, which we have not`,
    {
      fix: "convert it where the file was made",
    },
  );
}
