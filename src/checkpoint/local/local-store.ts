import { randomBytes } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { EspalierError } from "../../core/index.ts";
import { alreadyThere, checkName } from "../store/names.ts";
import type { CheckpointStore, StoreLock } from "../store/store.ts";
import { trying } from "./failure.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { isLeftover, takeLock, temporaryPrefix } from "./lock.ts";
import { type Processes, systemProcesses } from "./processes.ts";
import { localFile } from "./stored-file.ts";
import { writeCheckpoint } from "./writer.ts";

/** Options of {@link localStore}. */
export interface LocalStoreOptions {
  /** Takes the place of processes of other machines, of which nobody here can tell whether they still run. */
  readonly takeOver?: boolean;
  /** Another file system, for tests. Files are then written and hashed on this thread. */
  readonly fs?: FileSystem;
  /** Other processes, for tests. */
  readonly processes?: Processes;
}

/**
 * Checkpoints in a directory: each a directory of its own, written beside its final name, made to last, renamed once.
 * What is there under its name is whole, whenever power fails or the process is killed.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: localStore("runs/mnist") });
 * ```
 */
export function localStore(directory: string, options: LocalStoreOptions = {}): CheckpointStore {
  const root = resolve(directory);
  const { fs = nodeFileSystem, takeOver = false } = options;
  const processes = options.processes ?? systemProcesses();
  const threads = options.fs === undefined;
  const path = (name: string): string => join(root, name);

  const list = (): Promise<readonly string[]> =>
    trying("listing", root, async () => (await fs.list(root)).filter((name) => !name.startsWith(".")));

  const temporary = (name: string): string =>
    path(`${temporaryPrefix}${name}-${processes.self.pid}-${randomBytes(6).toString("hex")}`);

  async function lock(holder = "a writer of checkpoints"): Promise<StoreLock> {
    const token = randomBytes(6).toString("hex");
    const held = await trying("locking", root, async () => {
      const first = await fs.makeDirectory(root);
      if (first !== undefined) await syncDown(fs, first, root);
      return takeLock(fs, root, { processes, holder, token, takeOver });
    });
    let released = false;
    const check = (name: string): void => {
      checkName(name);
      if (released) throw new EspalierError("STORE_RELEASED", `the lock on ${root} has been released`);
    };
    // With the lock, no other process writes here: what is half-written was left behind.
    const cleaned = await trying("tidying", root, async () => {
      const leftovers = (await fs.list(root)).filter((name) => isLeftover(name, processes));
      for (const name of leftovers) await fs.remove(path(name));
      return leftovers;
    }).catch(async (error: unknown) => {
      await held.release().catch(() => undefined);
      throw error;
    });
    return {
      cleaned,
      begin: async (name) => {
        check(name);
        return trying("writing", path(name), async () => {
          if ((await fs.list(root)).includes(name)) throw alreadyThere(path(name));
          return writeCheckpoint({ fs, threads, root, from: temporary(name), to: path(name) });
        });
      },
      remove: async (name) => {
        check(name);
        await trying("removing", path(name), async () => {
          if (!(await fs.list(root)).includes(name)) return;
          // Out of sight first, so that it is never seen in parts.
          const out = temporary(name);
          await fs.rename(path(name), out);
          await fs.syncDirectory(root);
          await fs.remove(out);
        });
      },
      release: async () => {
        if (released) return;
        released = true;
        await trying("unlocking", root, () => held.release());
      },
    };
  }

  return {
    location: root,
    path,
    list,
    open: async (name) => {
      checkName(name);
      return {
        file: (file) => {
          checkName(file);
          return localFile(fs, threads, join(path(name), file));
        },
      };
    },
    lock,
  };
}

/** Makes new directories last, from the first that was made down to the last. */
async function syncDown(fs: FileSystem, first: string, last: string): Promise<void> {
  if (first !== last && dirname(last) !== last) await syncDown(fs, first, dirname(last));
  await fs.syncDirectory(dirname(last));
}
