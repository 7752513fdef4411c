import { badOption } from "../core/index.ts";
import { defineSchedule } from "./define.ts";
import { checkCount, takeUnit } from "./options.ts";
import { NEVER } from "./points.ts";
import type { Schedule } from "./schedule.ts";
import { amount, countOf, type InUnit, singular } from "./units.ts";

/** How often, in one unit. */
export type EveryOptions = InUnit<
  number,
  {
    /** The first time; one interval after 0 unless given. 0 is the start of the run. */
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
  /** How many intervals after its origin the last of its times up to here is. Exact where the division rounds. */
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
