import { join, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";
import { nodeFileSystem as fs } from "../local/file-system.ts";
import { localStore } from "../local/index.ts";
import { writeCheckpoint } from "../local/writer.ts";
import type { PartedStore } from "../manager/catalog.ts";
import type { CheckpointWriter, StoreLock } from "../store/index.ts";
import { announce, awaitMain } from "./main-rank.ts";
import { partName } from "./parts.ts";
import { until } from "./until.ts";

export interface RankedStoreOptions {
  readonly rank: number;
  readonly ranks: number;
  /** Seconds for which ranks wait for each other. Default 600. */
  readonly patience?: number;
}

/**
 * What one rank of several sees of checkpoints that all of them write together, in a directory that all of them see.
 * Each writes its part beside the final name; when all are there and speak of the same step, rank 0 gives the whole its
 * name, by one rename. Before that nobody sees it, and after a rank is lost nothing of it stays: all parts or nothing.
 *
 * ```
 * epoch-0003-update-000120/
 *   rank-0000/manifest.json, params.safetensors, ...
 *   rank-0001/...
 * ```
 */
export function rankedStore(directory: string, options: RankedStoreOptions): PartedStore {
  const { rank, ranks, patience = 600 } = options;
  const root = resolve(directory);
  const whole = localStore(root);
  const parts = Array.from({ length: ranks }, (_, r) => ({
    path: (name: string) => join(root, name, partName(r)),
    open: (name: string) => localStore(join(root, name)).open(partName(r)),
  }));
  const own = parts[rank] as (typeof parts)[number];

  async function lock(holder?: string): Promise<StoreLock> {
    const main = rank === 0 ? await whole.lock(holder) : undefined;
    const ended = main ? await announce(root) : await awaitMain(root, patience);
    const begin = (name: string) => beginPart({ root, name, rank, ranks, patience });
    return {
      cleaned: main?.cleaned ?? [],
      begin,
      // Rank 0 removes for all.
      remove: async (name) => main?.remove(name),
      release: async () => {
        await ended();
        await main?.release();
      },
    };
  }
  return { location: root, list: whole.list, ...own, lock, partsOf: async () => parts };
}

interface Part extends Required<RankedStoreOptions> {
  readonly root: string;
  readonly name: string;
}

async function beginPart({ root, name, rank, ranks, patience }: Part): Promise<CheckpointWriter> {
  // Rank 0 removes what has this prefix when it takes the store.
  const shared = join(root, `.tmp-parts-${name}`);
  const [final, own] = [join(root, name), join(shared, partName(rank))];
  await fs.remove(own);
  const writer = await writeCheckpoint({
    ...{ fs, threads: true, root: shared },
    ...{ from: join(shared, `.${partName(rank)}`), to: own },
  });
  const has = async (directory: string, entry: string): Promise<boolean> =>
    (await fs.list(directory)).includes(entry);

  async function commit(): Promise<void> {
    await writer.commit();
    if (rank !== 0) return awaitWhole();
    const present = async () => {
      const there = await fs.list(shared);
      return Array.from({ length: ranks }, (_, r) => r).filter((r) => !there.includes(partName(r)));
    };
    await until(
      patience,
      async () => (await present()).length === 0,
      async () => {
        const lost = (await present()).join(", ");
        return new EspalierError("RANKS_MISSING", `${final}: rank ${lost} of ${ranks} wrote no part of it`, {
          fix: "see what became of that process; the checkpoints before this one are whole",
        });
      },
    );
    await fs.rename(shared, final);
    await fs.syncDirectory(root);
  }
  const awaitWhole = (): Promise<void> =>
    until(
      patience,
      async () => {
        if (await has(root, name)) return true;
        // Its part is moved with the whole: where it is gone, look again.
        if ((await has(shared, partName(rank))) || (await has(root, name))) return false;
        throw givenUp(final);
      },
      async () => givenUp(final),
    );

  return {
    file: writer.file,
    commit,
    abort: async () => {
      await writer.abort();
      if (rank === 0) await fs.remove(shared);
    },
  };
}

const givenUp = (path: string): EspalierError =>
  new EspalierError("RANKS_MISSING", `${path}: rank 0 did not bring the parts of all ranks together`, {
    fix: "see what rank 0 says",
  });
