// Curves of charts: points that stand for one value or many, joined from a whole view, a finer part of it and live values.
import type { Series } from "../api.ts";

type Values = (number | null)[];

/** Points in order of x. `weight` is the number of values that a point stands for. */
export interface Curve {
  readonly x: number[];
  readonly min: Values;
  readonly max: Values;
  readonly mean: Values;
  readonly weight: number[];
}

export const emptyCurve = (): Curve => ({ x: [], min: [], max: [], mean: [], weight: [] });

/** The curve of a server's answer, with x counted from `origin`. */
export function curveOf(series: Series, origin = 0): Curve {
  const weight = series.x.length === 0 ? 1 : series.values / series.x.length;
  return {
    x: series.x.map((x) => x - origin),
    min: [...series.min],
    max: [...series.max],
    mean: [...series.mean],
    weight: series.x.map(() => weight),
  };
}

/** The index of the first place that is not before `at`, by halving. */
export function placeOf(x: readonly number[], at: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the place that is nearest. */
export function nearest(x: readonly number[], at: number): number {
  const after = placeOf(x, at);
  const [left = Number.NEGATIVE_INFINITY, right = Number.POSITIVE_INFINITY] = [x[after - 1], x[after]];
  return at - left < right - at ? after - 1 : after;
}

/** Adds a live value, mostly at the end. Returns false for one that the curve has already. */
export function append(curve: Curve, x: number, value: number | null): boolean {
  const at = placeOf(curve.x, x);
  // A point for several values has what lies before it.
  if (at < curve.x.length && (curve.x[at] === x || curve.weight[at] !== 1)) return false;
  curve.x.splice(at, 0, x);
  for (const values of [curve.min, curve.max, curve.mean]) values.splice(at, 0, value);
  curve.weight.splice(at, 0, 1);
  return true;
}

/** Halves the points of a curve with more than twice the limit: each new one stands for two neighbours. */
export function thin(curve: Curve, limit: number): Curve {
  if (curve.x.length <= 2 * limit) return curve;
  const thinned = emptyCurve();
  for (let i = 0; i < curve.x.length; i += 2) {
    const both = i + 1 < curve.x.length ? [i, i + 1] : [i];
    const finite = both.filter((j) => curve.mean[j] !== null);
    const of = (values: Values) => finite.map((j) => values[j] ?? 0);
    const weights = finite.map((j) => curve.weight[j] ?? 1);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const mean = of(curve.mean).reduce((sum, value, j) => sum + (value * (weights[j] ?? 1)) / total, 0);
    thinned.x.push(curve.x[both.at(-1) ?? i] ?? 0);
    thinned.min.push(finite.length === 0 ? null : Math.min(...of(curve.min)));
    thinned.max.push(finite.length === 0 ? null : Math.max(...of(curve.max)));
    thinned.mean.push(finite.length === 0 ? null : mean);
    thinned.weight.push(total || 1);
  }
  return thin(thinned, limit);
}

/** A curve with the points of a finer one in the part that the finer one covers. */
export function refine(whole: Curve, part: Curve | undefined): Curve {
  const [first, last] = [part?.x[0], part?.x.at(-1)];
  if (part === undefined || first === undefined || last === undefined) return whole;
  const before = placeOf(whole.x, first);
  const end = placeOf(whole.x, last);
  const after = whole.x[end] === last ? end + 1 : end;
  const joined = (Object.keys(whole) as (keyof Curve)[]).map((of) => [
    of,
    [...whole[of].slice(0, before), ...part[of], ...whole[of].slice(after)],
  ]);
  return Object.fromEntries(joined) as Curve;
}

/**
 * The exponential moving average with a factor from 0 to 1, without the pull to zero of its first values. Null stays
 * null and is passed over.
 */
export function smooth(values: readonly (number | null)[], factor: number): Values {
  let [average, remaining] = [0, 1];
  return values.map((value) => {
    if (value === null) return null;
    average = average * factor + value * (1 - factor);
    remaining *= factor;
    return average / (1 - remaining);
  });
}

/** The newest, smallest and largest value. Undefined without a finite one. */
export function extremes({ mean, min, max }: Curve): Record<"last" | "min" | "max", number> | undefined {
  const last = mean.findLast((value) => value !== null);
  const finite = (values: Values) => values.filter((value) => value !== null);
  return last == null ? undefined : { last, min: Math.min(...finite(min)), max: Math.max(...finite(max)) };
}

/** Names of categories as charts are shown: those that people look for first, then others by name, the machine last. */
export const inOrder = (categories: Iterable<string>): readonly string[] =>
  [...categories].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));

const ranks = ["train", "validation", "rollout", "evaluation", "", "system", "time"];
const rankOf = (category: string): number => ranks.indexOf(ranks.includes(category) ? category : "");
