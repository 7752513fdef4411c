import {
  evaluationScores,
  latestMetrics,
  type TrainerContext,
  type TrainerHook,
} from "../../trainer/index.ts";
import { gradientMonitor } from "../health/gradient-monitor.ts";
import { type MetricsHookOptions, planOf } from "./options.ts";
import { MetricsRecorder } from "./recorder.ts";
import type { RunRecord } from "./run-record.ts";

/**
 * Everything that is to be known of a run, through one logger. What hooks log by their contexts goes there, each in
 * its own name; values of every batch under `train` and of every rollout under `rollout`, validation's under
 * `validation`, evaluation's scores under `evaluation`, what the machine does under `system`, throughput and where the
 * time goes under `time`. It shows progress, says that the run is alive, and fills the slot `latestMetrics`. At the
 * end, however it comes, everything is written out and the logger is closed.
 *
 * It watches no batch and no epoch: values are taken in stretches, unread, and what other hooks share is heard of when
 * they provide it. So it never prevents fusing, and never waits for the device.
 * A resumed run keeps its id, and its windows go on where they were.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [consoleSink(), tensorBoardSink("runs/mnist")] });
 * const metrics = metricsHook({ logger, statsStore: await openStatsStore("runs/stats.db"), gradients: true });
 * await new Trainer({ task, config, hooks: [metrics, checkpointHook({ directory: "runs/mnist" })] }).train();
 * ```
 */
export function metricsHook(options: MetricsHookOptions): TrainerHook {
  const plan = planOf(options);
  const { name, timing, system, heartbeat, gradients, primary } = plan;
  const recorder = new MetricsRecorder(plan);
  const running =
    (act: (run: RunRecord, context: TrainerContext) => unknown) =>
    (context: TrainerContext): unknown =>
      recorder.run && act(recorder.run, context);
  const beat = running((run, context) => run.beat(context));

  const children: TrainerHook[] = [
    {
      name: `${name}.time`,
      // Before all others but those that restore, so that everything that they log is heard.
      priority: Number.MAX_VALUE,
      state: recorder.time,
      onTrainingStart: (context) => recorder.start(context),
    },
  ];
  if (timing)
    children.push({
      name: `${name}.pace`,
      schedule: timing.schedule,
      onBatchesEnd: running((run, context) => run.time(context)),
    });
  if (system)
    children.push({
      name: `${name}.system`,
      schedule: system.schedule,
      onBatchesEnd: running((run, context) => run.machine(context)),
    });
  if (heartbeat)
    children.push({
      name: `${name}.heartbeat`,
      schedule: heartbeat.schedule,
      onBatchesEnd: beat,
      onValidationStart: beat,
      onValidationEnd: beat,
    });
  if (gradients) children.push(gradientMonitor(gradients));
  return {
    name,
    wants: [evaluationScores],
    provides: primary ? [latestMetrics] : [],
    state: recorder.state,
    onRegister: (host) => recorder.begin(host),
    onUnregister: () => recorder.end(),
    onBatchesEnd: running((run, context) => run.batches(context)),
    onValidationEnd: running((run, context) => run.validated(context)),
    children,
  };
}
