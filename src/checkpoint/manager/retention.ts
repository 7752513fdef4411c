import { checkMetricName, checkNames, EspalierError } from "../../core/index.ts";
import { every, type Unit } from "../../schedule/index.ts";
import { filedMetric, type Manifest } from "../manifest/index.ts";
import { unmetRule } from "./unmet-rule.ts";

/** Which checkpoints stay. One that any rule keeps stays; so do the newest, and those in use. */
export interface Keep {
  /** The last so many. */
  readonly last?: number;
  /**
   * The best so many by a score or metric, named in full: `validation/accuracy`, `evaluation/return`, `train/loss`. While
   * no checkpoint has it, none is removed.
   */
  readonly best?: { readonly metric: string; readonly k: number; readonly direction: "min" | "max" };
  /** One of each such stretch: `{ epochs: 10 }` keeps the first at or after 10, 20, 30, ... */
  readonly every?: Readonly<Partial<Record<Unit, number>>>;
  /** Names that stay, or a rule by which they do. */
  readonly protect?: readonly string[] | ((manifest: Manifest) => boolean);
}

/** Refuses rules that would keep nothing or that nobody can have meant. */
export function checkKeep(keep: Keep): void {
  checkNames("keep", keep, ["last", "best", "every", "protect"]);
  if (keep.best !== undefined) checkNames("keep.best", keep.best, ["metric", "k", "direction"]);
  const count = (what: string, value: number | undefined): void => {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw invalid(`${what} is ${value}`, "give a whole number above 0, or leave it out");
  };
  count("keep.last", keep.last);
  if (keep.best) count("keep.best.k", keep.best.k ?? Number.NaN);
  if (keep.best) checkMetricName("keep.best.metric", keep.best.metric, undefined, "KEEP_INVALID");
  if (keep.every) checkEvery(keep.every, count);
  if (keep.best && keep.best.direction !== "min" && keep.best.direction !== "max")
    throw invalid(
      `keep.best.direction is ${String(keep.best.direction)}`,
      'say "min" or "max": is less or more better?',
    );
}

function checkEvery(
  rule: NonNullable<Keep["every"]>,
  count: (what: string, value: number | undefined) => void,
): void {
  const given = Object.entries(rule).filter(([, interval]) => interval !== undefined);
  if (given.length === 0)
    throw invalid("keep.every names no unit", "name one: every: { epochs: 10 }, or leave it out");
  for (const [unit, interval] of given) {
    count(`keep.every.${unit}`, interval);
    every({ [unit]: interval } as never); // Refuses slips such as `epoch`, as everywhere.
  }
}

const invalid = (what: string, fix: string): EspalierError =>
  new EspalierError("KEEP_INVALID", `CheckpointManager: ${what}`, { fix });

/**
 * The checkpoints that no rule keeps, from manifests ordered from the oldest to the newest. Without rules all stay.
 * The newest always stays. A rule that goes by what no checkpoint has would keep none, which nobody can mean: then all
 * stay. `saved`, one that has come just now, does not count for that: a score that only the end of a run has must not
 * cost the others.
 */
export function expendable(
  manifests: readonly Manifest[],
  keep: Keep | undefined,
  saved?: string,
): readonly string[] {
  if (!keep || (!keep.last && !keep.best && !keep.every)) return [];
  const before = manifests.filter(({ name }) => name !== saved);
  if (unmetRule(before, keep)) return [];
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
    .map((manifest) => ({ name: manifest.name, value: filedMetric(manifest, metric) }))
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
