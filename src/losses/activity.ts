import type { Adds, Counters, Schedule } from "../schedule/index.ts";
import { Ahead, oneBefore } from "./ahead.ts";
import type { Loss } from "./loss.ts";

/** The phases in which a loss may take part, each by a schedule of its own. */
export type LossPhase = "rollout" | "train";

/** The schedule that decides whether a loss takes part; undefined where it always does. */
export const scheduleOf = (loss: Loss<never, never>, phase: LossPhase): Schedule | undefined =>
  loss.active?.[phase];

/** Which of the losses take part at these counters. */
export function activeOf<L extends Loss<never, never>>(
  losses: readonly L[],
  phase: LossPhase,
  counters: Counters,
  adds: Adds,
): L[] {
  const moment = { counters, since: oneBefore(counters, adds) };
  return losses.filter((loss) => scheduleOf(loss, phase)?.due(moment) ?? true);
}

/**
 * For how many batches, `limit` at most, the same losses surely take part. Schedules are asked, not their `nextDue`,
 * which speaks of firings: a loss is active as long as its schedule stays due. What looks only at counters that the
 * batches do not move is asked once; what looks at the clock, or remembers, is known for one batch.
 */
export function batchesUntilChange(
  losses: readonly Loss<never, never>[],
  phase: LossPhase,
  counters: Counters,
  adds: Adds,
  limit: number,
): number {
  const schedules = new Set(losses.flatMap((loss) => scheduleOf(loss, phase) ?? []));
  if (schedules.size === 0 || limit <= 1) return limit;
  const ahead = new Ahead(counters, adds);
  const watched: { readonly schedule: Schedule; readonly due: boolean }[] = [];
  for (const schedule of schedules) {
    if (schedule.state) return 1;
    ahead.moves = false;
    const due = schedule.due(ahead.moment);
    if (ahead.moves) watched.push({ schedule, due });
  }
  if (watched.length === 0) return limit;
  ahead.unforeseen = false;
  for (ahead.by = 1; ahead.by < limit; ahead.by++)
    for (const { schedule, due } of watched)
      if (schedule.due(ahead.moment) !== due || ahead.unforeseen) return ahead.by;
  return limit;
}
