import { codeOf, EspalierError, hex, messageOf, sha256 } from "../../core/index.ts";
import { Checkpoint, checkpointName } from "../checkpoint.ts";
import type { CheckpointManager } from "../manager.ts";
import { type ComponentRecord, type Manifest, recordsByFile } from "../manifest.ts";
import { writeManifest } from "../save.ts";
import { uriOf } from "../store/address.ts";
import type { CheckpointStore, CheckpointWriter, StoredCheckpoint } from "../store/store.ts";
import type { PublicationSettings } from "./checkpoint-hook.ts";

/** Bytes that are on their way at once. */
const piece = 1024 * 1024;

/** Copies a saved checkpoint elsewhere and gives its address there. Meanwhile it is not pruned. */
export async function publish(
  manager: CheckpointManager,
  name: string,
  to: PublicationSettings["to"],
): Promise<string> {
  const { store } = manager;
  const stop = manager.use(name);
  try {
    if (typeof to !== "function")
      return await copyCheckpoint(store, name, to, `publishing from ${store.location}`);
    return await to(await Checkpoint.open(store, name));
  } catch (cause) {
    const where = typeof to === "function" ? "" : ` to ${to.location}`;
    const why = messageOf(cause);
    throw new EspalierError(
      "PUBLISH_FAILED",
      `${store.path(name)} is saved, and could not be published${where}: ${why}`,
      { cause },
    );
  } finally {
    stop();
  }
}

/** True for failures of publishing alone: the checkpoint is saved. */
export const isPublishing = (error: unknown): boolean => codeOf(error) === "PUBLISH_FAILED";

/** Copies a checkpoint of one store to another, verified, and gives its address there. One that is there stays. */
async function copyCheckpoint(
  from: CheckpointStore,
  name: string,
  to: CheckpointStore,
  holder: string,
): Promise<string> {
  const { manifest } = await Checkpoint.open(from, name);
  const lock = await to.lock(holder);
  try {
    const taken = await to.list();
    if (taken.includes(name) && (await isSame(to, name, manifest))) return uriOf(to.path(name));
    const free = checkpointName(manifest.counters, taken);
    const writer = await lock.begin(free);
    try {
      const stored = await from.open(name);
      for (const [file, records] of recordsByFile(manifest)) await copyFile(stored, file, records, writer);
      await writeManifest(writer, { ...manifest, name: free });
      await writer.commit();
    } catch (error) {
      await writer.abort().catch(() => undefined);
      throw error;
    }
    return uriOf(to.path(free));
  } finally {
    await lock.release();
  }
}

async function copyFile(
  from: StoredCheckpoint,
  name: string,
  records: readonly ComponentRecord[],
  writer: CheckpointWriter,
): Promise<void> {
  const source = await from.file(name);
  try {
    const copy = await writer.file(name);
    for (const { offset = 0, bytes, sha256: saved } of records) {
      const hash = sha256();
      for (let at = 0; at < bytes; at += piece) {
        const part = await source.read(offset + at, Math.min(piece, bytes - at));
        hash.update(part);
        await copy.write(part);
      }
      if (hex(hash.digest()) !== saved)
        throw new EspalierError("CHECKPOINT_DAMAGED", `${name} was altered: its hash does not fit`);
    }
    await copy.close();
  } finally {
    await source.close();
  }
}

/** True if the checkpoint that is there already is this one: a run that was killed may publish one again. */
async function isSame(store: CheckpointStore, name: string, { components }: Manifest): Promise<boolean> {
  const there = await Checkpoint.open(store, name);
  return JSON.stringify(there.manifest.components) === JSON.stringify(components);
}
