import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";

/** How the names of replays end. */
export const REPLAY_SUFFIX = ".replay";

/** Writes a file beside its name, makes it last and renames it: whoever finds it finds it whole. */
export async function intoDirectory(directory: string, name: string, bytes: Uint8Array): Promise<string> {
  const path = join(resolve(directory), `${name}${REPLAY_SUFFIX}`);
  const beside = join(dirname(path), `.${name}-${process.pid}-${randomBytes(6).toString("hex")}.tmp`);
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(beside, "wx");
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
    await syncDirectory(dirname(path));
    return path;
  } catch (cause) {
    await rm(beside, { force: true }).catch(() => undefined);
    throw new EspalierError("REPLAY_WRITE", `${path} could not be written: ${(cause as Error).message}`, {
      fix: "give a directory that can be written to and has space",
      cause,
    });
  }
}

/** Makes the new name last. Windows cannot open directories, and keeps their names by itself. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
