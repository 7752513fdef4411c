import type { Adds, Counters, Moment, Schedule } from "../schedule/index.ts";
import type { AnyLoss, LossPhase } from "./loss.ts";

/** The schedule of a loss in a phase; undefined where it is always active. */
export const scheduleOf = (loss: AnyLoss, phase: LossPhase): Schedule | undefined => loss.active?.[phase];

/** The losses that are active at these counters. */
export function activeOf<L extends AnyLoss>(
  losses: readonly L[],
  phase: LossPhase,
  counters: Counters,
  adds: Adds,
): L[] {
  const moment = { counters, since: oneBefore(counters, adds) };
  return losses.filter((loss) => scheduleOf(loss, phase)?.due(moment) ?? true);
}

/**
 * The number of batches, `limit` at most, in which the same losses surely are active. Schedules are asked, not their `nextDue`,
 * which is about firings: a loss is active as long as its schedule stays due. A schedule that reads only counters that
 * the batches do not move is asked once; one that reads the clock, or has a state, is known for one batch.
 */
export function batchesUntilChange(
  losses: readonly AnyLoss[],
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

/**
 * The counters against which activity is asked: each unit one less, as for a lone moment, or a whole batch less, so
 * that intervals in units that jump are crossed. What a batch does not move stays one less throughout, so that
 * `every({ epochs: 2 })` holds for all of an epoch.
 */
function oneBefore(counters: Counters, adds: Adds): Counters {
  const before: Record<string, number> = {};
  for (const unit in counters) before[unit] = (counters[unit] ?? 0) - Math.max(1, adds[unit] ?? 1);
  return { ...counters, ...before, epoch: counters.epoch };
}

/** The counters `by` batches from now. Notes whether counters that move, or cannot be foreseen, were read. */
class Ahead {
  /** Batches from now. */
  by = 0;
  /** A counter was read that is, or may be, different some batches from now. */
  moves = false;
  /** A counter was read that cannot be known ahead of time: the clock. */
  unforeseen = false;
  readonly moment: Moment;

  constructor(from: Counters, adds: Adds) {
    this.moment = { counters: this.#view(from, adds), since: this.#view(oneBefore(from, adds), adds) };
  }

  #view(values: Counters, adds: Adds): Counters {
    const view: Counters = { ...values };
    for (const unit in values) {
      const value = values[unit] ?? 0;
      const step = adds[unit] ?? 0;
      const unknown = unit === "seconds" || (unit === "steps" && !("steps" in adds));
      if (!unknown && step === 0) continue;
      Object.defineProperty(view, unit, {
        enumerable: true,
        get: () => {
          this.moves = true;
          if (unknown) this.unforeseen = true;
          return value + step * this.by;
        },
      });
    }
    return view;
  }
}
