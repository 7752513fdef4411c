import { badOption, EspalierError, shown, singular } from "../core/index.ts";
import type { Counters } from "./counters.ts";
import { AT_ONCE, NEVER, type Points } from "./points.ts";
import { defineSchedule, type Moment, type Schedule } from "./schedule.ts";
import { checkCount, countOf, type InUnit, listed, takeUnit } from "./units.ts";

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

/** Options of {@link cycle}: its length in one unit, and the active positions. */
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

/**
 * Whenever a condition holds. The host cannot know when that will be, so it stops at every batch to ask: join it to
 * another schedule (`every({ updates: 100 }).and(when(...))`) to be asked less often.
 *
 * @example
 * ```ts
 * when((context: TrainerContext) => context.state.rank === 0, "on the main rank");
 * ```
 */
export function when<C extends Moment = Moment>(
  condition: (context: C) => boolean,
  words?: string,
): Schedule<C> {
  if (typeof condition !== "function")
    throw badOption(
      "when",
      `${shown(condition)} is not a function`,
      "write when((context) => context.counters.epochs > 3)",
    );
  const named = words ?? (condition.name ? `when ${condition.name}` : "when a condition holds");
  return defineSchedule<C>({
    due(context) {
      const holds: unknown = condition(context);
      if (typeof holds === "boolean") return holds;
      throw new EspalierError(
        "CONDITION_INVALID",
        `${named}: the condition gave ${holds instanceof Promise ? "a promise" : shown(holds)}, which is not true or false`,
        { fix: "give true or false, at once; compare explicitly: count > 0" },
      );
    },
    describe: () => named,
  });
}

/**
 * At no moment: what to write instead of an interval of 0.
 *
 * @example
 * ```ts
 * const schedule = debugging ? every({ updates: 1 }) : never();
 * ```
 */
export function never(): Schedule {
  return defineSchedule({
    units: [],
    due: () => false,
    nextDue: () => NEVER,
    nextOff: () => AT_ONCE,
    describe: () => "never",
  });
}

/**
 * At every moment.
 *
 * @example
 * ```ts
 * const schedule = dense ? always() : every({ updates: 100 });
 * ```
 */
export function always(): Schedule {
  return defineSchedule({
    units: [],
    due: () => true,
    nextDue: () => AT_ONCE,
    nextOff: () => NEVER,
    describe: () => "always",
  });
}
