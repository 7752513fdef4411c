import { EspalierError } from "../core/index.ts";
import type { RankSum } from "../learner/index.ts";
import type { TrainerHook } from "./events.ts";
import type { Task } from "./task.ts";

/**
 * The ranks of a run that train one model together, seen from one of them: what a trainer and its task need of them.
 * All hold the same state; the main one, rank 0, restores and saves it. `trainOnRanks` gives one.
 *
 * @example
 * ```ts
 * await trainOnRanks({ run: "digits", ranks: 2 }, async (ranks) => {
 *   await new Trainer({ task: makeTask(), config: { epochs: 10 }, ranks }).train();
 * });
 * ```
 */
export interface RankGroup extends RankSum {
  /** The main rank's value on all ranks: arrays and plain values. What the others give is not looked at. */
  broadcast<T>(name: string, value: T | undefined): Promise<T>;
  /** Hooks by which a trainer's ranks begin with the main one's state and end at the same place. */
  readonly hooks: readonly TrainerHook[];
}

/** Refuses a task that would train by itself on every rank. */
export function checkRanks(task: Task, ranks: RankGroup | undefined): void {
  if (!ranks || task.trainsOnRanks) return;
  throw new EspalierError("TASK_RANKS", "this task cannot be trained by several ranks", {
    fix: "use supervisedTask or rolloutTask, or leave ranks out",
  });
}
