import type { Transferable } from "node:worker_threads";
import { codeOf, node, ThreadCalls } from "../../core/index.ts";
import { startThread } from "../../engine/index.ts";
import {
  type Commit,
  commitDirectory,
  nodeFileSystem,
  type Renaming,
  removeDirectory,
} from "./file-system.ts";
import type { FileCalls, FileRequest, MemoryAt } from "./file-thread-main.ts";
import { type HashedReader, type HashedWriter, hashedReader, hashedWriter, hashOf } from "./hashed.ts";

// Files are written, read and hashed on threads of their own, so that training goes on beside it:
//
//   main thread                         file thread (file-thread-main.ts)
//   write(block)          ----------->  hashes it while the system writes it; every 64 MB fsync
//                         <-----------  done: there is room for another
//   writeInPlace(memory)  ----------->  views the engine's memory by its address, no copy
//   close()               ----------->  fsync, { bytes, sha256 }
//   remove(names)         ----------->  another name, fsync of the one above, its files
//   commit(names, files)  ----------->  small files, fsync of each and of the directory, its final name, fsync above
//
// In a bundle that cannot find the thread's file the same is done on the main thread.

/** Bytes that may be on their way to the disk: enough that neither side waits, little beside a model. */
const window = 32 * 1024 * 1024;

/** Creates a file for writing. Writes return while there is room; the next call tells of a failure. */
export async function createHashed(path: string): Promise<HashedWriter> {
  const thread = fileThread();
  if (!thread) return hashedWriter(await nodeFileSystem.create(path));
  const file = thread.file();
  await file("create", path);
  const underWay: { readonly bytes: number; readonly done: Promise<unknown> }[] = [];
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  let sees: Promise<boolean> | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
  };
  const untilBelow = async (limit: number): Promise<void> => {
    for (let first = underWay[0]; first && bytes > limit; first = underWay[0]) {
      await first.done;
      bytes -= first.bytes;
      underWay.shift();
    }
  };
  return {
    write: async (chunk) => {
      if (failure) throw failure.error;
      const part = ownMemory(chunk);
      const size = part.byteLength;
      const done = file("write", part, part.buffer instanceof ArrayBuffer ? [part.buffer] : []);
      done.catch(fail);
      underWay.push({ bytes: size, done });
      bytes += size;
      await untilBelow(window);
    },
    writeInPlace: async ({ address, viewer, release }, size) => {
      const at: MemoryAt = { viewer, address, bytes: size };
      sees ??= file("sees", at).catch(() => false);
      if (failure || !(await sees)) return false;
      const done = file("writeAt", at).finally(release);
      done.catch(fail);
      // It takes no memory of its own: it is waited for at the end only.
      underWay.push({ bytes: 0, done });
      return true;
    },
    close: async () => {
      for (const { done } of underWay) await done;
      return file("close");
    },
    abandon: () => file("abandon"),
  };
}

/** Does `commitDirectory` there. */
export async function commitOnThread(commit: Commit): Promise<void> {
  const thread = fileThread();
  if (!thread) return commitDirectory(nodeFileSystem, commit);
  const moved = commit.files
    .map(({ bytes }) => bytes.buffer)
    .filter((buffer) => buffer instanceof ArrayBuffer);
  await thread.file()("commit", commit, moved);
}

/** Does `removeDirectory` there. */
export async function removeOnThread(names: Renaming): Promise<void> {
  const thread = fileThread();
  await (thread ? thread.file()("remove", names) : removeDirectory(nodeFileSystem, names));
}

/** Opens a file for reading from its beginning to its end. `next` of a file thread fills shared memory only. */
export async function openHashed(path: string): Promise<HashedReader> {
  const thread = fileThread();
  if (!thread) return hashedReader(await nodeFileSystem.open(path));
  const file = thread.file();
  await file("open", path);
  return {
    next: (into) => file("next", into),
    rest: () => file("rest"),
    finish: () => file("finish"),
  };
}

/** The sha256 of a file. */
export const hashFile = async (path: string): Promise<string> =>
  hashOf(await openHashed(path), (reader) => reader.rest());

/** Memory that can be moved to another thread: a copy only of what is a part of a larger one. */
export function ownMemory(chunk: Uint8Array): Uint8Array {
  const whole = chunk.buffer instanceof SharedArrayBuffer || chunk.byteLength === chunk.buffer.byteLength;
  return whole ? chunk : new Uint8Array(chunk);
}

/** Asks the thread to do something with one file. */
type FileCall = <C extends keyof FileCalls>(
  call: C,
  argument?: Parameters<FileCalls[C]>[0],
  moved?: readonly Transferable[],
) => Promise<Awaited<ReturnType<FileCalls[C]>>>;

/** A thread that works on files. It keeps the process alive only while it is waited for. */
export class FileThread extends ThreadCalls<FileRequest, unknown> {
  #files = 0;

  constructor() {
    super(startThread("checkpoint/store/file-thread-main", { name: "espalier-files" }));
  }

  /** Calls about one new file. */
  file(): FileCall {
    const file = this.#files++;
    return (call, argument, moved = []) => this.make({ file, call, argument }, moved);
  }
}

const threads: FileThread[] = [];
let missing = false;

/**
 * The thread that has least to do; a new one while all are busy and there are processors for more. Undefined where the
 * thread's file cannot be found.
 */
function fileThread(): FileThread | undefined {
  if (missing) return undefined;
  for (let i = threads.length - 1; i >= 0; i--) if (threads[i]?.ended) threads.splice(i, 1);
  const [least] = [...threads].sort((a, b) => a.busy - b.busy);
  if (least && (least.busy === 0 || threads.length >= Math.min(4, node.os.availableParallelism())))
    return least;
  try {
    const fresh = new FileThread();
    threads.push(fresh);
    return fresh;
  } catch (error) {
    if (codeOf(error) !== "THREAD_MISSING") throw error;
    missing = true;
    return undefined;
  }
}
