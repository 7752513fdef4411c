import { didYouMean, EspalierError } from "../../core/index.ts";
import { filedMetric, filedMetrics, type Manifest } from "../manifest/index.ts";
import type { Keep } from "./retention.ts";

/**
 * The error of a rule that goes by something no checkpoint has: a misspelt score, a score that comes after saving, a
 * unit that nobody counts. `hint` is what to do about the score. Nothing where each rule finds what it goes by, or where there are no checkpoints.
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
  const units = namesIn(manifests.map(({ counters }) => counters)).filter((unit) => unit !== "epoch");
  const unit = Object.keys(every).find((name) => every[name] !== undefined && !units.includes(name));
  if (unit === undefined) return undefined;
  return new EspalierError(
    "UNIT_UNKNOWN",
    `keep.every: ${none} counter "${unit}"${didYouMean(unit, units)}`,
    {
      fix: `name one that they have: ${units.join(", ")}`,
    },
  );
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
