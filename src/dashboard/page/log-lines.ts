// The part of a log that the page holds: parts that follow one another in the file, oldest first. Offsets are those of
// the server: a line as it is shown may have other bytes than in the file.
import type { LogPart } from "../api.ts";

export type LogWindow = readonly LogPart[];

/** The most lines that are held, and so are elements of the page. */
export const mostLines = 5000;

/** Adds a newer part. The same where it is held already; undefined where lines before it are missing. */
export function withNewer(held: LogWindow, part: LogPart): LogWindow | undefined {
  const end = held.at(-1)?.to;
  if (end !== undefined && part.to <= end) return held;
  if (end !== undefined && part.from !== end) return undefined;
  const parts = [...held, part];
  // The oldest go, where there are too many.
  for (let count = countLines(parts); parts.length > 1 && count > mostLines; )
    count -= parts.shift()?.lines.length ?? 0;
  return parts.length > 1 ? parts : [{ ...part, lines: part.lines.slice(-mostLines) }];
}

/** Adds an older part. The newest go, where there are too many. */
export function withOlder(held: LogWindow, part: LogPart): LogWindow {
  if (part.to !== held[0]?.from) return held;
  const parts = [part, ...held];
  for (let count = countLines(parts); parts.length > 1 && count > mostLines; )
    count -= parts.pop()?.lines.length ?? 0;
  return parts.length > 1 ? parts : [{ ...part, lines: part.lines.slice(-mostLines) }];
}

const countLines = (parts: LogWindow): number => parts.reduce((sum, { lines }) => sum + lines.length, 0);

/** All lines, each with a name that stays its own while it is held. */
export const linesIn = (held: LogWindow): readonly { readonly key: string; readonly text: string }[] =>
  held.flatMap(({ lines, from }) => lines.map((text, i) => ({ key: `${from}-${i}`, text })));
