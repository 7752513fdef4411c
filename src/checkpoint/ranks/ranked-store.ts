import { EspalierError, isPlainObject, node } from "../../core/index.ts";
import { Checkpoint, isCheckpointName, type PartedStore } from "../checkpoint.ts";
import { storeAt } from "../store/address.ts";
import {
  type FileSystem,
  fileFailure,
  nodeFileSystem,
  putJson,
  readWhole,
  trying,
} from "../store/file-system.ts";
import { type LocalStoreOptions, localStore, writeCheckpoint } from "../store/local-store.ts";
import { type Processes, type ProcessIdentity, systemProcesses, takeLock } from "../store/lock.ts";
import { isS3Store, type S3Store } from "../store/s3-store.ts";
import type { CheckpointStore, CheckpointWriter, StoreLock } from "../store/store.ts";

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
//
// On S3 they share no directory, and nothing can be renamed. There each rank has a store of its own:
//
//   PREFIX/NAME                            the part of rank 0, with ranks.json: how many ranks, which session
//   PREFIX/.ranks/rank-0001/NAME.SESSION   the part of rank 1
//   PREFIX/.ranks/session                  a number that rank 0 draws when it locks the store: parts that were written
//                                          under another one are of an earlier start, and do not count
//
//   rank 0       waits until the others have committed their parts, then commits its own: that is the whole
//   the others   commit their parts, and wait until the whole is there. They remove parts that belong to none

/** Seconds for which ranks wait for each other. */
export const defaultPatience = 600;

/** The directory of a rank's part within a checkpoint. */
export const partName = (rank: number): string => `rank-${String(rank).padStart(4, "0")}`;

/** The files and processes that ranks see. Tests bring others. */
export interface Machine {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

interface RankOptions {
  readonly rank: number;
  readonly ranks: number;
  /** Seconds for which ranks wait for each other. Default: 600. */
  readonly patience?: number;
}

interface RankedStoreOptions extends RankOptions, Partial<Machine> {}

/** The store of one rank of several, in a store that all of them see: a directory, or on S3. */
export const rankedIn = (store: CheckpointStore, options: RankOptions): PartedStore =>
  isS3Store(store) ? rankedOnS3(store, options) : rankedStore(store.location, options);

/**
 * The store of one rank of several. It opens the rank's own parts; a checkpoint is whole if the parts of all are. Each
 * rank takes a lock of its own, so that the same one is not started twice.
 */
export function rankedStore(directory: string, options: RankedStoreOptions): PartedStore {
  const { rank, ranks, patience = defaultPatience } = options;
  const root = node.path.resolve(directory);
  const machine = { fs: options.fs ?? nodeFileSystem, processes: options.processes ?? systemProcesses() };
  const injected = { fs: options.fs, processes: options.processes };
  const whole = localStore(root, injected);
  const parts = Array.from({ length: ranks }, (_, r) => partIn(whole, r, injected));
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
  return { ...whole, ...own, lock, partsOf: async () => parts };
}

/** The part of a rank, by the name of the whole. */
const partIn = (
  store: Pick<CheckpointStore, "path">,
  rank: number,
  injected: LocalStoreOptions = {},
): Pick<CheckpointStore, "path" | "open"> => ({
  path: (name) => node.path.join(store.path(name), partName(rank)),
  open: (name) => localStore(store.path(name), injected).open(partName(rank)),
});

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
  const from = node.path.join(shared, `.${partName(rank)}`);
  // Left there where this rank was killed and has started again.
  for (const left of [own, from]) await fs.remove(left);
  // Rank 0 syncs the shared directory, for all: it may be renamed as soon as the last part is there.
  const writer = await writeCheckpoint(fs, threads, { from, to: own });
  const has = async (directory: string, entry: string): Promise<boolean> =>
    (await fs.list(directory)).includes(entry);

