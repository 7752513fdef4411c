import fs from "node:fs";
import type { SinkFiles } from "./files.ts";

export interface FaultyFiles extends SinkFiles {
  /** The next writes fail, each after this many bytes of it. */
  fail(bytes: number, times?: number): void;
  /** Cutting files off fails so many times. */
  failCut(times?: number): void;
  /** Opening files fails so many times. */
  failOpen(times?: number): void;
}

const noSpace = (): Error =>
  Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

const readOnly = (): Error =>
  Object.assign(new Error("EROFS: read-only file system, open"), { code: "EROFS" });

/** The machine's files on a disk that is full or read-only when told so. */
export function faultyFiles(): FaultyFiles {
  let [writes, opens, cuts, allowed, begun] = [0, 0, 0, 0, false];
  const writeSync = (file: number, bytes: Uint8Array, from: number, length: number, at: number): number => {
    if (writes === 0) return fs.writeSync(file, bytes, from, length, at);
    if (!begun && allowed > 0) {
      begun = true;
      return fs.writeSync(file, bytes, from, Math.min(length, allowed), at);
    }
    begun = false;
    writes--;
    throw noSpace();
  };
  return {
    ...fs,
    openSync(...args) {
      if (opens === 0) return fs.openSync(...args);
      opens--;
      throw readOnly();
    },
    ftruncateSync(...args) {
      if (cuts === 0) return fs.ftruncateSync(...args);
      cuts--;
      throw noSpace();
    },
    writeSync: writeSync as typeof fs.writeSync,
    fail(bytes, times = 1) {
      [allowed, writes, begun] = [bytes, times, false];
    },
    failCut(times = 1) {
      cuts = times;
    },
    failOpen(times = 1) {
      opens = times;
    },
  };
}
