import { EspalierError } from "../../core/index.ts";
import { encodeHeader, nameOf } from "../safetensors/index.ts";
import type { FileRecord, FileWriter } from "../store/index.ts";
import { readLeaf } from "./device.ts";
import type { ComponentImage, ImageLeaf } from "./image.ts";

/** Larger arrays are handed on as they are, smaller ones gathered, so that no thread is woken for a few bytes. */
const large = 1024 * 1024;
const gathered = 4 * 1024 * 1024;

/** The key under which a component's tree stands in its file. */
export const treeKey = "espalier.tree";

/** Writes a component as a safetensors file, reading its tensors one after another. */
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
  const chunks = gather(file);
  await chunks.add(encodeHeader(plans, { [treeKey]: image.tree }).bytes, true);
  for (const leaf of image.leaves) {
    const { bytes, own } = await readOf(name, leaf);
    await chunks.add(bytes, own);
    // Training goes on in between.
    if (bytes.byteLength >= large) await new Promise((resolve) => setImmediate(resolve));
  }
  await chunks.flush();
  return file.close();
}

function gather(file: FileWriter): {
  add(bytes: Uint8Array, own: boolean): Promise<void>;
  flush(): Promise<void>;
} {
  let block = new Uint8Array(0);
  let filled = 0;
  const flush = async (): Promise<void> => {
    if (filled === 0) return;
    const full = filled === block.length ? block : block.slice(0, filled);
    block = new Uint8Array(0);
    filled = 0;
    await file.write(full);
  };
  return {
    add: async (bytes, own) => {
      if (own && bytes.byteLength >= large) {
        await flush();
        await file.write(bytes);
        return;
      }
      for (let at = 0; at < bytes.byteLength; ) {
        if (block.length === 0) block = new Uint8Array(gathered);
        const part = bytes.subarray(at, at + block.length - filled);
        block.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled === block.length) await flush();
      }
    },
    flush,
  };
}

async function readOf(component: string, leaf: ImageLeaf): ReturnType<typeof readLeaf> {
  try {
    return await readLeaf(leaf);
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
