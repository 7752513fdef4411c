// Curves of charts: points that stand for one value or many, joined from a whole view, a finer part of it and live values.
import type { Series } from "../api.ts";

/** Values that lie together: the last place among them, the extremes and the mean of the finite ones, and their number. */
export interface CurvePoint {
  readonly x: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly weight: number;
}

/** Points in order of x. */
export type Curve = readonly CurvePoint[];

/** The curve of a server's answer, with x counted from `origin`. */
export function curveOf({ x, min, max, mean, values }: Series, origin = 0): CurvePoint[] {
  const weight = values / x.length;
  const at = (column: readonly (number | null)[], i: number) => column[i] ?? null;
  return x.map((place, i) => ({
    x: place - origin,
    min: at(min, i),
    max: at(max, i),
    mean: at(mean, i),
    weight,
  }));
}

/** Adds a live value, mostly at the end. Returns false for one that the curve has already. */
export function append(curve: CurvePoint[], x: number, value: number | null): boolean {
  const at = curve.findLastIndex((point) => point.x < x) + 1;
  const next = curve[at];
  // A point for several values has what lies before it.
  if (next && (next.x === x || next.weight !== 1)) return false;
  curve.splice(at, 0, { x, min: value, max: value, mean: value, weight: 1 });
  return true;
}

/** Halves the points of a curve with more than twice the limit: each new one stands for two neighbours. */
export function thin(curve: CurvePoint[], limit: number): CurvePoint[] {
  if (curve.length <= 2 * limit) return curve;
  return thin(
    curve.flatMap((point, i) => (i % 2 === 0 ? joined(point, curve[i + 1] ?? point) : [])),
    limit,
  );
}

function joined(a: CurvePoint, b: CurvePoint): CurvePoint {
  if (a === b || a.mean === null || b.mean === null) return { ...(a.mean === null ? b : a), x: b.x };
  const weight = a.weight + b.weight;
  return {
    x: b.x,
    min: Math.min(a.min ?? a.mean, b.min ?? b.mean),
    max: Math.max(a.max ?? a.mean, b.max ?? b.mean),
    mean: (a.mean * a.weight + b.mean * b.weight) / weight,
    weight,
  };
}

/** A curve with the points of a finer one in the part that the finer one covers. */
export function refine(whole: Curve, part: Curve = []): Curve {
  const [first, last] = [part[0], part.at(-1)];
  if (!first || !last) return whole;
  return [...whole.filter(({ x }) => x < first.x), ...part, ...whole.filter(({ x }) => x > last.x)];
}

/**
 * The exponential moving average with a factor from 0 to 1, without the pull to zero of its first values. Null stays
 * null and is passed over.
 */
export function smooth(values: readonly (number | null)[], factor: number): (number | null)[] {
  let [average, remaining] = [0, 1];
  return values.map((value) => {
    if (value === null) return null;
    average = average * factor + value * (1 - factor);
    remaining *= factor;
    return average / (1 - remaining);
  });
}

/** The newest, smallest and largest value. Undefined without a finite one. */
export function extremes(curve: Curve): Record<"last" | "min" | "max", number> | undefined {
  const last = curve.findLast(({ mean }) => mean !== null)?.mean;
  const min = Math.min(...curve.map((point) => point.min ?? Number.POSITIVE_INFINITY));
  const max = Math.max(...curve.map((point) => point.max ?? Number.NEGATIVE_INFINITY));
  return last == null ? undefined : { last, min, max };
}

/** Names of categories as charts are shown: those that people look for first, then others by name, the machine last. */
export const inOrder = (categories: Iterable<string>): readonly string[] =>
  [...categories].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));

const ranks = ["train", "validation", "rollout", "evaluation", "", "system", "time"];
const rankOf = (category: string): number => ranks.indexOf(ranks.includes(category) ? category : "");
