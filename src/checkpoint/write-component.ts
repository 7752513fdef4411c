import { EspalierError } from "../core/index.ts";
import { Tensor } from "../engine/index.ts";
import { encodeHeader, nameOf } from "./safetensors/header.ts";
import { encodeSafetensors, toFileBytes } from "./safetensors/tensors.ts";
import type { ComponentImage, ImageLeaf } from "./snapshot.ts";
import type { FileRecord, FileWriter, MemoryInPlace } from "./store/store.ts";

/** The key under which a component's tree stands in its file. */
export const treeKey = "espalier.tree";

/** Copying less than this is cheaper than a write of its own. */
const smallestInPlace = 256 * 1024;
/** Engines copy parts up to this size at once, larger ones on threads of their own, which takes turns of this one. */
const smallestPart = 64 * 1024;
/** Components up to this size are copied without such a turn: training may keep one waiting for as long as an epoch. */
const small = 1024 * 1024;
/** After copying this many bytes on this thread, training gets a turn. */
const turnAfter = 8 * 1024 * 1024;
/** Handing over a tensor in place takes about as long as copying this many. */
const costInPlace = 512 * 1024;

/**
 * Writes a component as a safetensors file: the header, then the leaves in order. Large tensors in the host's memory are
 * written where they are; all others are copied into blocks, which are filled while earlier ones are written.
 */
export async function writeComponent(
  name: string,
  image: ComponentImage,
  file: FileWriter,
): Promise<FileRecord> {
  const tensors = image.leaves.map(({ name, dtype, shape }) => ({ name, dtype: nameOf(dtype), shape }));
  const header = encodeHeader(tensors, { [treeKey]: image.tree }).bytes;
  const total = image.leaves.reduce((sum, { bytes }) => sum + bytes, header.length);
  // A small component has one block of its size: making a large one costs more than all the rest.
  const blocks = blocksTo(file, { ...blockSize, bytes: Math.min(blockSize.bytes, total) });
  await blocks.add(header.length, copyOf(header));
  let copied = 0;
  for (const leaf of image.leaves) {
    if (await placed(name, leaf, file, blocks)) copied += costInPlace;
    else copied += await add(name, leaf, blocks, total <= small && leaf.bytes > smallestPart);
    if (copied < turnAfter) continue;
    await new Promise((resolve) => setImmediate(resolve));
    copied = 0;
  }
  await blocks.flush();
  return file.close();
}

/** The same in memory, for a component without tensors. */
export const encodeComponent = ({ tree, leaves }: ComponentImage): Uint8Array =>
  encodeSafetensors(
    Object.fromEntries(
      leaves.flatMap(({ name, dtype, shape, source }) =>
        source instanceof Tensor ? [] : [[name, { dtype, shape, data: source }] as const],
      ),
    ),
    { [treeKey]: tree },
  );

/** Writes a large leaf where it is, if its engine and the writer can. */
async function placed(name: string, leaf: ImageLeaf, file: FileWriter, blocks: Blocks): Promise<boolean> {
  const { source, bytes } = leaf;
  if (!file.writeInPlace || !(source instanceof Tensor) || bytes < smallestInPlace) return false;
  const memory = await naming(name, leaf, () => source.inPlace());
  if (!memory) return false;
  let taken = false;
  try {
    taken = await blocks.place(memory, bytes);
  } finally {
    if (!taken) memory.release();
  }
  return taken;
}

/** Copies a leaf into blocks; gives how many bytes this thread copied. Unless `here`, an engine may copy parts by itself. */
async function add(name: string, leaf: ImageLeaf, blocks: Blocks, here: boolean): Promise<number> {
  const { source, dtype } = leaf;
  if (source instanceof Tensor && source.backend.readBytes && !here) {
    const read: Fill = (target, from) => naming(name, leaf, async () => source.readBytes(from, target));
    await blocks.add(leaf.bytes, read);
    return 0;
  }
  const data = source instanceof Tensor ? await naming(name, leaf, () => source.read()) : source;
  const bytes = toFileBytes(data, dtype);
  await blocks.add(bytes.length, copyOf(bytes));
  return bytes.length;
}

const copyOf =
  (source: Uint8Array): Fill =>
  (target, from) =>
    void target.set(source.subarray(from, from + target.length));

/** An error about a tensor that is gone gets the names of its component and leaf. */
async function naming<T>(component: string, leaf: ImageLeaf, read: () => T | Promise<T>): Promise<T> {
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

/** Puts bytes from a position on into the target: at once, or it gives a promise. */
type Fill = (target: Uint8Array, from: number) => Promise<unknown> | undefined;

type Blocks = ReturnType<typeof blocksTo>;

/** Bytes of a block, and how many may wait for the writer: enough that neither side waits, little beside a model. */
const blockSize = { bytes: 4 * 1024 * 1024, most: 8 };

/**
 * Cuts the content of a file into blocks and hands them to its writer in order. Blocks are filled while others are
 * written: waiting for one before the next is begun would take a turn of the event loop each, and a turn may take long
 * while training goes on.
 */
export function blocksTo(file: FileWriter, size = blockSize) {
  let block: Uint8Array | undefined;
  let filled = 0;
  let filling: (Promise<unknown> | undefined)[] = [];
  /** The writes under way, the oldest first. Each waits for the one before it. */
  const writes: Promise<unknown>[] = [];

  const send = (full: Uint8Array): void => {
    const write = Promise.all([writes.at(-1), ...filling]).then(() => file.write(full));
    write.catch(() => undefined); // It is awaited below.
    writes.push(write);
    block = undefined;
    filled = 0;
    filling = [];
  };
  const room = async (): Promise<Uint8Array> => {
    if (writes.length >= size.most) await writes.shift();
    return new Uint8Array(size.bytes);
  };
  /** Hands over the last block and returns once the writer has taken everything. */
  const flush = async (): Promise<void> => {
    if (block) send(block.subarray(0, filled));
    await writes.at(-1);
  };
  return {
    /** Appends bytes. Returns once all are on their way; a failure is thrown here or by `flush`. */
    add: async (bytes: number, fill: Fill): Promise<void> => {
      for (let at = 0; at < bytes; ) {
        block ??= await room();
        const part = block.subarray(filled, filled + bytes - at);
        const coming = fill(part, at);
        coming?.catch(() => undefined);
        filling.push(coming);
        filled += part.length;
        at += part.length;
        if (filled === block.length) send(block);
      }
    },
    /** Appends memory where it is; see `writeInPlace` of writers. */
    place: async (memory: MemoryInPlace, bytes: number): Promise<boolean> => {
      await flush();
      return (await file.writeInPlace?.(memory, bytes)) ?? false;
    },
    flush,
  };
}
