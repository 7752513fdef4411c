import { join } from "node:path";
import { EspalierError } from "../../core/index.ts";
import type { PartedStore } from "../manager/catalog.ts";
import { localStore, type StoredCheckpoint } from "../store/index.ts";
import { partName, ranksOf } from "./parts.ts";

/**
 * Checkpoints in a directory, whether one process or several ranks wrote them, to be read, verified and removed as
 * wholes. Of several ranks the states are those of rank 0; verifying looks at the parts of all.
 *
 * @example
 * ```ts
 * const problems = await new CheckpointManager({ store: anyRanksStore("runs/two") }).verify(name);
 * ```
 */
export function anyRanksStore(directory: string): PartedStore {
  const whole = localStore(directory);
  const partOf = (name: string, rank: number) => ({
    path: () => join(whole.path(name), partName(rank)),
    open: (): Promise<StoredCheckpoint> => localStore(whole.path(name)).open(partName(rank)),
  });
  return {
    ...whole,
    open: async (name) => ((await ranksOf(whole, name)) === 1 ? whole.open(name) : partOf(name, 0).open()),
    partsOf: async (name) => {
      const ranks = await ranksOf(whole, name);
      return ranks === 1 ? [whole] : Array.from({ length: ranks }, (_, rank) => partOf(name, rank));
    },
    lock: async (holder) => ({
      ...(await whole.lock(holder)),
      begin: async () => {
        throw new EspalierError("STORE_READ_ONLY", `${whole.location} is open for reading and removing`, {
          fix: "write with localStore",
        });
      },
    }),
  };
}
