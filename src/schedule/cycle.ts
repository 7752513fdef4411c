import { badOption, shown } from "../core/index.ts";
import type { Counters } from "./counters.ts";
import { defineSchedule } from "./define.ts";
import { checkCount, listed, takeUnit } from "./options.ts";
import { AT_ONCE, NEVER, type Points } from "./points.ts";
import type { Schedule } from "./schedule.ts";
import { countOf, type InUnit, singular } from "./units.ts";

/** How long the cycle is, in one unit, and where in it things happen. */
export type CycleOptions = InUnit<
  number,
  {
    /** Positions in the cycle, from 1. */
    readonly active: readonly number[];
  }
>;

/**
 * At every moment of some parts of a cycle. Epochs count from 0 and positions from 1: epoch 0 is position 1, and with
 * a cycle of 8 so is epoch 8. In epochs it goes by the epoch that is running, its end included; in other units the
 * position is `floor(count) % length + 1`.
 *
 * @example
 * ```ts
 * cycle({ epochs: 8, active: [1, 2] }); // in epochs 0, 1, 8, 9, 16, 17, ...
 * ```
 */
export function cycle(options: CycleOptions): Schedule {
  const example = "cycle({ epochs: 8, active: [1, 2] })";
  const { unit, value } = takeUnit("cycle", options, ["active"], example);
  // Positions are whole, in seconds too.
  const length = checkCount("cycle", unit, value, "steps", 1);
  const active = checkActive(options.active, length, example);
  const isActive = new Set(active);

  const index = (counters: Counters): number =>
    unit === "epochs" ? counters.epoch : Math.floor(countOf(counters, unit));
  const activeAt = (counters: Counters): boolean => isActive.has((index(counters) % length) + 1);
  // The epoch with index n runs once n epochs are completed, so that an index is a point in completed epochs too.
  const ahead = (counters: Counters, steps: number): Points => [{ unit, at: index(counters) + steps }];

  return defineSchedule({
    units: [unit],
    due: ({ counters }) => activeAt(counters),
    nextDue(counters) {
      if (activeAt(counters)) return AT_ONCE;
      const now = (index(counters) % length) + 1;
      const next = active.find((position) => position > now) ?? length + (active[0] as number);
      return ahead(counters, next - now);
    },
    nextOff(counters) {
      if (!activeAt(counters)) return AT_ONCE;
      if (active.length === length) return NEVER;
      let steps = 1;
      while (isActive.has(((index(counters) + steps) % length) + 1)) steps++;
      return ahead(counters, steps);
    },
    describe: () => {
      const places = `${active.length === 1 ? singular(unit) : unit} ${listed(active)}`;
      return `in ${places} of every ${length}`;
    },
  });
}

function checkActive(active: unknown, length: number, example: string): readonly number[] {
  if (!Array.isArray(active))
    throw badOption("cycle", `active is ${shown(active)}, which is not a list`, `write ${example}`);
  if (active.length === 0)
    throw badOption(
      "cycle",
      "active is empty, so that it never happens",
      "name a position, or write never()",
    );
  for (const position of active as readonly unknown[])
    if (typeof position !== "number" || !Number.isInteger(position) || position < 1 || position > length)
      throw badOption(
        "cycle",
        `the position ${shown(position)} is not in a cycle of ${length}`,
        `positions are whole numbers from 1 to ${length}`,
      );
  return [...new Set(active as readonly number[])].sort((a, b) => a - b);
}
