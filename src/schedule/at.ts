import { badOption } from "../core/index.ts";
import { defineSchedule } from "./define.ts";
import { checkCount, listed, takeUnit } from "./options.ts";
import { NEVER } from "./points.ts";
import type { Schedule } from "./schedule.ts";
import { countOf, type InUnit, singular } from "./units.ts";

/** Which times, in one unit. */
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

  /** How many of its times lie up to here: by halves, since the list may be long. */
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
