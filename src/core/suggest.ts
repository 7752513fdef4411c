import { foreignHint } from "./foreign-names.ts";

/** The candidate nearest to `name` by edit distance, if it is near enough to be a likely typo. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    // The distance is at least this, and measuring it takes long where one of them is long.
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * `; did you mean "x"?`, or nothing when no candidate is near, or the name is no text. Names of other libraries are
 * known: where there is an `environments`, `n_envs` is taken for it.
 */
export function didYouMean(name: unknown, candidates: Iterable<string>): string {
  if (typeof name !== "string") return "";
  const known = new Set(candidates);
  const hint = foreignHint(name, known);
  if (hint !== undefined) return hint;
  const best = nearest(name, known);
  return best === undefined ? "" : `; did you mean "${best}"?`;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitute, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
