import { node } from "../../core/index.ts";
import { type ReadableFile, readExactly, type WritableFile, writeExactly } from "./file-system.ts";
import type { FileRecord, FileWriter } from "./store.ts";

/** Bytes that are hashed while the system writes or reads as many: enough for full speed, few enough to overlap. */
export const piece = 4 * 1024 * 1024;

/** The disk is set to work after this many bytes, not only at the end, when nothing is left to do but wait for it. */
const syncEvery = 16 * piece;

/** Writes a file from its beginning and hashes on the way. */
export interface HashedWriter extends FileWriter {
  /** Closes without making it last. */
  abandon(): Promise<void>;
}

/** Reads a file from its beginning and hashes on the way. */
export interface HashedReader {
  /** Fills this with the next bytes. */
  next(into: Uint8Array): Promise<void>;
  /** Reads and hashes what is left, and keeps none of it. */
  rest(): Promise<void>;
  /** Closes; the sha256 of what was read. */
  finish(): Promise<string>;
}

/** Hashes each piece while the system writes it, on a thread of its own. */
export function hashedWriter(file: WritableFile): HashedWriter {
  const hash = node.crypto.createHash("sha256");
  let bytes = 0;
  let synced = 0;
  let syncing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
  };
  const append = async (part: Uint8Array): Promise<void> => {
    const writing = writeExactly(file, part, bytes);
    hash.update(part);
    await writing;
    bytes += part.byteLength;
    if (bytes - synced < syncEvery || syncing) return;
    synced = bytes;
    syncing = file.sync().then(() => {
      syncing = undefined;
    }, fail);
  };
  return {
    async write(chunk) {
      if (failure) throw failure.error;
      try {
        for (let at = 0; at < chunk.byteLength; at += piece) await append(chunk.subarray(at, at + piece));
      } catch (error) {
        fail(error);
        throw error;
      }
    },
    async close(): Promise<FileRecord> {
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

/** Hashes each piece while the system reads the next, on a thread of its own. */
export function hashedReader(file: ReadableFile): HashedReader {
  const hash = node.crypto.createHash("sha256");
  let at = 0;
  const fill = (part: Uint8Array): Promise<unknown> => {
    const from = at;
    at += part.byteLength;
    return readExactly(file, from, part.byteLength, part);
  };
  /** Reads parts in order; each is hashed while the one after it is read. */
  const readParts = async (count: number, part: (i: number) => Uint8Array): Promise<void> => {
    let current = part(0);
    let reading = fill(current);
    for (let i = 0; i < count; i++) {
      await reading;
      const read = current;
      if (i + 1 < count) {
        current = part(i + 1);
        reading = fill(current);
        // It is awaited in the next turn: a failure before that is not an unhandled one.
        reading.catch(() => undefined);
      }
      hash.update(read);
    }
  };
  return {
    async next(into) {
      const count = Math.ceil(into.byteLength / piece);
      await readParts(count, (i) => into.subarray(i * piece, (i + 1) * piece));
    },
    async rest() {
      const left = file.size - at;
      const two = [0, 1].map(() => new Uint8Array(Math.min(piece, left)));
      const lengthOf = (i: number): number => Math.min(piece, left - i * piece);
      await readParts(Math.ceil(left / piece), (i) => (two[i % 2] as Uint8Array).subarray(0, lengthOf(i)));
    },
    async finish() {
      await file.close();
      return hash.digest("hex");
    },
  };
}

/** Reads a file in order and gives the sha256 of what was read. */
export async function hashOf(
  reader: HashedReader,
  read: (reader: HashedReader) => Promise<void>,
): Promise<string> {
  try {
    await read(reader);
  } catch (error) {
    await reader.finish().catch(() => undefined);
    throw error;
  }
  return reader.finish();
}
