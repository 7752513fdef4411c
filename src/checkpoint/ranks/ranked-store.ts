import { EspalierError, isPlainObject, node } from "../../core/index.ts";
import { Checkpoint, isCheckpointName, type PartedStore } from "../checkpoint.ts";
import {
  type FileSystem,
  fileFailure,
  nodeFileSystem,
  readWhole,
  trying,
  writeWhole,
} from "../store/file-system.ts";
import { localStore, writeCheckpoint } from "../store/local-store.ts";
import { type Processes, type ProcessIdentity, systemProcesses, takeLock } from "../store/lock.ts";
import type { CheckpointStore, CheckpointWriter, StoredCheckpoint, StoreLock } from "../store/store.ts";

// Checkpoints that several ranks write together into a directory that all of them see:
//
//   epoch-0003-update-000120/
//     rank-0000/manifest.json, params.safetensors, ...
//     rank-0001/...
//
// Nothing is listed before rank 0 has renamed the whole, and nothing of it stays after a rank is lost:
//
//   every rank   writes .tmp-parts-NAME/.rank-000R/...       files and their names are synced
//                renames it to .tmp-parts-NAME/rank-000R     and touches nothing there from then on
//   rank 0       waits until the parts of all are there
//                syncs .tmp-parts-NAME                       now the parts of all last
//                renames it to NAME, syncs the directory
//   the others   wait until NAME is there
//
// meeting.ts has ranks end at the same place, so that they can save the end of a run too.

/** Seconds for which ranks wait for each other. */
export const defaultPatience = 600;

/** The directory of a rank's part within a checkpoint. */
export const partName = (rank: number): string => `rank-${String(rank).padStart(4, "0")}`;

/** The files and processes that ranks see. Tests bring others. */
export interface Machine {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

interface RankedStoreOptions extends Partial<Machine> {
  readonly rank: number;
  readonly ranks: number;
  /** Seconds for which ranks wait for each other. Default: 600. */
  readonly patience?: number;
}

/**
 * The store of one rank of several. It opens the rank's own parts; a checkpoint is whole if the parts of all are. Each
 * rank takes a lock of its own, so that the same one is not started twice.
 */
export function rankedStore(directory: string, options: RankedStoreOptions): PartedStore {
  const { rank, ranks, patience = defaultPatience } = options;
  const root = node.path.resolve(directory);
  const machine = { fs: options.fs ?? nodeFileSystem, processes: options.processes ?? systemProcesses() };
  const injected = {
    ...(options.fs && { fs: options.fs }),
    ...(options.processes && { processes: options.processes }),
  };
  const whole = localStore(root, injected);
  const parts = Array.from({ length: ranks }, (_, r) => ({
    path: (name: string) => node.path.join(root, name, partName(r)),
    open: (name: string) => localStore(node.path.join(root, name), injected).open(partName(r)),
  }));
  const own = parts[rank] as (typeof parts)[number];
  const threads = options.fs === undefined;
  const begin = (name: string) => beginPart({ root, name, rank, ranks, patience, threads, ...machine });

  async function lockMain(holder?: string): Promise<StoreLock> {
    const main = await whole.lock(holder);
    const withdraw = await announceMain(root, machine).catch(async (error: unknown) => {
      await main.release().catch(() => undefined);
      throw fileFailure("locking", root, error);
    });
    return {
      ...main,
      begin,
      release: async () => {
        await withdraw();
        await main.release();
      },
    };
  }

  async function lockRank(holder = "a writer of checkpoints"): Promise<StoreLock> {
    await awaitMain(root, patience, machine);
    const held = await trying("locking", root, () =>
      takeLock(machine.fs, root, {
        processes: machine.processes,
        holder,
        token: node.crypto.randomBytes(6).toString("hex"),
        takeOver: false,
        prefix: `.lock.${partName(rank)}-`,
        what: `rank ${rank} of ${root}`,
      }),
    );
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
  // Rank 0 removes directories with this prefix when it locks the store.
  const shared = node.path.join(root, `.tmp-parts-${name}`);
  const [final, own] = [node.path.join(root, name), node.path.join(shared, partName(rank))];
  await fs.remove(own);
  // Rank 0 syncs the shared directory, for all: it may be renamed as soon as the last part is there.
  const writer = await writeCheckpoint({
    fs,
    threads,
    from: node.path.join(shared, `.${partName(rank)}`),
    to: own,
  });
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
        // Its part is renamed with the whole: where it is gone, look again.
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
      // A part that stays would look as if this rank were ahead of the others.
      await fs.remove(rank === 0 ? shared : own);
    },
  };
}

