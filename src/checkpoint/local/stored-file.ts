import { createHash } from "node:crypto";
import type { StoredFile } from "../store/store.ts";
import { trying } from "./failure.ts";
import type { FileSystem } from "./file-system.ts";
import { type HashedReader, hashedReader } from "./hashed.ts";
import { piece } from "./thread.ts";
import { openOnThread } from "./threaded-files.ts";
import { readExactly } from "./whole-file.ts";

/** Opens a file of a checkpoint for reading. */
export async function localFile(fs: FileSystem, threads: boolean, path: string): Promise<StoredFile> {
  const file = await trying("opening", path, () => fs.open(path));
  const inOrder = async (): Promise<HashedReader> =>
    threads ? openOnThread(path) : hashedReader(await fs.open(path), createHash("sha256"), piece);
  return {
    size: file.size,
    read: (from, length, into) => trying("reading", path, () => readExactly(file, from, length, into)),
    readHashed: (lengths, take) =>
      trying("reading", path, async () => {
        const reader = await inOrder();
        let sha256 = "";
        try {
          // One is on its way while the one before is taken, in two memories that take turns.
          const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
          const two = [0, 1].map(() => (threads ? new SharedArrayBuffer(longest) : new ArrayBuffer(longest)));
          const place = (i: number) => new Uint8Array(two[i % 2] as ArrayBufferLike, 0, lengths[i]);
          let coming = lengths.length > 0 ? reader.next(place(0)) : undefined;
          for (let i = 0; i < lengths.length; i++) {
            await coming;
            if (i + 1 < lengths.length) {
              coming = reader.next(place(i + 1));
              coming.catch(() => undefined);
            }
            take(place(i), i);
          }
        } finally {
          sha256 = await reader.finish();
        }
        return sha256;
      }),
    hash: () =>
      trying("reading", path, async () => {
        const reader = await inOrder();
        let sha256 = "";
        try {
          await reader.rest();
        } finally {
          sha256 = await reader.finish();
        }
        return sha256;
      }),
    close: () => file.close(),
  };
}
