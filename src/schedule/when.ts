import { badOption, EspalierError, shown } from "../core/index.ts";
import { defineSchedule } from "./define.ts";
import { AT_ONCE, NEVER } from "./points.ts";
import type { Moment, Schedule } from "./schedule.ts";

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
