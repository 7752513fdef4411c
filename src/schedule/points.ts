import type { Counters } from "./counters.ts";
import type { Point } from "./schedule.ts";
import { countOf } from "./units.ts";

/** What `nextDue` gives: see {@link Schedule.nextDue}. */
export type Points = readonly Point[] | undefined;

/** Never again. */
export const NEVER: readonly Point[] = [];

/** Maybe at the very next moment: a point that every run has reached. */
export const AT_ONCE: readonly Point[] = [{ unit: "steps", at: 0 }];

/** Of either of two: the first of all points. Known only where both are. */
export function sooner(a: Points, b: Points): Points {
  if (a === undefined || b === undefined) return undefined;
  const least = new Map<string, number>();
  for (const { unit, at } of [...a, ...b]) least.set(unit, Math.min(at, least.get(unit) ?? at));
  return Array.from(least, ([unit, at]) => ({ unit, at }));
}

/**
 * Of both of two: neither can be due before its own points, so that either list is right, and the later one says
 * more. Points in different units cannot be compared: then the one in epochs, which usually lies furthest ahead, is
 * taken, and one in seconds, which no plan of batches can foresee, only where nothing else is known.
 */
export function later(counters: Counters, a: Points, b: Points): Points {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.length === 0 || b.length === 0) return NEVER;
  const [one, other] = [a[0], b[0]];
  if (a.length === 1 && b.length === 1 && one && other && one.unit === other.unit)
    return one.at >= other.at ? a : b;
  return foresight(counters, b) > foresight(counters, a) ? b : a;
}

/** How far ahead a list of points probably looks. */
function foresight(counters: Counters, points: readonly Point[]): number {
  const ranks = points.map(({ unit, at }) => {
    if (countOf(counters, unit) >= at) return 0;
    if (unit === "seconds") return 1;
    return unit === "epochs" ? 3 : 2;
  });
  return Math.min(...ranks);
}
