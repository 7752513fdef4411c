import { EspalierError } from "../../core/index.ts";
import { encodeHeader, nameOf } from "../safetensors/index.ts";
import type { FileRecord, FileWriter, MemoryInPlace } from "../store/store.ts";
import { blocksTo } from "./blocks.ts";
import { bytesOf, kindOf } from "./device.ts";
import type { ComponentImage, ImageLeaf } from "./image.ts";

/** The key under which a component's tree stands in its file. */
export const treeKey = "espalier.tree";

/** After copying so many bytes by itself, it lets training go on. */
const turnAfter = 16 * 1024 * 1024;
/** Handing over a tensor in place takes about as long as copying so many. */
const placing = 512 * 1024;

type Blocks = ReturnType<typeof blocksTo>;

/** Writes a component as a safetensors file, reading its tensors while those before them are written. */
export async function writeComponent(
  name: string,
  image: ComponentImage,
  file: FileWriter,
): Promise<FileRecord> {
  const plans = image.leaves.map((leaf) => ({
    name: leaf.name,
    dtype: nameOf[leaf.dtype],
    shape: leaf.shape,
  }));
  const blocks = blocksTo(file);
  const header = encodeHeader(plans, { [treeKey]: image.tree }).bytes;
  await blocks.add(header.length, (target, from) => copy(header, target, from));
  let copied = 0;
  for (const leaf of image.leaves) {
    const memory = file.writeInPlace && (await told(name, leaf, () => kindOf(leaf)));
    if (memory && (await placed(memory, leaf.bytes, blocks))) copied += placing;
    else copied += await add(name, leaf, blocks);
    if (copied < turnAfter) continue;
    await new Promise((resolve) => setImmediate(resolve));
    copied = 0;
  }
  await blocks.flush();
  return file.close();
}

/** Copies a leaf into blocks; gives how many bytes this thread copied. */
async function add(name: string, leaf: ImageLeaf, blocks: Blocks): Promise<number> {
  const source = await told(name, leaf, () => bytesOf(leaf));
  if (source instanceof Uint8Array) {
    await blocks.add(source.length, (target, from) => copy(source, target, from));
    return source.length;
  }
  await blocks.add(leaf.bytes, (target, from) => told(name, leaf, async () => source(target, from)));
  return 0;
}

async function placed(memory: MemoryInPlace, bytes: number, blocks: Blocks): Promise<boolean> {
  let taken = false;
  try {
    taken = await blocks.place(memory, bytes);
  } finally {
    if (!taken) memory.release();
  }
  return taken;
}

function copy(source: Uint8Array, target: Uint8Array, from: number): undefined {
  target.set(source.subarray(from, from + target.length));
}

/** A tensor that is gone is told with the name under which the component has it. */
async function told<T>(component: string, leaf: ImageLeaf, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof EspalierError) || !["TENSOR_DONATED", "TENSOR_DISPOSED"].includes(cause.code))
      throw cause;
    const how = cause.code === "TENSOR_DONATED" ? "donated to a later step" : "disposed";
    throw new EspalierError("SNAPSHOT_LOST", `${component}: ${leaf.name} was ${how} before it was written`, {
      fix: "getState must give tensors that stay: a component whose tensors are donated or disposed gives copies",
      cause,
    });
  }
}
