// The part of a log that the page holds: lines with their offsets in the file, and what comes before and after.
import type { LogPart } from "../api.ts";

/** Lines from the offset `from` to the offset `to` of a log, each with its own offset. */
export interface LogLines {
  readonly lines: readonly { readonly at: number; readonly text: string }[];
  readonly from: number;
  readonly to: number;
}

/** The most lines that are held, and so are elements of the page. */
export const mostLines = 5000;

const sizeOf = (text: string): number => encoder.encode(text).length + 1;
const encoder = new TextEncoder();

/** The newest lines of a part. */
export const linesOf = (part: LogPart): LogLines => newest({ ...part, lines: placed(part.lines, part.to) });

/** Lines that end at an offset, with their own offsets. */
function placed(lines: readonly string[], to: number): LogLines["lines"] {
  let at = to - lines.reduce((sum, text) => sum + sizeOf(text), 0);
  return lines.map((text) => {
    const line = { at, text };
    at += sizeOf(text);
    return line;
  });
}

/**
 * Adds new lines that end at the offset `to`: only those that are not held already. Undefined where lines before them
 * are missing.
 */
export function withNewer(held: LogLines, lines: readonly string[], to: number): LogLines | undefined {
  if (to <= held.to) return held;
  const added = placed(lines, to);
  if ((added[0]?.at ?? to) > held.to) return undefined;
  return newest({ ...held, lines: [...held.lines, ...added.filter(({ at }) => at >= held.to)], to });
}

/** Adds older lines. Where that makes too many, the newest are let go. */
export function withOlder(held: LogLines, part: LogPart): LogLines {
  if (part.to > held.from) return held;
  const lines = [...placed(part.lines, part.to), ...held.lines];
  const kept = lines.slice(0, mostLines);
  return { lines: kept, from: part.from, to: lines[mostLines]?.at ?? held.to };
}

function newest(held: LogLines): LogLines {
  const lines = held.lines.slice(-mostLines);
  return lines.length === held.lines.length ? held : { ...held, lines, from: lines[0]?.at ?? held.to };
}
