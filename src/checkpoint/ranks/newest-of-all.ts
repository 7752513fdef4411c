import { latestWhole, listCheckpoints, problemsOf } from "../manager/catalog.ts";
import { Checkpoint } from "../manager/index.ts";
import type { CheckpointStore } from "../store/index.ts";
import type { RankedStore } from "./ranked-store.ts";

/**
 * The newest checkpoint of which every rank's part is whole; this rank's part of it. All ranks look at the same files,
 * which do not change before all of them have begun, so that all come to the same answer.
 */
async function newestOfAll(
  store: RankedStore,
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> {
  for (const { name, path } of [...(await listCheckpoints(store))].reverse()) {
    const found = await Promise.all(store.parts.map((part) => problemsOf(part as CheckpointStore, name)));
    const problems = found.flat();
    if (problems.length === 0) return (await Checkpoint.open(store, name)).trust();
    warn(`the checkpoint ${path} is passed over: ${problems.join("; ")}`);
  }
  return undefined;
}

/** The newest whole checkpoint of a store, of all ranks where it is of several. */
export const newestWhole = (
  store: CheckpointStore | RankedStore,
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> =>
  "parts" in store ? newestOfAll(store, warn) : latestWhole(store, warn);