  async function commit(): Promise<void> {
    await writer.commit();
    if (rank !== 0) return awaitWhole();
    const missing = async () => {
      const there = await fs.list(shared);
      return Array.from({ length: ranks }, (_, r) => r).filter((r) => !there.includes(partName(r)));
    };
    const complete = await until(patience, async () => (await missing()).length === 0);
    if (!complete) throw lostRanks(final, await missing(), ranks);
    await fs.syncDirectory(shared);
    await fs.rename(shared, final);
    await fs.syncDirectory(root);
  }
  // Rank 0 may come as late as its patience allows, and then waits for others as long.
  const awaitWhole = async (): Promise<void> => {
    const whole = await until(2 * patience, async () => {
      if (await has(root, name)) return true;
      const there = (await has(shared, partName(rank))) && (await isMainThere(root, part));
      // Its part is renamed with the whole: where it is gone, look again.
      if (there || (await has(root, name))) return false;
      throw givenUp(final);
    });
    if (!whole) throw givenUp(final);
  };

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
  if (!(await until(patience, () => isMainThere(root, machine)))) throw notTaken(root);
}

/** True if rank 0 has the store and runs. */
export async function isMainThere(root: string, { fs, processes }: Machine): Promise<boolean> {
  const main = await readJson<ProcessIdentity>(fs, node.path.join(root, mainFile));
  return main !== undefined && processes.isRunning(main) !== false;
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

/** Looks every 20 ms until something holds. Gives false where it does not within these seconds. */
export async function until(seconds: number, holds: () => Promise<boolean>, pause = 20): Promise<boolean> {
  const end = performance.now() + seconds * 1000;
  while (!(await holds())) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return true;
}

/** Milliseconds between two looks at a store on S3. */
const pauseOnS3 = 250;
const sessionKey = ".ranks/session";
/** The file of rank 0's part that says where the parts of the others are. */
const ranksFile = "ranks.json";

interface RanksRecord {
  readonly ranks: number;
  readonly session: string;
}

const storeOfRank = (store: S3Store, rank: number): S3Store =>
  rank === 0 ? store : store.below(`.ranks/${partName(rank)}`);

/** The same on S3. */
function partOnS3(store: S3Store, rank: number): Pick<CheckpointStore, "path" | "open"> {
  const own = storeOfRank(store, rank);
  if (rank === 0) return { path: own.path, open: own.open };
  const named = async (name: string): Promise<string> =>
    `${name}.${(await recordOf(store, name))?.session ?? ""}`;
  return {
    path: own.path,
    open: async (name) => ({ file: async (file) => (await own.open(await named(name))).file(file) }),
  };
}

/** Rank 0's record of a checkpoint's parts. Undefined for a checkpoint of one rank. */
async function recordOf(store: S3Store, name: string): Promise<RanksRecord | undefined> {
  try {
    const file = await (await store.open(name)).file(ranksFile);
    return JSON.parse(new TextDecoder().decode(await file.read(0, file.size))) as RanksRecord;
  } catch (error) {
    if (error instanceof EspalierError && ["FILE_MISSING", "STORE_NAME"].includes(error.code))
      return undefined;
    throw error;
  }
}

function rankedOnS3(store: S3Store, options: RankOptions): PartedStore {
  const { rank, ranks, patience = defaultPatience } = options;
  const own = storeOfRank(store, rank);
  const parts = Array.from({ length: ranks }, (_, r) => partOnS3(store, r));
  const readSession = async (): Promise<string | undefined> => {
    const there = await store.objects.list(sessionKey);
    return there.length > 0 ? new TextDecoder().decode(await store.objects.whole(sessionKey)) : undefined;
  };

  async function lockMain(holder?: string): Promise<StoreLock> {
    const held = await store.lock(holder);
    const session = node.crypto.randomBytes(6).toString("hex");
    await store.objects.put(sessionKey, session).catch(async (error: unknown) => {
      await held.release().catch(() => undefined);
      throw error;
    });
    const begin = async (name: string): Promise<CheckpointWriter> => {
      const writer = await held.begin(name);
      const missing = async (): Promise<readonly number[]> => {
        const others = Array.from({ length: ranks - 1 }, (_, r) => r + 1);
        const lists = await Promise.all(others.map((r) => storeOfRank(store, r).list()));
        return others.filter((r) => !lists[r - 1]?.includes(`${name}.${session}`));
      };
      const commit = async (): Promise<void> => {
        const complete = await until(patience, async () => (await missing()).length === 0, pauseOnS3);
        if (!complete) throw lostRanks(store.path(name), await missing(), ranks);
        const file = await writer.file(ranksFile);
        await file.write(new TextEncoder().encode(JSON.stringify({ ranks, session } satisfies RanksRecord)));
        await file.close();
        await writer.commit();
      };
      return { ...writer, commit };
    };
    return { ...held, begin };
  }

  async function lockRank(holder?: string): Promise<StoreLock> {
    const held = await own.lock(holder);
    const begin = async (name: string): Promise<CheckpointWriter> => {
      let session: string | undefined;
      const taken = async (): Promise<boolean> => {
        session = await readSession();
        return session !== undefined;
      };
      if (!(await until(patience, taken, pauseOnS3))) throw notTaken(store.location);
      const whole = await store.list();
      for (const part of await own.list()) {
        const at = part.lastIndexOf(".");
        const [of, by] = [part.slice(0, at), part.slice(at + 1)];
        if (!whole.includes(of) || (await recordOf(store, of))?.session !== by) await held.remove(part);
      }
      const writer = await held.begin(`${name}.${session}`);
      const commit = async (): Promise<void> => {
        await writer.commit();
        const committed = async (): Promise<boolean> => {
          if ((await recordOf(store, name))?.session === session) return true;
          if ((await readSession()) !== session) throw givenUp(store.path(name));
          return false;
        };
        if (!(await until(2 * patience, committed, pauseOnS3))) throw givenUp(store.path(name));
      };
      return { ...writer, commit };
    };
    // Rank 0 decides what is removed: parts without a whole are removed as the next one is begun.
    return { ...held, begin, remove: async () => undefined };
  }

  const lock = rank === 0 ? lockMain : lockRank;
  const at = parts[rank] as (typeof parts)[number];
  return { location: store.location, list: store.list, ...at, lock, partsOf: async () => parts };
}

const lostRanks = (path: string, lost: readonly number[], ranks: number): EspalierError =>
  new EspalierError("RANKS_MISSING", `${path}: rank ${lost.join(", ")} of ${ranks} wrote no part of it`, {
    fix: "see what became of that process; the checkpoints before this one are whole",
  });

const notTaken = (location: string): EspalierError =>
  new EspalierError("RANKS_MISSING", `rank 0 has not taken ${location}`, {
    fix: "start rank 0 too, with the same directory",
  });

/** The number of ranks that wrote a checkpoint: 1 where it has no parts. Parts that are lost count too. */
export async function ranksOf(store: Pick<CheckpointStore, "path">, name: string): Promise<number> {
  if (isS3Store(store)) return (await recordOf(store, name))?.ranks ?? 1;
  const path = store.path(name);
  // Other stores are for one rank.
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
  const names = (await store.list()).filter(looked);
  const counts = await Promise.all(names.map((name) => ranksOf(store, name)));
  for (const [i, name] of names.entries()) {
    const saved = counts[i] as number;
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
 * Checkpoints in a directory or on S3, whether one process or several ranks wrote them, to be read, verified and removed
 * as wholes. Of several ranks the states are those of rank 0; verifying looks at the parts of all.
 *
 * @example
 * ```ts
 * const problems = await new CheckpointManager({ store: anyRanksStore("runs/two") }).verify(name);
 * ```
 */
export function anyRanksStore(directory: string): PartedStore {
  const whole = storeAt(directory);
  const partOf = (rank: number) => (isS3Store(whole) ? partOnS3(whole, rank) : partIn(whole, rank));
  return {
    ...whole,
    open: async (name) => ((await ranksOf(whole, name)) === 1 ? whole.open(name) : partOf(0).open(name)),
    partsOf: async (name) => {
      const ranks = await ranksOf(whole, name);
      return ranks === 1 ? [whole] : Array.from({ length: ranks }, (_, rank) => partOf(rank));
    },
    lock: async (holder) => {
      const held = await whole.lock(holder);
      return {
        ...held,
        begin: async () => {
          throw new EspalierError("STORE_READ_ONLY", `${whole.location} is open for reading and removing`, {
            fix: "write with localStore or s3Store",
          });
        },
        remove: async (name) => {
          const record = isS3Store(whole) ? await recordOf(whole, name) : undefined;
          await held.remove(name);
          for (let rank = 1; isS3Store(whole) && record && rank < record.ranks; rank++) {
            const part = await storeOfRank(whole, rank).lock(holder);
            await part.remove(`${name}.${record.session}`).finally(() => part.release());
          }
        },
      };
    },
  };
}
