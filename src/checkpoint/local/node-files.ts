import type { open } from "node:fs/promises";
import type { ReadableFile, WritableFile } from "./file-system.ts";

/**
 * Files of this machine. The text of this function also runs in worker threads: it uses nothing but its argument and
 * what JavaScript itself has.
 */
export function nodeFiles(openFile: typeof open): {
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
      const handle = await openFile(path, "r");
      const { size } = await handle.stat();
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
