import type { LogPart } from "../api.ts";

/** The most lines that are held, and so are elements of the page. */
export const mostLines = 5000;

/**
 * Adds a newer part of a log. The same where it is held already; undefined where lines before it are missing. Offsets are
 * those of the server: a line as it is shown may have other bytes than in the file.
 */
export function withNewer(held: LogPart, part: LogPart): LogPart | undefined {
  if (part.to <= held.to) return held;
  if (part.from !== held.to) return undefined;
  const lines = [...held.lines, ...part.lines];
  // Seldom: every line that is left moves.
  return { ...held, to: part.to, lines: lines.length > mostLines ? lines.slice(-mostLines / 2) : lines };
}
