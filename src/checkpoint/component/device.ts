import { type HostArray, put, Tensor } from "../../engine/index.ts";
import { type HostTensor, toFileBytes } from "../safetensors/index.ts";
import type { ImageLeaf } from "./image.ts";

/** The bytes of a leaf as files hold them. `own` says that nobody else has them. */
export async function readLeaf({ source, dtype }: ImageLeaf): Promise<{
  readonly bytes: Uint8Array;
  readonly own: boolean;
}> {
  if (!(source instanceof Tensor)) return { bytes: toFileBytes(source, dtype), own: false };
  return { bytes: toFileBytes(await source.read(), dtype), own: true };
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
