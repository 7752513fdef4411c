import { every } from "../../schedule/index.ts";
import {
  evaluationScores,
  latestReplay,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { type EvaluationHookOptions, planOf } from "./evaluation-options.ts";
import { LocalEvaluations } from "./local.ts";
import type { EvaluationQueue } from "./queue.ts";
import { RemoteEvaluations } from "./remote.ts";

/**
 * Plays episodes with the policy as it is now and then, and says how good it is: in the slot `evaluationScores`, from
 * where metrics, checkpoints and curricula have it, and in a stats store. Scores are `<suite>.return`, `.return.min`,
 * `.return.max`, `.return.deviation`, `.length`, `.positive`, `.episodes`, and without a suite's name those of all
 * episodes together. They are filed under the step of what was evaluated.
 *
 * It draws from a stream of its own and changes nothing of the run: training is the same bit for bit with and without
 * it. The same episodes are played each time, so that evaluations can be compared.
 *
 * Where scores come while training goes on (`background`, `remote`), it is a matter of time when others hear of them:
 * a run whose curriculum listens to them resumes exactly only with `inline`.
 *
 * @example
 * ```ts
 * const evaluation = evaluationHook({
 *   player: task.player,
 *   suites: { cartpole: { environment: "CartPole-v1" } },
 *   episodes: 20,
 *   schedule: every({ epochs: 10 }),
 * });
 * await new Trainer({ task, config, hooks: [evaluation, metricsHook({ logger })] }).train();
 * ```
 */
export function evaluationHook(options: EvaluationHookOptions): TrainerHook {
  const plan = planOf(options);
  const { name, schedule, on, mode, primary, replays, onFailure, timeBudget, queue } = plan;
  const slots = [evaluationScores, ...(replays ? [latestReplay] : [])];
  const settings = {
    ...{ name, schedule, onFailure },
    ...(primary && { provides: slots }),
    ...(timeBudget !== undefined && { timeBudget }),
  };
  if (mode === "remote") {
    // `planOf` refuses the mode without a queue.
    const remote = new RemoteEvaluations(plan, queue as EvaluationQueue);
    return {
      ...settings,
      onRegister: (host) => remote.begin(host),
      onUnregister: () => remote.close(),
      [on]: (context: TrainerContext) => remote.submit(context),
      children: [
        {
          name: `${name}.results`,
          // After every call of the task, so that it never prevents fusing.
          schedule: every({ seconds: 1 }),
          onFailure,
          onBatchesEnd: (context: TrainerContext) => remote.collect(context),
        },
        { name: `${name}.end`, onFailure, onTrainingEnd: (context: TrainerContext) => remote.end(context) },
      ] as TrainerHook[],
    };
  }
  const local = new LocalEvaluations(plan);
  if (mode === "inline") return { ...settings, [on]: (context: TrainerContext) => local.inline(context) };
  return {
    ...settings,
    onUnregister: () => local.close(),
    [on]: (context: TrainerContext) => local.background(context),
  };
}
