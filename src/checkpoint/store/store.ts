import { EspalierError, hex, sha256 } from "../../core/index.ts";

/** A file as it was written: what a manifest says of it. */
export interface FileRecord {
  readonly bytes: number;
  readonly sha256: string;
}

/** Memory of this process that JavaScript does not own. It stays until it is released. */
export interface MemoryInPlace {
  readonly address: number;
  /** The module whose `view(address, bytes)` gives an ArrayBuffer of it, in any thread. */
  readonly viewer: string;
  release(): void;
}

/** A file being written from its beginning to its end. */
export interface FileWriter {
  /** Appends. The chunk is given away: its memory may be gone afterwards. Resolves once more can be taken. */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * @internal Appends memory without copying it: gives true, and releases it once it has been read or has failed to be.
   * Otherwise, as where it cannot be read in place, the memory is still the caller's.
   */
  writeInPlace?(memory: MemoryInPlace, bytes: number): Promise<boolean>;
  /** Makes it last and tells what it holds. A write that failed, or this, fails the file for good. */
  close(): Promise<FileRecord>;
}

/** A checkpoint being written: it is not listed before `commit`, and never changes after it. */
export interface CheckpointWriter {
  file(name: string): Promise<FileWriter>;
  /** All files have been closed. Afterwards the checkpoint is listed, whole, whatever happens to this process. */
  commit(): Promise<void>;
  /** Leaves nothing behind. May be called at any time; after `commit` it does nothing. */
  abort(): Promise<void>;
}

/** A file to read. */
export interface StoredFile {
  readonly size: number;
  /** Bytes from a position, the caller's own, or in `into`, of that length. Fewer than asked for is an error. */
  read(from: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  /**
   * The whole file once, in pieces of these lengths, which add up to its size. A piece is lent to `take` while it
   * runs: its memory, which threads may share, is used again. Gives the sha256 of what was read.
   */
  readHashed(lengths: readonly number[], take: (piece: Uint8Array, index: number) => void): Promise<string>;
  /** The sha256 of the whole file. */
  hash(): Promise<string>;
  close(): Promise<void>;
}

/** A checkpoint to read. */
export interface StoredCheckpoint {
  /** Opens a file of it; a file that is not there is an error with the code FILE_MISSING. */
  file(name: string): Promise<StoredFile>;
}

/** The right to write to a store, which one process has at a time. */
export interface StoreLock {
  /** Leftovers of writers that were killed, removed as the lock was taken. */
  readonly cleaned: readonly string[];
  begin(name: string): Promise<CheckpointWriter>;
  /** Removes a checkpoint, whole: it is never seen in parts. One that is not there is no error. */
  remove(name: string): Promise<void>;
  release(): Promise<void>;
}

/**
 * A place for checkpoints. Reading needs no lock: what is listed is whole and never changes. `checkStore` of
 * `espalier/testing` tests a store of your own.
 *
 * @example
 * ```ts
 * const lock = await store.lock("my run");
 * const writer = await lock.begin("epoch-0001-update-000040");
 * const file = await writer.file("manifest.json");
 * await file.write(bytes);
 * await file.close();
 * await writer.commit();
 * ```
 */
export interface CheckpointStore {
  /** For people: a directory, an address. */
  readonly location: string;
  /** The path of a checkpoint, for people and other programs. */
  path(name: string): string;
  /** Names of what has been committed, in any order. */
  list(): Promise<readonly string[]>;
  open(name: string): Promise<StoredCheckpoint>;
  /** Takes the right to write, or refuses with the code STORE_LOCKED, saying who has it. */
  lock(holder?: string): Promise<StoreLock>;
  /** Names that people have protected: they are not pruned. A store without this function protects none. */
  listProtected?(): Promise<readonly string[]>;
  /** Protects a checkpoint, or protects it no longer. Needs no lock. */
  protect?(name: string, isProtected: boolean): Promise<void>;
}

/** Letters, digits, `.`, `_`, `-` and `%`, not beginning with a dot: what every file system and object store takes. */
const allowed = /^[A-Za-z0-9_%-][A-Za-z0-9._%-]{0,199}$/;

export const isName = (name: string): boolean => allowed.test(name);

/** Refuses names of checkpoints and files that could leave the store or hide in it. */
export function checkName(name: string): void {
  if (isName(name)) return;
  throw new EspalierError("STORE_NAME", `"${name}" cannot be the name of a checkpoint or of a file in one`, {
    fix: "use letters, digits, dots, dashes and underscores, not beginning with a dot, at most 200",
  });
}

/** The error of a file that is not there. */
export const missingFile = (path: string, cause?: unknown): EspalierError =>
  new EspalierError("FILE_MISSING", `there is no file ${path}`, { cause });

/** The error of a checkpoint that is there already. */
export const alreadyThere = (path: string): EspalierError =>
  new EspalierError("CHECKPOINT_EXISTS", `there is a checkpoint ${path} already`, {
    fix: "choose another name: what has been committed never changes",
  });

export const sha256Of = (bytes: Uint8Array): string => hex(sha256().update(bytes).digest());

/** A file whose bytes are in memory. */
export function fileInMemory(bytes: Uint8Array, path: string): StoredFile {
  const read = (from: number, length: number, into: Uint8Array = new Uint8Array(length)): Uint8Array => {
    if (from + length > bytes.length)
      throw new EspalierError("FILE_TRUNCATED", `${path} has ${bytes.length} bytes, not ${from + length}`);
    into.set(bytes.subarray(from, from + length));
    return into;
  };
  return {
    size: bytes.length,
    read: async (from, length, into) => read(from, length, into),
    readHashed: async (lengths, take) => {
      let at = 0;
      lengths.forEach((length, i) => {
        take(read(at, length), i);
        at += length;
      });
      return sha256Of(bytes);
    },
    hash: async () => sha256Of(bytes),
    close: async () => undefined,
  };
}
