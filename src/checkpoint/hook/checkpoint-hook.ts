import {
  evaluationScores,
  latestCheckpoint,
  latestMetrics,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { checkpointMark } from "./is-checkpoint-hook.ts";
import { CheckpointKeeper } from "./keeper.ts";
import { type CheckpointHookOptions, planOf } from "./options.ts";

/**
 * Saves a run and goes on from what was saved. Before training it restores; at its times it freezes the whole run once
 * all hooks of the event have run, so that nothing another hook did in that event is lost or done twice, and writes it
 * while training goes on; at the end it saves what has come since, also where the run was stopped or interrupted. A
 * write that fails surfaces at the next event, as `onFailure` says.
 *
 * Several such hooks with stores and schedules of their own live together. One is primary: it restores, and provides
 * the slot `latestCheckpoint`; the others have `primary: false`.
 *
 * @example
 * ```ts
 * const checkpoint = checkpointHook({
 *   directory: "runs/mnist",
 *   schedule: every({ epochs: 1 }), // At the end of epochs, where scores have been measured.
 *   keep: { last: 3, best: { metric: "validation/accuracy", k: 1, direction: "max" } },
 *   publish: [{ to: localStore("published"), schedule: every({ epochs: 10 }) }],
 * });
 * await new Trainer({ task, config, hooks: [checkpoint] }).train(); // Killed and started again, it goes on.
 * ```
 */
export function checkpointHook(options: CheckpointHookOptions): TrainerHook {
  const plan = planOf(options);
  const { name, schedule, on, primary, publish, onFailure, timeBudget } = plan;
  const keeper = new CheckpointKeeper(plan);
  const ranks = "all";
  const manners = {
    ranks,
    ...(onFailure && { onFailure }),
    ...(timeBudget !== undefined && { timeBudget }),
  } as const;
  const children: readonly TrainerHook[] = [
    {
      name: `${name}.start`,
      // Before all others, so that they find the run where it goes on.
      priority: Number.POSITIVE_INFINITY,
      ranks,
      onTrainingStart: (context) => keeper.start(context),
    },
    { name: `${name}.end`, ...manners, onTrainingEnd: (context) => keeper.end(context) },
  ];
  return {
    ...checkpointMark,
    name,
    schedule,
    ...manners,
    wants: [evaluationScores, latestMetrics],
    ...(primary && { provides: [latestCheckpoint] }),
    ...(publish.length > 0 && { state: keeper.marks }),
    onRegister: (host) => keeper.begin(host),
    onUnregister: () => keeper.close(),
    [on]: (context: TrainerContext) => keeper.save(context),
    children,
  };
}
