import { EspalierError, makeDirectory } from "../../core/index.ts";
import { missingFile } from "./store.ts";

/** A file being written. */
export interface WritableFile {
  /** Writes at a position; gives how many bytes were taken, which may be fewer. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** Returns once what was written survives a loss of power. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file being read. */
export interface ReadableFile {
  readonly size: number;
  /** Fills from a position; gives how many bytes there were. */
  read(target: Uint8Array, position: number): Promise<number>;
  close(): Promise<void>;
}

/** A file system, as the local store uses it. Tests bring one that fails on demand. */
export interface FileSystem {
  /** Makes it and what lies above it; no error where it is there. Gives the first that was made, if any. */
  makeDirectory(path: string): Promise<string | undefined>;
  /** Names in a directory; none where it is not there. */
  list(path: string): Promise<readonly string[]>;
  /** A new file; one that is there already is an error. */
  create(path: string): Promise<WritableFile>;
  /** A regular file, to be read; a pipe, a device or a directory is an error with the code NOT_REGULAR. */
  open(path: string): Promise<ReadableFile>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a directory with all that is in it; no error where it is not there. */
  remove(path: string): Promise<void>;
  /** Returns once the names in a directory survive a loss of power. */
  syncDirectory(path: string): Promise<void>;
}

const files = () => process.getBuiltinModule("node:fs/promises");

/** The machine's own file system. */
export const nodeFileSystem: FileSystem = {
  // At once, as the list: a turn of the event loop takes longer while training goes on.
  makeDirectory: async (path) => makeDirectory(path),
  list: async (path) => {
    try {
      return process.getBuiltinModule("node:fs").readdirSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  },
  create: async (path) => {
    const handle = await files().open(path, "wx");
    return {
      write: async (bytes, position) =>
        (await handle.write(bytes, 0, bytes.byteLength, position)).bytesWritten,
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  open: async (path) => {
    // Without waiting for the other end of a pipe. Windows has no O_NONBLOCK, and no pipes among its files.
    const { O_RDONLY, O_NONBLOCK = 0 } = process.getBuiltinModule("node:fs").constants;
    const handle = await files().open(path, O_RDONLY | O_NONBLOCK);
    const found = await handle.stat();
    // A pipe would never give an end, a device anything at all.
    if (!found.isFile()) {
      await handle.close();
      const kind = found.isDirectory() ? "a directory" : found.isFIFO() ? "a pipe" : "a device";
      throw Object.assign(new Error(`it is ${kind}, not a regular file`), { code: "NOT_REGULAR" });
    }
    return {
      size: found.size,
      // At most 1 GiB: systems give no more than 2 at a time.
      read: async (target, position) =>
        (await handle.read(target, 0, Math.min(target.byteLength, 2 ** 30), position)).bytesRead,
      close: () => handle.close(),
    };
  },
  rename: (from, to) => files().rename(from, to),
  remove: (path) => files().rm(path, { recursive: true, force: true }),
  syncDirectory: async (path) => {
    // Windows cannot open directories, and keeps their names by itself.
    if (process.platform === "win32") return;
    const directory = await files().open(path, "r");
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
};

export const putJson = (fs: FileSystem, path: string, draft: string, value: object): Promise<void> =>
  putWhole(fs, path, draft, new TextEncoder().encode(JSON.stringify(value)));

/** Writes a small file so that it lasts and is never read in half: beside its name, and renamed once it is whole. */
export async function putWhole(
  fs: FileSystem,
  path: string,
  draft: string,
  bytes: Uint8Array,
): Promise<void> {
  await fs.remove(draft);
  try {
    await writeWhole(fs, { path: draft, bytes });
    await fs.rename(draft, path);
  } catch (error) {
    await fs.remove(draft).catch(() => undefined);
    throw error;
  }
}

/** A file that is in memory as a whole. */
export interface SmallFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

async function writeWhole(fs: FileSystem, { path, bytes }: SmallFile): Promise<void> {
  const file = await fs.create(path);
  try {
    await writeExactly(file, bytes, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A directory, the name that it gets, and the directory both are in, which is synced where it is given. */
export interface Renaming {
  readonly from: string;
  readonly to: string;
  readonly root?: string | undefined;
}

/** A directory that is written but for its small files. */
export interface Commit extends Renaming {
  readonly files: readonly SmallFile[];
}

/** Writes what is missing in a directory and gives it its name, so that all of it lasts. */
export async function commitDirectory(fs: FileSystem, { files, from, to, root }: Commit): Promise<void> {
  for (const file of files) await writeWhole(fs, file);
  await fs.syncDirectory(from);
  await fs.rename(from, to);
  if (root !== undefined) await fs.syncDirectory(root);
}

/** Removes a directory: first out of sight, so that it is never seen in parts. */
export async function removeDirectory(fs: FileSystem, { from, to, root }: Renaming): Promise<void> {
  await fs.rename(from, to);
  if (root !== undefined) await fs.syncDirectory(root);
  await fs.remove(to);
}

/** Writes all bytes at a position; an error where no more are taken. */
export async function writeExactly(file: WritableFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const more = await file.write(bytes.subarray(at), position + at);
    if (more === 0) throw Object.assign(new Error("nothing more was taken"), { code: "ENOSPC" });
    at += more;
  }
}

/** Reads a small file. */
export async function readWhole(fs: FileSystem, path: string): Promise<string> {
  const file = await fs.open(path);
  try {
    return new TextDecoder().decode(await readExactly(file, 0, file.size));
  } finally {
    await file.close();
  }
}

/** So many bytes from a position; an error where the file ends before. */
export async function readExactly(
  file: Pick<ReadableFile, "read">,
  from: number,
  length: number,
  bytes: Uint8Array = new Uint8Array(length),
): Promise<Uint8Array> {
  for (let at = 0; at < length; ) {
    const more = await file.read(bytes.subarray(at), from + at);
    if (more === 0) throw Object.assign(new Error("the file ended early"), { code: "TRUNCATED" });
    at += more;
  }
  return bytes;
}

const full = ["ENOSPC", "EDQUOT", "EFBIG"];
const forbidden = ["EACCES", "EPERM", "EROFS"];

/** The error of a failed operation on files, in words that say what to do. */
export function fileFailure(what: string, path: string, error: unknown): EspalierError {
  if (error instanceof EspalierError) return error;
  const { code = "", message } = error as NodeJS.ErrnoException;
  const said = (errorCode: string, words: string, fix?: string): EspalierError =>
    new EspalierError(errorCode, `${what} ${path}: ${words}`, { cause: error, ...(fix ? { fix } : {}) });
  if (full.includes(code))
    return said(
      "STORE_FULL",
      "no space is left",
      "free space, or keep fewer checkpoints; those there are untouched",
    );
  if (forbidden.includes(code))
    return said(
      "STORE_READ_ONLY",
      `it may not be written to (${code})`,
      "give a directory that can be written to",
    );
  if (["listing", "locking"].includes(what) && (code === "ENOTDIR" || code === "EEXIST"))
    return said(
      "STORE_NOT_DIRECTORY",
      code === "EEXIST" ? "it is a file" : "it is a file, or lies below one",
      "give a directory, or a path at which one can be made",
    );
  // As below /proc.
  if (what === "locking" && code === "ENOENT")
    return said(
      "STORE_NOT_DIRECTORY",
      "no directory can be made there",
      "give a directory that can be written to",
    );
  // A file where a directory should be: what is below it is missing too.
  if (code === "ENOENT" || code === "ENOTDIR") return missingFile(path, error);
  // Sockets cannot be opened at all.
  if (code === "NOT_REGULAR" || code === "ENXIO")
    return said("FILE_NOT_REGULAR", code === "ENXIO" ? "it is a socket, not a regular file" : message);
  if (code === "TRUNCATED") return said("FILE_TRUNCATED", "it ends before it should");
  return said("STORE_FAILED", message);
}

/** Does something with files; a failure is told with what was being done. */
export async function trying<T>(what: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileFailure(what, path, error);
  }
}
