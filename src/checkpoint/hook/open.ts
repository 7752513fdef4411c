import { basename, dirname, join, resolve } from "node:path";
import { didYouMean, EspalierError } from "../../core/index.ts";
import { latestWhole, listCheckpoints } from "../manager/catalog.ts";
import { Checkpoint } from "../manager/index.ts";
import { partName, ranksOf } from "../ranks/index.ts";
import { localStore } from "../store/index.ts";

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
  const parent = localStore(dirname(at));
  const ranks = await ranksOf(parent, basename(at));
  if (ranks > 1) throw ofRanks(`${at} is a checkpoint`, ranks, at);
  const store = localStore(at);
  const newest = await latestWhole(store, warn);
  if (newest) return newest;
  for (const { name } of [...(await listCheckpoints(store))].reverse()) {
    const count = await ranksOf(store, name);
    if (count > 1) throw ofRanks(`${at} holds checkpoints`, count, store.path(name));
  }
  const beside = (await listCheckpoints(parent).catch(() => [])).map(({ name }) => name);
  throw new EspalierError(
    "CHECKPOINT_MISSING",
    `there is no whole checkpoint at ${at}${didYouMean(basename(at), beside)}`,
    {
      fix: `give the directory of a checkpoint, or a directory that holds some${beside.length > 0 ? `; in ${parent.location} there are ${someOf(beside)}` : ""}`,
    },
  );
}

const ofRanks = (what: string, ranks: number, path: string): EspalierError =>
  new EspalierError("CHECKPOINT_RANKS", `${what} of ${ranks} ranks`, {
    fix: `give the part of one rank: ${join(path, partName(0))}`,
  });

/** Names for a message: all, or the last of many. */
export const someOf = (names: readonly string[], most = 5): string =>
  `${names.length > most ? `${names.length - most} others, ` : ""}${names.slice(-most).join(", ")}`;