const givenUp = (path: string): EspalierError =>
  new EspalierError("RANKS_MISSING", `${path}: rank 0 did not bring the parts of all ranks together`, {
    fix: "see what rank 0 says",
  });

/** The file by which rank 0 tells the others that it has locked the store. */
const mainFile = ".rank-0";

/** Tells the others that rank 0 has locked and tidied the store. Gives the function that withdraws it. */
async function announceMain(root: string, { fs, processes }: Machine): Promise<() => Promise<void>> {
  const path = node.path.join(root, mainFile);
  await putJson(fs, path, node.path.join(root, `.tmp-${mainFile.slice(1)}`), processes.self);
  return () => fs.remove(path);
}

/** Waits until rank 0 has the store: what another rank writes before would be taken for a leftover. */
async function awaitMain(root: string, patience: number, machine: Machine): Promise<void> {
  await until(
    patience,
    () => isMainThere(root, machine),
    async () =>
      new EspalierError("RANKS_MISSING", `rank 0 has not taken ${root}`, {
        fix: "start rank 0 too, with the same directory",
      }),
  );
}

/** True if rank 0 has the store and runs. */
export async function isMainThere(root: string, { fs, processes }: Machine): Promise<boolean> {
  const main = await readJson<ProcessIdentity>(fs, node.path.join(root, mainFile));
  return main !== undefined && processes.isRunning(main) !== false;
}

/** Writes a small file at once: it is never read in half. */
export async function putJson(fs: FileSystem, path: string, draft: string, value: object): Promise<void> {
  await fs.remove(draft);
  await writeWhole(fs, draft, JSON.stringify(value));
  await fs.rename(draft, path);
}

/** Reads such a file. Undefined where it is not there, or not an object. */
export async function readJson<T>(fs: FileSystem, path: string): Promise<T | undefined> {
  try {
    const value: T = JSON.parse(await readWhole(fs, path));
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Looks every 20 ms until something holds, or fails with the error of `late`. */
export async function until(
  seconds: number,
  holds: () => Promise<boolean>,
  late: () => Promise<Error>,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await holds())) {
    if (performance.now() > end) throw await late();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The number of ranks that wrote a checkpoint: 1 where it has no parts. Parts that are lost count too. */
export async function ranksOf(store: Pick<CheckpointStore, "path">, name: string): Promise<number> {
  const path = store.path(name);
  // Stores other than directories are for one rank.
  const names = node.path.isAbsolute(path) ? await nodeFileSystem.list(path).catch(() => []) : [];
  const parts = names.filter((part) => /^rank-\d{4,}$/.test(part));
  if (parts.length === 0) return 1;
  for (const part of parts) {
    const opened = await Checkpoint.open(localStore(path), part).catch(() => undefined);
    const config = opened?.manifest.config;
    if (isPlainObject(config) && typeof config.ranks === "number") return config.ranks;
  }
  return 1 + Math.max(...parts.map((part) => Number(part.slice("rank-".length))));
}

/**
 * Refuses a store with checkpoints of another number of ranks than this run has, which would start fresh beside them.
 * `looked` says which are looked at.
 */
export async function checkRanks(
  store: CheckpointStore,
  here: number,
  looked: (name: string) => boolean = isCheckpointName,
): Promise<void> {
  for (const name of (await store.list()).filter(looked)) {
    const saved = await ranksOf(store, name);
    // With several on both sides the settings are compared, with everything else.
    if (here === 1 ? saved === 1 : saved >= here) continue;
    const path = store.path(name);
    throw new EspalierError(
      "CHECKPOINT_MISMATCH",
      `${path} does not fit this run: ranks is ${saved} in the checkpoint and ${here} here`,
      {
        fix: `resume with ranks: ${saved}, or use another directory${saved > 1 && here === 1 ? `; to take over the parameters of one rank there: onStart: "${path}/${partName(0)}", mode: "warmStart"` : ""}`,
      },
    );
  }
}

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
    path: () => node.path.join(whole.path(name), partName(rank)),
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
