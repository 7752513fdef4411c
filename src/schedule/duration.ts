import type { Counters, Unit } from "./counters.ts";
import { checkCount, takeUnit } from "./options.ts";
import { amount, countOf, type InUnit } from "./units.ts";

/** A length of time in one unit: `{ updates: 1000 }`. */
export type Duration = InUnit<number>;

/** A checked duration. */
export interface CheckedDuration {
  readonly unit: Unit;
  readonly length: number;
  /** How far the run is, in its unit. */
  count(counters: Counters): number;
  /** `1000 updates`. */
  readonly words: string;
}

/** Reads a duration that an option of a ramp gives. */
export function checkDuration(kind: string, name: string, duration: Duration): CheckedDuration {
  const { unit, value } = takeUnit(`${kind}: ${name}`, duration, [], `${name}: { updates: 1000 }`);
  const length = checkCount(kind, `${name}.${unit}`, value, unit, 1);
  return {
    unit,
    length,
    count: (counters) => countOf(counters, unit),
    words: amount(length, unit),
  };
}
