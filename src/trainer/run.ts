import type { Clock } from "../core/index.ts";
import type { HookManager, HookResults } from "../hooks/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { RunContext } from "./context.ts";
import type { Ending } from "./ending.ts";
import type { EpochMeans } from "./epoch-means.ts";
import type { TrainerEvent, TrainerEvents, TrainerState } from "./events.ts";
import type { FiniteWatch } from "./finite.ts";
import type { NewestMetrics } from "./newest-metrics.ts";
import type { RampInputs } from "./ramp-inputs.ts";
import type { Progress } from "./state.ts";
import type { Task } from "./task.ts";
import type { PhaseClock } from "./timing.ts";
import type { ReportValues } from "./values.ts";

/** The parts of one run, as `set-up.ts` puts them together, and the little that moves beside its `progress`. */
export interface Run {
  readonly task: Task;
  readonly config: TrainingConfig;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly random: RandomStreams;
  readonly progress: Progress;
  readonly ending: Ending;
  readonly means: EpochMeans;
  readonly metrics: NewestMetrics;
  readonly ramps: RampInputs;
  readonly finite: FiniteWatch;
  readonly phases: PhaseClock;
  readonly hooks: HookManager<TrainerEvents>;
  readonly context: RunContext;
  /** What the last call reported. */
  values: ReportValues | undefined;
  phase: TrainerState["phase"];
  /** Repeats that the epoch under way consists of. */
  repeats: number;
  /** Repeats that the last call has done and that the loop has not come past yet. */
  ahead: number;
  /** Whether the outcome is decided. */
  ended: boolean;
}

/** The phase an event belongs to: by itself, so that a resumed run says the same. `onBatchesEnd` is in that of its call. */
const phases: Readonly<Record<TrainerEvent, TrainerState["phase"] | undefined>> = {
  onTrainingStart: "none",
  onEpochStart: "none",
  onRolloutStart: "rollout",
  onRolloutEnd: "rollout",
  onBatchStart: "train",
  onBatchesEnd: undefined,
  onBatchEnd: "train",
  onTrainPhaseEnd: "train",
  onValidationStart: "validation",
  onValidationEnd: "validation",
  onEpochEnd: "none",
  onError: undefined,
  onTrainingEnd: "none",
};

/**
 * Runs an event's hooks at the counters of now. Within what one call has done nobody watches (`fuse.ts` has made
 * sure), so there it is only noted that the event occurred. Gives a promise only where a hook did.
 */
export function emit(
  run: Run,
  event: TrainerEvent,
): HookResults | undefined | Promise<HookResults | undefined> {
  const { progress, context } = run;
  const since = progress.occurs(event);
  if (run.ahead > 0) return undefined;
  run.phase = phases[event] ?? run.phase;
  context.counters = progress.counters;
  context.since = since;
  context.values = event === "onBatchesEnd" ? run.values : undefined;
  return run.hooks.run(event, context);
}
