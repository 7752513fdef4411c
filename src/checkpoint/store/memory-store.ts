import { EspalierError } from "../../core/index.ts";
import {
  alreadyThere,
  type CheckpointStore,
  type CheckpointWriter,
  checkName,
  fileInMemory,
  missingFile,
  sha256Of,
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
        return fileInMemory(bytes, `${path(name)}/${file}`);
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
          return { bytes: bytes.length, sha256: sha256Of(bytes) };
        },
      };
    },
    commit: async () => commit(files),
    abort: async () => files.clear(),
  };
}
