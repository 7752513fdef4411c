import { createHash } from "node:crypto";
import { join } from "node:path";
import { checkName } from "../store/names.ts";
import type { CheckpointWriter } from "../store/store.ts";
import { trying } from "./failure.ts";
import type { FileSystem } from "./file-system.ts";
import { type HashedWriter, hashedWriter } from "./hashed.ts";
import { piece } from "./thread.ts";
import { createOnThread } from "./threaded-files.ts";

/** Where and how a checkpoint is written. */
export interface WriteOptions {
  readonly fs: FileSystem;
  /** Whether files are written on other threads. */
  readonly threads: boolean;
  /** The directory whose names are made to last in the end; left out where somebody else does that for all parts. */
  readonly root?: string;
  /** The directory it is written in, and the one that becomes of it. */
  readonly from: string;
  readonly to: string;
}

/** Writes a checkpoint beside its final name and renames it once. */
export async function writeCheckpoint({
  fs,
  threads,
  root,
  from,
  to,
}: WriteOptions): Promise<CheckpointWriter> {
  await fs.makeDirectory(from);
  const open = new Set<HashedWriter>();
  let committed = false;
  return {
    file: async (name) => {
      checkName(name);
      const path = join(from, name);
      const file = await trying("creating", path, async () =>
        threads ? createOnThread(path) : hashedWriter(await fs.create(path), createHash("sha256"), piece),
      );
      open.add(file);
      const { lend, writeInPlace } = file;
      return {
        ...(lend && { lend: () => trying("writing", path, lend) }),
        ...(writeInPlace && {
          writeInPlace: (memory, bytes) => trying("writing", path, () => writeInPlace(memory, bytes)),
        }),
        write: (chunk) => trying("writing", path, () => file.write(chunk)),
        close: () =>
          trying("closing", path, async () => {
            const record = await file.close();
            open.delete(file);
            return record;
          }),
      };
    },
    commit: () =>
      trying("committing", to, async () => {
        await fs.syncDirectory(from);
        await fs.rename(from, to);
        committed = true;
        if (root !== undefined) await fs.syncDirectory(root);
      }),
    abort: async () => {
      for (const file of open) await file.abandon().catch(() => undefined);
      open.clear();
      if (!committed) await trying("removing", from, () => fs.remove(from));
    },
  };
}
