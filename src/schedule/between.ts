import { badOption, shown } from "../core/index.ts";
import { defineSchedule } from "./define.ts";
import { checkCount, takeUnit } from "./options.ts";
import { AT_ONCE, NEVER } from "./points.ts";
import type { Schedule } from "./schedule.ts";
import { countOf, type InUnit, singular } from "./units.ts";

/** From where to where, in one unit, both included. */
export type BetweenOptions = InUnit<readonly [from: number, to: number]>;

/**
 * At every moment from one count to another, both included; `Infinity` as the second leaves the end open. It looks at
 * where the run is now: what a jump passed over does not count. Usually joined to another schedule.
 *
 * @example
 * ```ts
 * every({ updates: 100 }).and(between({ epochs: [2, 10] }));
 * between({ samples: [50_000, Infinity] });
 * ```
 */
export function between(options: BetweenOptions): Schedule {
  const example = "between({ epochs: [2, 10] })";
  const { unit, value } = takeUnit("between", options, [], example);
  if (!Array.isArray(value) || value.length !== 2)
    throw badOption("between", `${unit} is ${shown(value)}, which is not two numbers`, `write ${example}`);
  const from = checkCount("between", `the first of ${unit}`, value[0], unit, 0);
  const open = value[1] === Number.POSITIVE_INFINITY;
  const to = open ? value[1] : checkCount("between", `the second of ${unit}`, value[1], unit, 0);
  if (to < from)
    throw badOption("between", `${to} comes before ${from}`, `write between({ ${unit}: [${to}, ${from}] })`);
  /** Whole counts leave it one further on. Seconds leave it right after its end. */
  const end = [{ unit, at: unit === "seconds" ? to : to + 1 }];
  const start = [{ unit, at: from }];

  return defineSchedule({
    units: [unit],
    due({ counters }) {
      const now = countOf(counters, unit);
      return now >= from && now <= to;
    },
    nextDue: (counters) => (countOf(counters, unit) > to ? NEVER : start),
    nextOff(counters) {
      const now = countOf(counters, unit);
      if (now < from || now > to) return AT_ONCE;
      return open ? NEVER : end;
    },
    describe: () => (open ? `from ${singular(unit)} ${from} on` : `between ${unit} ${from} and ${to}`),
  });
}
