/** The trainer: a loop over a task's work, with hooks at its events. */
export { type TrainingConfig, trainingConfig } from "./config.ts";
export { type Agree, type EndingReason, laterOf, type Place } from "./ending.ts";
export {
  type Outcome,
  type RowStretch,
  type TrainerContext,
  type TrainerEvent,
  type TrainerEvents,
  type TrainerHook,
  type TrainerState,
  trainerEvents,
  type Values,
} from "./events.ts";
export { frozenStates } from "./frozen.ts";
export type { TrainingResult } from "./result.ts";
export type { TrainerOptions } from "./set-up.ts";
export type { Setting, Settings } from "./settings.ts";
export {
  type CheckpointRecord,
  type EvaluationScores,
  evaluationScores,
  type GradientHealth,
  gradientHealth,
  type LatestMetrics,
  latestCheckpoint,
  latestMetrics,
  latestReplay,
  type ReplayRecord,
  type RolloutStats,
  rolloutStats,
} from "./slots.ts";
export { stoppedIn, withoutStop } from "./state.ts";
export type { Frozen, Phase, Report, Request, Segment, Span, Task } from "./task.ts";
export type { PhaseTiming, PhaseTimings } from "./timing.ts";
export { Trainer } from "./trainer.ts";
export type { TrainingSetup } from "./training-setup.ts";
export { ReportValues } from "./values.ts";
