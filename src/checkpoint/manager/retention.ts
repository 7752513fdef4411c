import { EspalierError } from "../../core/index.ts";
import type { Unit } from "../../schedule/index.ts";
import type { Manifest } from "../manifest/index.ts";

/** Which checkpoints stay. One that any rule keeps stays; so do the newest, and those in use. */
export interface Keep {
  /** The last so many. */
  readonly last?: number;
  /** The best so many by a score, or else a metric, of this name. */
  readonly best?: { readonly metric: string; readonly k: number; readonly direction: "min" | "max" };
  /** One of each such stretch: `{ epochs: 10 }` keeps the first at or after 10, 20, 30, ... */
  readonly every?: Readonly<Partial<Record<Unit, number>>>;
  /** Names that stay, or a rule by which they do. */
  readonly protect?: readonly string[] | ((manifest: Manifest) => boolean);
}

/** Refuses rules that would keep nothing or that nobody can have meant. */
export function checkKeep(keep: Keep): void {
  const count = (what: string, value: number | undefined): void => {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw invalid(`${what} is ${value}`, "give a whole number above 0, or leave it out");
  };
  count("keep.last", keep.last);
  count("keep.best.k", keep.best?.k);
  for (const [unit, interval] of Object.entries(keep.every ?? {})) count(`keep.every.${unit}`, interval);
  if (keep.best && keep.best.direction !== "min" && keep.best.direction !== "max")
    throw invalid(
      `keep.best.direction is ${String(keep.best.direction)}`,
      'say "min" or "max": is less or more better?',
    );
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("KEEP_INVALID", `CheckpointManager: ${what}`, { fix });

/**
 * The checkpoints that no rule keeps, from manifests ordered from the oldest to the newest. Without rules all stay.
 * The newest always stays.
 */
export function expendable(manifests: readonly Manifest[], keep: Keep | undefined): readonly string[] {
  if (!keep || (!keep.last && !keep.best && !keep.every)) return [];
  const kept = new Set<string>();
  const last = manifests.at(-1);
  if (last) kept.add(last.name);
  for (const { name } of manifests.slice(-(keep.last ?? 1))) kept.add(name);
  for (const name of best(manifests, keep.best)) kept.add(name);
  for (const [unit, interval] of Object.entries(keep.every ?? {}))
    for (const name of firstOfEach(manifests, unit, interval as number)) kept.add(name);
  const { protect = [] } = keep;
  const isProtected = (manifest: Manifest): boolean =>
    typeof protect === "function" ? protect(manifest) : protect.includes(manifest.name);
  return manifests
    .filter((manifest) => !kept.has(manifest.name) && !isProtected(manifest))
    .map(({ name }) => name);
}

function best(manifests: readonly Manifest[], rule: Keep["best"]): readonly string[] {
  if (!rule) return [];
  const { metric, k, direction } = rule;
  const sign = direction === "min" ? 1 : -1;
  return manifests
    .map(({ name, scores, metrics }) => ({ name, value: scores[metric] ?? metrics[metric] }))
    .filter(
      (entry): entry is { name: string; value: number } =>
        entry.value !== undefined && !Number.isNaN(entry.value),
    )
    .reverse() // of equals the newer first
    .sort((a, b) => sign * (a.value - b.value))
    .slice(0, k)
    .map(({ name }) => name);
}

/** The first of each stretch stays the first whatever is removed after it, so that the choice never changes. */
function firstOfEach(manifests: readonly Manifest[], unit: Unit, interval: number): readonly string[] {
  const firsts = new Map<number, string>();
  for (const { name, counters } of manifests) {
    const stretch = Math.floor((counters[unit] ?? 0) / interval);
    if (stretch > 0 && !firsts.has(stretch)) firsts.set(stretch, name);
  }
  return [...firsts.values()];
}
