import type { SinkFiles } from "./files.ts";

const NEWLINE = 10;
const BLOCK = 1 << 18;

/** A line without its end, and where in the file the next one begins. */
export interface WholeLine {
  readonly text: string;
  readonly next: number;
}

/** The lines of an open file between two places, a block at a time. What no newline ends is not a line. */
export function* wholeLines(
  files: Pick<SinkFiles, "readSync">,
  file: number,
  from: number,
  to: number,
): Generator<WholeLine, void, undefined> {
  const block = Buffer.alloc(Math.max(1, Math.min(BLOCK, to - from)));
  let begun: Buffer[] = [];
  for (let at = from; at < to; ) {
    const got = files.readSync(file, block, 0, Math.min(block.length, to - at), at);
    if (got === 0) return;
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0 && end < got; end = block.indexOf(NEWLINE, start)) {
      const text = Buffer.concat([...begun, block.subarray(start, end)]).toString();
      begun = [];
      start = end + 1;
      yield { text, next: at + start };
    }
    begun.push(Buffer.from(block.subarray(start, got)));
    at += got;
  }
}
