import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";
import type { PartedStore } from "../manager/catalog.ts";
import { type FileSystem, fileFailure, nodeFileSystem, trying } from "../store/file-system.ts";
import { type CheckpointWriter, localStore, type StoreLock } from "../store/index.ts";
import { writeCheckpoint } from "../store/local-store.ts";
import { type Processes, systemProcesses, takeLock } from "../store/lock.ts";
import { announce, awaitMain, isMainThere, type Machine } from "./main-rank.ts";
import { partName } from "./parts.ts";
import { until } from "./until.ts";

/** Seconds for which ranks wait for each other. */
export const defaultPatience = 600;

export interface RankedStoreOptions {
  readonly rank: number;
  readonly ranks: number;
  /** Seconds for which ranks wait for each other. Default: 600. */
  readonly patience?: number;
  /** Another file system, for tests. Files are then written and hashed on this thread. */
  readonly fs?: FileSystem;
  /** Other processes, for tests. */
  readonly processes?: Processes;
}

/**
 * What one rank of several sees of checkpoints that all of them write together, in a directory that all of them see.
 * Before rank 0 has given a checkpoint its name nobody sees it, and after a rank is lost nothing of it stays: all parts
 * or nothing. What each rank does:
 *
 * ```
 * every rank   writes .tmp-parts-NAME/.rank-000R/...       files and their names are synced
 *              renames it to .tmp-parts-NAME/rank-000R     and touches nothing there from then on
 * rank 0       waits until the parts of all are there
 *              syncs .tmp-parts-NAME                       now the parts of all last
 *              renames it to NAME, syncs the directory
 * the others   wait until NAME is there
 * ```
 *
 * A rank takes a lock of its own, so that the same one is not started twice.
 *
 * ```
 * epoch-0003-update-000120/
 *   rank-0000/manifest.json, params.safetensors, ...
 *   rank-0001/...
 * ```
 */
export function rankedStore(directory: string, options: RankedStoreOptions): PartedStore {
  const { rank, ranks, patience = defaultPatience } = options;
  const root = resolve(directory);
  const machine = { fs: options.fs ?? nodeFileSystem, processes: options.processes ?? systemProcesses() };
  const injected = {
    ...(options.fs && { fs: options.fs }),
    ...(options.processes && { processes: options.processes }),
  };
  const whole = localStore(root, injected);
  const parts = Array.from({ length: ranks }, (_, r) => ({
    path: (name: string) => join(root, name, partName(r)),
    open: (name: string) => localStore(join(root, name), injected).open(partName(r)),
  }));
  const own = parts[rank] as (typeof parts)[number];
  const threads = options.fs === undefined;
  const begin = (name: string) => beginPart({ root, name, rank, ranks, patience, threads, ...machine });

  async function lockMain(holder?: string): Promise<StoreLock> {
    const main = await whole.lock(holder);
    const takeBack = await announce(root, machine).catch(async (error: unknown) => {
      await main.release().catch(() => undefined);
      throw fileFailure("locking", root, error);
    });
    return {
      ...main,
      begin,
      release: async () => {
        await takeBack();
        await main.release();
      },
    };
  }

  async function lockRank(holder = "a writer of checkpoints"): Promise<StoreLock> {
    await awaitMain(root, patience, machine);
    const token = randomBytes(6).toString("hex");
    const lockOptions = {
      processes: machine.processes,
      holder,
      token,
      takeOver: false,
      prefix: `.lock.${partName(rank)}-`,
      what: `rank ${rank} of ${root}`,
    };
    const held = await trying("locking", root, () => takeLock(machine.fs, root, lockOptions));
    // Rank 0 removes for all.
    return { cleaned: [], begin, remove: async () => undefined, release: held.release };
  }

  const lock = rank === 0 ? lockMain : lockRank;
  return { location: root, list: whole.list, ...own, lock, partsOf: async () => parts };
}

interface Part extends Machine {
  readonly root: string;
  readonly name: string;
  readonly rank: number;
  readonly ranks: number;
  readonly patience: number;
  readonly threads: boolean;
}

async function beginPart(part: Part): Promise<CheckpointWriter> {
  const { root, name, rank, ranks, patience, fs, threads } = part;
  // Rank 0 removes what has this prefix when it takes the store.
  const shared = join(root, `.tmp-parts-${name}`);
  const [final, own] = [join(root, name), join(shared, partName(rank))];
  await fs.remove(own);
  // Rank 0 syncs the shared directory, for all: it may be gone from its place as soon as the last part is there.
  const writer = await writeCheckpoint({ fs, threads, from: join(shared, `.${partName(rank)}`), to: own });
  const has = async (directory: string, entry: string): Promise<boolean> =>
    (await fs.list(directory)).includes(entry);

  async function commit(): Promise<void> {
    await writer.commit();
    if (rank !== 0) return awaitWhole();
    const missing = async () => {
      const there = await fs.list(shared);
      return Array.from({ length: ranks }, (_, r) => r).filter((r) => !there.includes(partName(r)));
    };
    await until(
      patience,
      async () => (await missing()).length === 0,
      async () => {
        const lost = (await missing()).join(", ");
        return new EspalierError("RANKS_MISSING", `${final}: rank ${lost} of ${ranks} wrote no part of it`, {
          fix: "see what became of that process; the checkpoints before this one are whole",
        });
      },
    );
    await fs.syncDirectory(shared);
    await fs.rename(shared, final);
    await fs.syncDirectory(root);
  }
  // Rank 0 may come as late as its patience allows, and then waits for others as long.
  const awaitWhole = (): Promise<void> =>
    until(
      2 * patience,
      async () => {
        if (await has(root, name)) return true;
        const there = (await has(shared, partName(rank))) && (await isMainThere(root, part));
        // Its part is moved with the whole: where it is gone, look again.
        if (there || (await has(root, name))) return false;
        throw givenUp(final);
      },
      async () => givenUp(final),
    );

  return {
    file: writer.file,
    commit,
    abort: async () => {
      await writer.abort();
      // A part that stays would look as if this rank were further on than the others.
      await fs.remove(rank === 0 ? shared : own);
    },
  };
}

const givenUp = (path: string): EspalierError =>
  new EspalierError("RANKS_MISSING", `${path}: rank 0 did not bring the parts of all ranks together`, {
    fix: "see what rank 0 says",
  });
