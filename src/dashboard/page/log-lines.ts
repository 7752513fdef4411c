// The part of a log that the page holds: parts that follow one another in the file, oldest first. Offsets are those of
// the server: a line as it is shown may have other bytes than in the file.
import type { LogPart } from "../api.ts";

/** The most lines that are held, and so are elements of the page. */
export const mostLines = 5000;

/** Adds a newer part. The same where it is held already; undefined where lines before it are missing. */
export function withNewer(held: readonly LogPart[], part: LogPart): readonly LogPart[] | undefined {
  const end = held.at(-1)?.to;
  if (end !== undefined && part.to <= end) return held;
  if (end !== undefined && part.from !== end) return undefined;
  const parts = [...held, part];
  let count = parts.reduce((sum, { lines }) => sum + lines.length, 0);
  // The oldest go, where there are too many.
  while (parts.length > 1 && count > mostLines) count -= parts.shift()?.lines.length ?? 0;
  return parts.length > 1 ? parts : [{ ...part, lines: part.lines.slice(-mostLines) }];
}
