import { constants } from "node:fs";
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { nodeFiles } from "./node-files.ts";

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

/** What the local store asks of a file system. Tests bring one that fails where they want it to. */
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

/** Windows has no O_NONBLOCK, and no pipes among its files. */
export const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The machine's own file system. */
export const nodeFileSystem: FileSystem = {
  ...nodeFiles(open, readFlags),
  makeDirectory: (path) => mkdir(path, { recursive: true }),
  list: async (path) => {
    try {
      return await readdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  },
  rename,
  remove: (path) => rm(path, { recursive: true, force: true }),
  syncDirectory: async (path) => {
    // Windows cannot open directories, and keeps their names by itself.
    if (process.platform === "win32") return;
    const directory = await open(path, "r");
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
};
