import { crc32 } from "node:zlib";
import type { SinkFiles } from "../files.ts";
import { BLOCK, CHUNK_HEADER, chunk, FILE_HEADER } from "./log-file.ts";

/**
 * The records of a `.wandb` file, up to its end or to the first that is not whole: a process that was killed leaves
 * one. A record's memory is the reader's only until the next one.
 */
export function* readLog(
  files: Pick<SinkFiles, "openSync" | "readSync" | "closeSync">,
  path: string,
): Generator<Buffer, void, undefined> {
  const file = files.openSync(path, "r");
  try {
    const block = Buffer.alloc(BLOCK);
    let parts: Buffer[] = [];
    for (let position = 0; ; position += BLOCK) {
      const size = fill(files, file, block, position);
      let at = 0;
      if (position === 0) {
        if (!block.subarray(0, FILE_HEADER.length).equals(FILE_HEADER)) return;
        at = FILE_HEADER.length;
      }
      for (; size - at >= CHUNK_HEADER && BLOCK - at >= CHUNK_HEADER; ) {
        const start = at + CHUNK_HEADER;
        const end = start + block.readUInt16LE(at + 4);
        if (end > size || block.readUInt32LE(at) !== crc32(block.subarray(start - 1, end))) return;
        const kind = block[start - 1];
        if (kind === chunk.whole || kind === chunk.first) parts = [];
        parts.push(
          kind === chunk.whole ? block.subarray(start, end) : Buffer.from(block.subarray(start, end)),
        );
        if (kind === chunk.whole || kind === chunk.last)
          yield parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
        at = end;
      }
      if (size < BLOCK) return;
    }
  } finally {
    files.closeSync(file);
  }
}

/** Reads as much as there is. */
function fill(files: Pick<SinkFiles, "readSync">, file: number, block: Buffer, position: number): number {
  let size = 0;
  for (let got = -1; got !== 0 && size < block.length; size += got)
    got = files.readSync(file, block, size, block.length - size, position + size);
  return size;
}
