import { type HostArray, put, Tensor } from "../../engine/index.ts";
import { type HostTensor, toFileBytes } from "../safetensors/index.ts";
import type { MemoryInPlace } from "../store/store.ts";
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

/** Copying less is cheaper than a write of its own. */
const worthwhile = 256 * 1024;

/** The bytes of a large leaf where they lie, if its engine can lend them to other threads. */
export async function kindOf({ source, bytes }: ImageLeaf): Promise<MemoryInPlace | undefined> {
  return source instanceof Tensor && bytes >= worthwhile ? source.kindOf() : undefined;
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
