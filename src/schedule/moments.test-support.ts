import { type Counters, noCounters } from "./counters.ts";
import type { Moment, Schedule } from "./schedule.ts";

/** Counters with some of them moved on. */
export const counted = (counts: Readonly<Record<string, number>>): Counters => ({ ...noCounters, ...counts });

/** A moment with a history. */
export const moment = (
  since: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>,
): Moment => ({ counters: counted(now), since: counted(since) });

/** At which of these counts, one after the other from the one before the first, a schedule is due. */
export function timesDue(schedule: Schedule, unit: string, counts: readonly number[], before = 0): number[] {
  return counts.filter((now, i) =>
    schedule.due(moment({ [unit]: counts[i - 1] ?? before }, { [unit]: now })),
  );
}

/** Whole numbers from one to another, both included. */
export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
