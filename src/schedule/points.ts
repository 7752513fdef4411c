import { badOption, singular } from "../core/index.ts";
import type { Counters } from "./counters.ts";
import { defineSchedule, type Point, type Schedule } from "./schedule.ts";
import { amount, checkCount, countOf, type InUnit, listed, takeUnit } from "./units.ts";

/** Options of {@link every}: an interval in one unit. */
export type EveryOptions = InUnit<
  number,
  {
    /** The first time; 0 is the start of the run. Default: one interval after 0. */
    readonly from?: number | undefined;
    /** The last time it may be: inclusive. */
    readonly until?: number | undefined;
  }
>;

/**
 * At multiples of an interval: after 100 updates, 200, ... but not at 0. With `from`, at `from` and whole intervals
 * after it. A jump over several of these times makes it due once.
 *
 * @example
 * ```ts
 * every({ epochs: 10 }); // after epochs 10, 20, 30, ...
 * every({ updates: 100, from: 500, until: 10_000 }); // at 500, 600, ..., 10_000
 * every({ episodes: 20 }); // a counter of the host's own
 * ```
 */
export function every(options: EveryOptions): Schedule {
  const { unit, value } = takeUnit("every", options, ["from", "until"], "every({ updates: 100 })");
  const interval = checkCount("every", unit, value, unit, 1);
  const { from, until } = options;
  const first = from === undefined ? interval : checkCount("every", "from", from, unit, 0);
  if (until !== undefined && checkCount("every", "until", until, unit, 0) < first)
    throw badOption(
      "every",
      `until is ${until}, before the first time at ${first}, so that it never happens`,
      `give an until from ${first} on, or write never()`,
    );

  const origin = from ?? 0;
  /** Number of intervals from its origin to the last of its times up to here. Exact where the division rounds. */
  const intervals = (count: number): number => {
    const whole = Math.floor((count - origin) / interval);
    if (origin + (whole + 1) * interval <= count) return whole + 1;
    return origin + whole * interval > count ? whole - 1 : whole;
  };
  const final = until === undefined ? Number.POSITIVE_INFINITY : intervals(until);

  return defineSchedule({
    units: [unit],
    due({ counters, since }) {
      const now = countOf(counters, unit);
      if (now < first) return false;
      // Crossed where the last of its times up to now lies after the moment before.
      const last = origin + Math.min(intervals(now), final) * interval;
      return last > (since === undefined ? now - 1 : countOf(since, unit));
    },
    nextDue(counters) {
      const now = countOf(counters, unit);
      if (now < first) return [{ unit, at: first }];
      const next = intervals(now) + 1;
      return next > final ? NEVER : [{ unit, at: origin + next * interval }];
    },
    describe: () => {
      const often = interval === 1 ? `every ${singular(unit)}` : `every ${amount(interval, unit)}`;
      if (from === undefined) return until === undefined ? often : `${often} up to ${until}`;
      return until === undefined ? `${often} from ${from} on` : `${often} from ${from} to ${until}`;
    },
  });
}

/**
 * `frequency` and `startStep` as rollout workers have them: `every({ steps: frequency, from: startStep })`. Without a
 * `startStep` the first time is step 0.
 *
 * @example
 * ```ts
 * everySteps(50); // at steps 0, 50, 100, ...
 * everySteps(50, 200); // at steps 200, 250, ...
 * ```
 */
export function everySteps(frequency: number, startStep = 0): Schedule {
  return every({
    steps: checkCount("everySteps", "frequency", frequency, "steps", 1),
    from: checkCount("everySteps", "startStep", startStep, "steps", 0),
  });
}

/** Options of {@link at}: times in one unit. */
export type AtOptions = InUnit<number | readonly number[]>;

/**
 * At these times, each once; 0 is the start of the run. A jump over several of them makes it due once.
 *
 * @example
 * ```ts
 * at({ epochs: [1, 5] });
 * at({ samples: 1_000_000 });
 * ```
 */
export function at(options: AtOptions): Schedule {
  const { unit, value } = takeUnit("at", options, [], "at({ epochs: [1, 5] })");
  const given: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (given.length === 0)
    throw badOption("at", `the list of ${unit} is empty`, "give a time, or write never()");
  const numbers = given.map((one) => checkCount("at", unit, one, unit, 0));
  const times = Float64Array.from(new Set(numbers)).sort();

  /** Number of its times up to here, by bisection. */
  const passed = (count: number): number => {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] as number) <= count) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return defineSchedule({
    units: [unit],
    due({ counters, since }) {
      const now = countOf(counters, unit);
      const before = since === undefined ? now - 1 : countOf(since, unit);
      return passed(now) > passed(before);
    },
    nextDue(counters) {
      const next = times[passed(countOf(counters, unit))];
      return next === undefined ? NEVER : [{ unit, at: next }];
    },
    describe: () => `at ${times.length === 1 ? singular(unit) : unit} ${listed([...times])}`,
  });
}

/** Result of {@link Schedule.nextDue}. */
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

/** Estimated distance of the first of some points. */
function foresight(counters: Counters, points: readonly Point[]): number {
  const ranks = points.map(({ unit, at }) => {
    if (countOf(counters, unit) >= at) return 0;
    if (unit === "seconds") return 1;
    return unit === "epochs" ? 3 : 2;
  });
  return Math.min(...ranks);
}
