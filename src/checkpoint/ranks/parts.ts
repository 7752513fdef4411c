import { isAbsolute } from "node:path";
import { isPlainObject } from "../../core/index.ts";
import { Checkpoint } from "../manager/index.ts";
import { nodeFileSystem as fs } from "../store/file-system.ts";
import { type CheckpointStore, localStore } from "../store/index.ts";

/** The directory of a rank's part within a checkpoint. */
export const partName = (rank: number): string => `rank-${String(rank).padStart(4, "0")}`;

const isPart = (name: string): boolean => /^rank-\d{4,}$/.test(name);

/** How many ranks wrote a checkpoint: 1 where it has no parts of ranks. Parts that are lost count too. */
export async function ranksOf(store: Pick<CheckpointStore, "path">, name: string): Promise<number> {
  const path = store.path(name);
  // Stores other than directories are for one rank.
  const parts = isAbsolute(path) ? (await fs.list(path).catch(() => [])).filter(isPart) : [];
  if (parts.length === 0) return 1;
  for (const part of parts) {
    const opened = await Checkpoint.open(localStore(path), part).catch(() => undefined);
    const config = opened?.manifest.config;
    if (isPlainObject(config) && typeof config.ranks === "number") return config.ranks;
  }
  return 1 + Math.max(...parts.map((part) => Number(part.slice("rank-".length))));
}
