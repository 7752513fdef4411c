import { type HostArray, put, Tensor } from "../../engine/index.ts";
import { type HostTensor, toFileBytes } from "../safetensors/index.ts";
import type { ImageLeaf } from "./image.ts";

/**
 * The bytes of a leaf as files hold them; or, where its engine can give parts of it, what fills a target with the bytes
 * from a position on.
 */
export async function bytesOf({
  source,
  dtype,
}: ImageLeaf): Promise<Uint8Array | ((target: Uint8Array, from: number) => Promise<void>)> {
  if (!(source instanceof Tensor)) return toFileBytes(source, dtype);
  if (!source.backend.readBytes) return toFileBytes(await source.read(), dtype);
  return (target, from) => source.readBytes(from, target) as Promise<void>;
}

/** Where restored tensors go: the device of a tensor that is there now, or the chosen engine's first. */
export type Placement = (name: string) => Tensor | undefined;

/** Puts a tensor back on a device. */
export function putLeaf(name: string, { data, dtype, shape }: HostTensor, placed: Placement): Tensor {
  const device = placed(name)?.device;
  return put(data as HostArray, {
    dtype,
    shape,
    ...(device ? { engine: device.engine, device: device.index } : {}),
  });
}
