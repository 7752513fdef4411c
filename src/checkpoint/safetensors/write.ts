import { endianness } from "node:os";
import { EspalierError } from "../../core/index.ts";
import type { DType, HostArray } from "../../engine/index.ts";
import { nameOf } from "./dtypes.ts";
import { narrow } from "./halves.ts";
import { encodeHeader } from "./header.ts";
import type { HostTensor } from "./read.ts";

/** The bytes of numbers in memory as the format has them; not copied, but for 16-bit floats. */
export function toFileBytes(data: HostArray, dtype: DType): Uint8Array {
  if (endianness() !== "LE")
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
    dtype: nameOf[dtype],
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
