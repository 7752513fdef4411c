import { EspalierError, node } from "../../core/index.ts";
import {
  commitDirectory,
  type FileSystem,
  nodeFileSystem,
  type Renaming,
  readExactly,
  removeDirectory,
  type SmallFile,
  trying,
} from "./file-system.ts";
import { commitOnThread, createHashed, openHashed, ownMemory, removeOnThread } from "./file-threads.ts";
import { type HashedReader, type HashedWriter, hashedReader, hashedWriter, hashOf } from "./hashed.ts";
import { isLeftover, type Processes, systemProcesses, takeLock, temporaryPrefix } from "./lock.ts";
import {
  alreadyThere,
  type CheckpointStore,
  type CheckpointWriter,
  checkName,
  type StoredFile,
  type StoreLock,
  sha256Of,
} from "./store.ts";

/** Options of {@link localStore}. */
export interface LocalStoreOptions {
  /** Takes over locks of processes on other machines, which cannot be seen from here. Default: false. */
  readonly takeOver?: boolean;
  /** Another file system, for tests. Files are then written and hashed on this thread. */
  readonly fs?: FileSystem | undefined;
  /** Other processes, for tests. */
  readonly processes?: Processes | undefined;
}

/**
 * Checkpoints in a directory: each a directory of its own, written beside its final name, made to last, renamed once.
 * A checkpoint under its name is whole, whenever power fails or the process is killed.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: localStore("runs/mnist") });
 * ```
 */
export function localStore(directory: string, options: LocalStoreOptions = {}): CheckpointStore {
  const root = node.path.resolve(directory);
  const { fs = nodeFileSystem, takeOver = false } = options;
  const processes = options.processes ?? systemProcesses();
  const threads = options.fs === undefined;
  const path = (name: string): string => node.path.join(root, name);
  // A file for each checkpoint that is protected: beside them, because what has been committed never changes.
  const marks = path(".protected");

  const list = (): Promise<readonly string[]> =>
    trying("listing", root, async () => (await fs.list(root)).filter((name) => !name.startsWith(".")));

  const temporary = (name: string): string =>
    path(`${temporaryPrefix}${name}-${processes.self.pid}-${node.crypto.randomBytes(6).toString("hex")}`);

  async function lock(holder = "a writer of checkpoints"): Promise<StoreLock> {
    const token = node.crypto.randomBytes(6).toString("hex");
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
          return writeCheckpoint(fs, threads, { root, from: temporary(name), to: path(name) });
        });
      },
      remove: async (name) => {
        check(name);
        await trying("removing", path(name), async () => {
          if (!(await fs.list(root)).includes(name)) return;
          const names = { from: path(name), to: temporary(name), root };
          await (threads ? removeOnThread(names) : removeDirectory(fs, names));
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
          return localFile(fs, threads, node.path.join(path(name), file));
        },
      };
    },
    lock,
    listProtected: () => trying("listing", marks, () => fs.list(marks)),
    protect: async (name, isProtected) => {
      checkName(name);
      const mark = node.path.join(marks, name);
      await trying("protecting", path(name), async () => {
        if (!isProtected) return fs.remove(mark);
        if ((await fs.list(marks)).includes(name)) return;
        await fs.makeDirectory(marks);
        await (await fs.create(mark)).close();
        await fs.syncDirectory(marks);
      });
    },
  };
}

/** Makes new directories last, from the first that was made down to the last. */
async function syncDown(fs: FileSystem, first: string, last: string): Promise<void> {
  if (first !== last && node.path.dirname(last) !== last) await syncDown(fs, first, node.path.dirname(last));
  await fs.syncDirectory(node.path.dirname(last));
}

/** A file up to this size waits for the commit, which is done in one go: turns between its steps take long in training. */
const small = 1024 * 1024;

/**
 * Writes a checkpoint beside its final name and renames it once. `root` is left out where rank 0 syncs it for all parts.
 * With `threads` files are written on other threads.
 */
export async function writeCheckpoint(
  fs: FileSystem,
  threads: boolean,
  { from, to, root }: Renaming,
): Promise<CheckpointWriter> {
  await fs.makeDirectory(from);
  const open = new Set<HashedWriter>();
  const later: SmallFile[] = [];
  return {
    file: async (name) => {
      checkName(name);
      const path = node.path.join(from, name);
      /** All that was written so far, while that is one small part. */
      let first: Uint8Array | undefined;
      let creating: Promise<HashedWriter> | undefined;
      const create = async (): Promise<HashedWriter> => {
        const file = threads ? await createHashed(path) : hashedWriter(await fs.create(path));
        open.add(file);
        if (first) await file.write(first);
        return file;
      };
      const created = (): Promise<HashedWriter> => {
        creating ??= trying("creating", path, create);
        return creating;
      };
      return {
        ...(threads && {
          writeInPlace: async (memory, bytes) => {
            const file = await created();
            return trying("writing", path, async () => (await file.writeInPlace?.(memory, bytes)) ?? false);
          },
        }),
        write: async (chunk) => {
          if (!first && !creating && chunk.byteLength <= small) {
            first = ownMemory(chunk);
            return;
          }
          const file = await created();
          await trying("writing", path, () => file.write(chunk));
        },
        close: async () => {
          if (!creating) {
            const bytes = first ?? new Uint8Array();
            later.push({ path, bytes });
            return { bytes: bytes.byteLength, sha256: sha256Of(bytes) };
          }
          const file = await created();
          const record = await trying("closing", path, () => file.close());
          open.delete(file);
          return record;
        },
      };
    },
    commit: () =>
      trying("committing", to, async () => {
        const commit = { from, to, root, files: later };
        await (threads ? commitOnThread(commit) : commitDirectory(fs, commit));
      }),
    abort: async () => {
      for (const file of open) await file.abandon().catch(() => undefined);
      open.clear();
      await trying("removing", from, () => fs.remove(from));
    },
  };
}

/** Opens a file of a checkpoint for reading. */
async function localFile(fs: FileSystem, threads: boolean, path: string): Promise<StoredFile> {
  const file = await trying("opening", path, () => fs.open(path));
  const hashed = (read: (reader: HashedReader) => Promise<void>): Promise<string> =>
    trying("reading", path, async () =>
      hashOf(threads ? await openHashed(path) : hashedReader(await fs.open(path)), read),
    );
  return {
    size: file.size,
    read: (from, length, into) => trying("reading", path, () => readExactly(file, from, length, into)),
    readHashed: (lengths, take) =>
      hashed(async (reader) => {
        // One is on its way while the one before is taken, in two memories that take turns.
        const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
        const two = [0, 1].map(() => (threads ? new SharedArrayBuffer(longest) : new ArrayBuffer(longest)));
        const place = (i: number) => new Uint8Array(two[i % 2] as ArrayBufferLike, 0, lengths[i]);
        let coming = lengths.length > 0 ? reader.next(place(0)) : undefined;
        for (let i = 0; i < lengths.length; i++) {
          await coming;
          if (i + 1 < lengths.length) {
            coming = reader.next(place(i + 1));
            coming.catch(() => undefined);
          }
          take(place(i), i);
        }
      }),
    hash: () => hashed((reader) => reader.rest()),
    close: () => file.close(),
  };
}
