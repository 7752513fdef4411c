import { didYouMean, EspalierError } from "../core/index.ts";
import type { Value } from "../engine/index.ts";
import { type Leaves, listed } from "./leaves.ts";

/**
 * Which parameters: a path pattern, several, or a function of path and value. In a pattern `*` stands for one segment
 * or a part of one and `**` for any number of them; what a pattern names counts with everything below it, so that
 * `encoder` and `encoder.*` are all of the encoder. A leading `!` takes away; a list of such patterns alone starts
 * from everything.
 */
export type Mask = string | readonly string[] | ((path: string, value: Value) => boolean);

/** Whether each leaf is meant by a mask. A pattern that matches nothing is an error. */
export function matchMask(kind: string, mask: Mask, leaves: Leaves): readonly boolean[] {
  if (typeof mask === "function") return leaves.paths.map((path, i) => mask(path, leaves.values[i] as Value));
  const patterns = typeof mask === "string" ? [mask] : mask;
  const parsed = patterns.map((pattern) => {
    const away = pattern.startsWith("!");
    const matches = matcher(away ? pattern.slice(1) : pattern);
    if (!leaves.paths.some(matches)) throw noMatch(kind, away ? pattern.slice(1) : pattern, leaves.paths);
    return { away, matches };
  });
  const start = parsed.every(({ away }) => away);
  return leaves.paths.map((path) =>
    parsed.reduce((chosen, { away, matches }) => (matches(path) ? !away : chosen), start),
  );
}

/** Whether a pattern names a path or a branch above it. */
export function matcher(pattern: string): (path: string) => boolean {
  const parts = segments(pattern).map((segment) => (segment === "**" ? segment : oneSegment(segment)));
  return (path) => matchFrom(parts, 0, segments(path), 0);
}

/** `layers[0].w` as `layers`, `0`, `w`. */
const segments = (path: string): readonly string[] =>
  path
    .replace(/\[([^\]]*)\]/g, ".$1")
    .split(".")
    .filter((segment) => segment !== "");

function oneSegment(segment: string): RegExp {
  const literal = segment.split("*").map((text) => text.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

function matchFrom(
  parts: readonly (RegExp | "**")[],
  i: number,
  path: readonly string[],
  at: number,
): boolean {
  const part = parts[i];
  if (part === undefined) return true;
  if (part === "**")
    return i === parts.length - 1 || path.some((_, k) => k >= at && matchFrom(parts, i + 1, path, k));
  const segment = path[at];
  return segment !== undefined && part.test(segment) && matchFrom(parts, i + 1, path, at + 1);
}

/** The error about a pattern that matches nothing. */
export function noMatch(kind: string, pattern: string, paths: readonly string[]): EspalierError {
  return new EspalierError(
    "PATH_UNKNOWN",
    `${kind}: "${pattern}" matches no parameter${didYouMean(pattern, branches(paths))}`,
    { fix: `the paths are ${listed(paths)}; * stands for one segment, ** for any number` },
  );
}

/** All paths with the branches above them. */
function branches(paths: readonly string[]): ReadonlySet<string> {
  const all = new Set(paths);
  for (const path of paths)
    for (const { index } of path.matchAll(/[.[]/g)) if (index > 0) all.add(path.slice(0, index));
  return all;
}

/** A mask as a question about paths; everything where there is no mask. */
export function masked(kind: string, mask: Mask | undefined, leaves: Leaves): (path: string) => boolean {
  if (mask === undefined) return () => true;
  const chosen = matchMask(kind, mask, leaves);
  const among = new Set(leaves.paths.filter((_, i) => chosen[i]));
  return (path) => among.has(path);
}
