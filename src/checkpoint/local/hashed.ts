import type { FileRecord, FileWriter } from "../store/store.ts";
import type { ReadableFile, WritableFile } from "./file-system.ts";

/** The part of node's hashes that is used here. */
export interface Hashing {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

/** Writes a file from its beginning and hashes on the way. */
export interface HashedWriter {
  /** See `FileWriter`. */
  readonly lend?: FileWriter["lend"];
  readonly writeInPlace?: FileWriter["writeInPlace"];
  write(chunk: Uint8Array): Promise<void>;
  close(): Promise<FileRecord>;
  /** Closes without making it last. */
  abandon(): Promise<void>;
}

/** Reads a file from its beginning and hashes on the way. */
export interface HashedReader {
  /** Fills this with the next bytes. */
  next(into: Uint8Array): Promise<void>;
  /** Reads and hashes what is left, and keeps none of it. */
  rest(): Promise<void>;
  /** Closes; the hash of what was read. */
  finish(): Promise<string>;
}

// The texts of the two functions below also run in worker threads: they use nothing but their arguments and what
// JavaScript itself has.

/**
 * Hashes each piece while the system writes it, on another thread. The disk is set to work every so many bytes, not
 * only at the end, when there would be nothing else to do but to wait for it.
 */
export function hashedWriter(file: WritableFile, hash: Hashing, piece: number): HashedWriter {
  const syncEvery = 16 * piece;
  let bytes = 0;
  let synced = 0;
  let syncing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  return {
    async write(chunk) {
      if (failure) throw failure.error;
      try {
        for (let at = 0; at < chunk.byteLength; at += piece) {
          const part = chunk.subarray(at, Math.min(at + piece, chunk.byteLength));
          const writing = file.write(part, bytes);
          hash.update(part);
          for (let done = await writing; done < part.byteLength; ) {
            const more = await file.write(part.subarray(done), bytes + done);
            if (more === 0) throw Object.assign(new Error("nothing more was taken"), { code: "ENOSPC" });
            done += more;
          }
          bytes += part.byteLength;
          if (bytes - synced >= syncEvery && !syncing) {
            synced = bytes;
            syncing = file.sync().then(
              () => {
                syncing = undefined;
              },
              (error: unknown) => {
                failure ??= { error };
              },
            );
          }
        }
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
    async close() {
      await syncing;
      if (failure) throw failure.error;
      await file.sync();
      await file.close();
      return { bytes, sha256: hash.digest("hex") };
    },
    async abandon() {
      await syncing;
      await file.close();
    },
  };
}

/** Hashes each piece while the system reads the next, on another thread. */
export function hashedReader(file: ReadableFile, hash: Hashing, piece: number): HashedReader {
  let at = 0;
  const fill = async (part: Uint8Array, from: number): Promise<void> => {
    for (let done = 0; done < part.byteLength; ) {
      const more = await file.read(part.subarray(done), from + done);
      if (more === 0) throw Object.assign(new Error("the file ended early"), { code: "TRUNCATED" });
      done += more;
    }
  };
  return {
    async next(into) {
      const { length } = into;
      let reading = fill(into.subarray(0, piece), at);
      for (let from = 0; from < length; from += piece) {
        await reading;
        if (from + piece < length) {
          reading = fill(into.subarray(from + piece, from + 2 * piece), at + from + piece);
          // Awaited in the next turn; a failure before that is not an unhandled one.
          reading.catch(() => undefined);
        }
        hash.update(into.subarray(from, from + piece));
      }
      await reading;
      at += length;
    },
    async rest() {
      const size = Math.min(piece, file.size - at);
      const two = [new Uint8Array(size), new Uint8Array(size)];
      const part = (i: number): Uint8Array =>
        (two[i % 2] as Uint8Array).subarray(0, Math.min(piece, file.size - at - i * piece));
      let reading = fill(part(0), at);
      for (let i = 0; at + i * piece < file.size; i++) {
        await reading;
        if (at + (i + 1) * piece < file.size) {
          reading = fill(part(i + 1), at + (i + 1) * piece);
          reading.catch(() => undefined);
        }
        hash.update(part(i));
      }
      await reading;
      at = file.size;
    },
    async finish() {
      await file.close();
      return hash.digest("hex");
    },
  };
}
