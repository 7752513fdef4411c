import type { HookFailure, HookTiming } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { Outcome } from "./events.ts";
import type { Run } from "./run.ts";
import type { PhaseTimings } from "./timing.ts";

/** How a run went. */
export interface TrainingResult {
  readonly run: string;
  readonly outcome: Outcome;
  /** Why it ended before the last epoch; undefined where it did not. */
  readonly reason: string | undefined;
  readonly counters: Counters;
  /** The newest value of every scalar metric that batches and rollouts reported, as `state.metrics()` gives them. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Metrics of the last validation. */
  readonly validation: Readonly<Record<string, number>> | undefined;
  readonly timings: {
    /** Of the whole run, those before a resume included. */
    readonly seconds: number;
    readonly phases: PhaseTimings;
    readonly hooks: readonly HookTiming[];
  };
  /** Hooks that failed without stopping the run (`onFailure: "warn"` or `"disable"`): how often, and the last cause. */
  readonly hookFailures: readonly HookFailure[];
  /** What failed, where the outcome is failed. */
  readonly error: unknown;
}

export function resultOf(run: Run, metrics: TrainingResult["metrics"]): TrainingResult {
  const { progress, ending, phases, hooks, config, clock } = run;
  return {
    run: config.name,
    outcome: ending.outcome ?? "completed",
    reason: ending.reason,
    counters: progress.counters,
    metrics,
    validation: progress.validation,
    timings: {
      seconds: progress.secondsAt(clock.now()),
      phases: phases.read(),
      hooks: hooks.timings(),
    },
    hookFailures: hooks.failures(),
    error: ending.error,
  };
}
