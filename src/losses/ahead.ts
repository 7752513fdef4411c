import type { Adds, Counters, Moment } from "../schedule/index.ts";

/**
 * The counters against which activity is asked: each unit one less, as for a lone moment, or a whole batch less, so
 * that intervals in units that jump are crossed. What a batch does not move stays one less throughout, so that
 * `every({ epochs: 2 })` holds for all of an epoch.
 */
export function oneBefore(counters: Counters, adds: Adds): Counters {
  const before: Record<string, number> = {};
  for (const unit in counters) before[unit] = (counters[unit] ?? 0) - Math.max(1, adds[unit] ?? 1);
  return { ...counters, ...before, epoch: counters.epoch };
}

/** Counters some batches from now, in place, noting whether those that move, or cannot be foreseen, were looked at. */
export class Ahead {
  /** Batches from now. */
  by = 0;
  /** Whether something was read that is different, or may be, at other distances. */
  moves = false;
  /** Whether something was read that nobody knows ahead of time. */
  unforeseen = false;
  readonly moment: Moment;

  constructor(from: Counters, adds: Adds) {
    this.moment = { counters: this.#view(from, adds), since: this.#view(oneBefore(from, adds), adds) };
  }

  #view(values: Counters, adds: Adds): Counters {
    const view = {} as Record<string, number>;
    for (const unit in values) {
      const value = values[unit] ?? 0;
      const step = adds[unit] ?? 0;
      const unknown = unit === "seconds" || (unit === "steps" && !("steps" in adds));
      if (!unknown && step === 0) view[unit] = value;
      else
        Object.defineProperty(view, unit, {
          enumerable: true,
          get: () => {
            this.moves = true;
            if (unknown) this.unforeseen = true;
            return value + step * this.by;
          },
        });
    }
    return view as unknown as Counters;
  }
}
