import fs from "node:fs";

/**
 * The part of node:fs that sinks write files with: injected, so that a full disk can be tested without one. In types of
 * its own, because it is part of the package's types, which stand without those of Node.
 */
export interface SinkFiles {
  openSync(path: string, flags: string | number, mode?: number): number;
  closeSync(file: number): void;
  readSync(file: number, into: Uint8Array, offset: number, length: number, position: number): number;
  writeSync(file: number, bytes: Uint8Array, offset: number, length: number, position?: number): number;
  fstatSync(file: number): { readonly size: number };
  ftruncateSync(file: number, size?: number): void;
  mkdirSync(path: string, options: { readonly recursive: true }): string | undefined;
  renameSync(from: string, to: string): void;
  rmSync(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): void;
  existsSync(path: string): boolean;
}

export const systemFiles: SinkFiles = fs;

/** For reading and writing anywhere in a file, which is made where there is none. */
export const READ_WRITE: number = fs.constants.O_RDWR | fs.constants.O_CREAT;

/** Writes all of `bytes` at `position`: one call may write less. */
export function writeAll(files: SinkFiles, file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; )
    at += files.writeSync(file, bytes, at, bytes.length - at, position + at);
}

/** Cuts a file off, if that can be done. */
export function tryCut(files: SinkFiles, file: number, size: number): void {
  try {
    files.ftruncateSync(file, size);
  } catch {
    // For those who write at known places: what lies beyond is written over, or cut off by a next process.
  }
}
