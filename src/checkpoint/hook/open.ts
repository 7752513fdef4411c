import { basename, dirname, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";
import { localStore } from "../local/index.ts";
import { latestWhole } from "../manager/catalog.ts";
import { Checkpoint } from "../manager/index.ts";

/**
 * Opens the checkpoint at a path, or the newest whole one of the run directory there.
 *
 * @example
 * ```ts
 * const { manifest } = await openCheckpoint("runs/mnist");
 * ```
 */
export async function openCheckpoint(
  path: string,
  warn: (text: string) => void = () => undefined,
): Promise<Checkpoint> {
  const at = resolve(path);
  try {
    return await Checkpoint.open(localStore(dirname(at)), basename(at));
  } catch (error) {
    if (!(error instanceof EspalierError) || !["CHECKPOINT_MISSING", "STORE_NAME"].includes(error.code))
      throw error;
  }
  const newest = await latestWhole(localStore(at), warn);
  if (newest) return newest;
  throw new EspalierError("CHECKPOINT_MISSING", `there is no whole checkpoint at ${at}`, {
    fix: "give the directory of a checkpoint, or a directory that holds some",
  });
}
