import {
  checkMetricName,
  checkOptions,
  didYouMean,
  EspalierError,
  type Options,
  type OptionTable,
  option,
} from "../core/index.ts";
import { every, type Unit } from "../schedule/index.ts";
import { filedMetric, filedMetrics, type Manifest } from "./manifest.ts";

/** By which metric, named in full, a checkpoint is better than another. */
export type BestRule = { readonly metric: string; readonly direction: "min" | "max" };

type BestOfRule = BestRule & { readonly k: number };

const best = {
  metric: option.made<string>("the full name of a metric", () => true, {}),
  k: option.integer({ min: 1, required: true }),
  direction: option.oneOf(["min", "max"], { required: true }),
} satisfies OptionTable<BestOfRule>;

const rules = {
  /** The number of newest ones. */
  last: option.integer({ min: 1 }),
  /**
   * The best `k` by a score or metric, named in full: `validation/accuracy`, `evaluation/return`, `train/loss`. Of equal
   * ones the earlier. While no checkpoint has it, none is removed.
   */
  best: option.group<BestOfRule>(best, {}),
  /** The first of each interval: `{ epochs: 10 }` keeps the first at or after 10, 20, 30, ... */
  every: option.made<Readonly<Partial<Record<Unit, number>>>>(
    "units and whole numbers from 1 on: { epochs: 10 }",
    (value) =>
      Object.values(value ?? {}).some((interval) => interval !== undefined) &&
      Object.values(value ?? {}).every((n) => n === undefined || (Number.isSafeInteger(n) && n > 0)),
    {},
  ),
  /** Names that stay, or a rule by which they do. */
  protect: option.made<readonly string[] | ((manifest: Manifest) => boolean)>(
    "names of checkpoints, or a function of a manifest",
    (value) => Array.isArray(value) || typeof value === "function",
    {},
  ),
};

/** Which checkpoints stay. One that any rule keeps stays; so do the newest, those in use, and those people protected. */
export interface Keep extends Options<typeof rules> {}

/** Refuses rules that would keep nothing or that cannot be meant. */
export function checkKeep(keep: Keep): void {
  checkOptions("keep", keep, rules, { invalid: "KEEP_INVALID" });
  if (keep.best) checkMetricName("keep.best.metric", keep.best.metric, undefined, "KEEP_INVALID");
  // Refuses slips such as `epoch`, as everywhere.
  for (const [unit, interval] of Object.entries(keep.every ?? {}))
    if (interval !== undefined) every({ [unit]: interval } as Parameters<typeof every>[0]);
}

/**
 * The checkpoints that no rule keeps, from manifests ordered from the oldest to the newest. Without rules all stay; the
 * newest always does. A rule that goes by what no checkpoint has would keep none: then all stay. `saved`, the one that
 * has just been saved, does not count for that: a score that only the end of a run has must not cost the others.
 */
export function expendable(
  manifests: readonly Manifest[],
  keep: Keep | undefined,
  saved?: string,
): readonly string[] {
  if (!keep || (!keep.last && !keep.best && !keep.every)) return [];
  const before = manifests.filter(({ name }) => name !== saved);
  if (unmetRule(before, keep)) return [];
  const kept = new Set(manifests.slice(-(keep.last ?? 1)).map(({ name }) => name));
  for (const name of keep.best ? bestFirst(manifests, keep.best).slice(0, keep.best.k) : []) kept.add(name);
  for (const [unit, interval] of Object.entries(keep.every ?? {}))
    for (const name of firstOfEach(manifests, unit, interval as number)) kept.add(name);
  const { protect = [] } = keep;
  const isProtected = (manifest: Manifest): boolean =>
    typeof protect === "function" ? protect(manifest) : protect.includes(manifest.name);
  return manifests
    .filter((manifest) => !kept.has(manifest.name) && !isProtected(manifest))
    .map(({ name }) => name);
}

/** The names of checkpoints that have the score, the best first, of equal ones the earlier. */
export function bestFirst(
  manifests: readonly Manifest[],
  { metric, direction }: BestRule,
): readonly string[] {
  const sign = direction === "min" ? 1 : -1;
  return manifests
    .map((manifest) => ({ name: manifest.name, value: filedMetric(manifest, metric) ?? Number.NaN }))
    .filter(({ value }) => !Number.isNaN(value))
    .sort((a, b) => sign * (a.value - b.value))
    .map(({ name }) => name);
}

/** The first of an interval stays the first whatever is removed after it, so that the choice never changes. */
function firstOfEach(manifests: readonly Manifest[], unit: Unit, interval: number): readonly string[] {
  const firsts = new Map<number, string>();
  for (const { name, counters } of manifests) {
    const index = Math.floor((counters[unit] ?? 0) / interval);
    if (index > 0 && !firsts.has(index)) firsts.set(index, name);
  }
  return [...firsts.values()];
}

/**
 * The error of a rule that goes by what no checkpoint has: a misspelt score, a score that comes after saving, a unit
 * that is not counted. `hint` says what to do about the score. Undefined where every rule finds what it goes by, or
 * where there are no checkpoints.
 */
export function unmetRule(
  manifests: readonly Manifest[],
  { best, every = {} }: Keep,
  hint = "name what they have, or save when it is there",
): EspalierError | undefined {
  if (manifests.length === 0) return undefined;
  const none =
    manifests.length === 1 ? "the one checkpoint has no" : `none of ${manifests.length} checkpoints has a`;
  const scores = namesIn(manifests.map(filedMetrics));
  if (best && manifests.every((manifest) => filedMetric(manifest, best.metric) === undefined))
    return new EspalierError(
      "METRIC_UNKNOWN",
      `keep.best: ${none} score or metric "${best.metric}" (there are ${scores.join(", ") || "none"})${suggested(best.metric, scores)}`,
      { fix: hint },
    );
  const units = namesIn(manifests.map(({ counters }) => counters));
  return unknownUnit(every, units, `${none} counter`);
}

/** The error of a rule by a unit that is not counted, which would keep nothing. */
export function unknownUnit(
  every: NonNullable<Keep["every"]>,
  counted: readonly string[],
  none: string,
): EspalierError | undefined {
  const units = counted.filter((name) => name !== "epoch");
  const unit = Object.keys(every).find((name) => every[name] !== undefined && !units.includes(name));
  if (unit === undefined) return undefined;
  return new EspalierError("UNIT_UNKNOWN", `keep.every: ${none} "${unit}"${didYouMean(unit, units)}`, {
    fix: `use one of the units counted here: ${units.join(", ")}`,
  });
}

const namesIn = (records: readonly object[]): readonly string[] => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** By letters, and by words cut short: `val/loss` for `validation/loss`. */
function suggested(name: string, names: readonly string[]): string {
  const near = didYouMean(name, names);
  const alike = names.find((other) => sameWords(wordsOf(name), wordsOf(other)));
  return near === "" && alike !== undefined ? `; did you mean "${alike}"?` : near;
}

const wordsOf = (name: string): readonly string[] => name.toLowerCase().split(/[^a-z0-9]+/);

const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((word, i) => word.startsWith(b[i] ?? "") || (b[i] ?? "").startsWith(word));
