import { EspalierError, hex, sha256 } from "../../core/index.ts";
import {
  alreadyThere,
  type CheckpointStore,
  type CheckpointWriter,
  checkName,
  missingFile,
  type StoredFile,
} from "./store.ts";

/**
 * A store in this process's memory, for tests.
 *
 * @example
 * ```ts
 * const manager = new CheckpointManager({ store: memoryStore() });
 * ```
 */
export function memoryStore(): CheckpointStore {
  const checkpoints = new Map<string, ReadonlyMap<string, Uint8Array>>();
  let holder: string | undefined;
  const path = (name: string): string => `memory/${name}`;
  return {
    location: "memory",
    path,
    list: async () => [...checkpoints.keys()],
    open: async (name) => ({
      file: async (file) => {
        const bytes = checkpoints.get(name)?.get(file);
        if (!bytes) throw missingFile(`${path(name)}/${file}`);
        return storedFile(bytes, `${path(name)}/${file}`);
      },
    }),
    lock: async (asked = "another lock") => {
      if (holder !== undefined)
        throw new EspalierError("STORE_LOCKED", `this store in memory is held by ${holder}`);
      holder = asked;
      let held = true;
      const check = (): void => {
        if (!held) throw new EspalierError("STORE_RELEASED", "the lock on this store has been released");
      };
      return {
        cleaned: [],
        begin: async (name) => {
          check();
          checkName(name);
          if (checkpoints.has(name)) throw alreadyThere(path(name));
          return writer((files) => checkpoints.set(name, files));
        },
        remove: async (name) => {
          check();
          checkpoints.delete(name);
        },
        release: async () => {
          if (held) holder = undefined;
          held = false;
        },
      };
    },
  };
}

function writer(commit: (files: ReadonlyMap<string, Uint8Array>) => void): CheckpointWriter {
  const files = new Map<string, Uint8Array>();
  return {
    file: async (name) => {
      checkName(name);
      const chunks: Uint8Array[] = [];
      return {
        write: async (chunk) => void chunks.push(Uint8Array.from(chunk)),
        close: async () => {
          const bytes = Buffer.concat(chunks);
          files.set(name, bytes);
          return { bytes: bytes.length, sha256: hashOf(bytes) };
        },
      };
    },
    commit: async () => commit(files),
    abort: async () => files.clear(),
  };
}

const hashOf = (bytes: Uint8Array): string => hex(sha256().update(bytes).digest());

function storedFile(bytes: Uint8Array, path: string): StoredFile {
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
      return hashOf(bytes);
    },
    hash: async () => hashOf(bytes),
    close: async () => undefined,
  };
}
