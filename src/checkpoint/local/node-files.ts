import type { open } from "node:fs/promises";
import type { ReadableFile, WritableFile } from "./file-system.ts";

/**
 * Files of this machine. The text of this function also runs in worker threads: it uses nothing but its arguments and
 * what JavaScript itself has. `readFlags` open a file for reading without waiting for the other end of a pipe.
 */
export function nodeFiles(
  openFile: typeof open,
  readFlags: number,
): {
  create(path: string): Promise<WritableFile>;
  open(path: string): Promise<ReadableFile>;
} {
  return {
    async create(path) {
      const handle = await openFile(path, "wx");
      return {
        async write(bytes, position) {
          return (await handle.write(bytes, 0, bytes.byteLength, position)).bytesWritten;
        },
        async sync() {
          await handle.sync();
        },
        async close() {
          await handle.close();
        },
      };
    },
    async open(path) {
      const handle = await openFile(path, readFlags);
      const found = await handle.stat();
      // A pipe would never give an end, a device anything at all.
      if (!found.isFile()) {
        await handle.close();
        const kind = found.isDirectory() ? "a directory" : found.isFIFO() ? "a pipe" : "a device";
        throw Object.assign(new Error(`it is ${kind}, not a regular file`), { code: "NOT_REGULAR" });
      }
      const { size } = found;
      return {
        size,
        async read(target, position) {
          return (await handle.read(target, 0, target.byteLength, position)).bytesRead;
        },
        async close() {
          await handle.close();
        },
      };
    },
  };
}
