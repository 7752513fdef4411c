/** The trainer: a loop over a task's work, with hooks at its events. */
export { type TrainingConfig, trainingConfig, trainingConfigTable } from "./config.ts";
export { type EarlyStoppingOptions, earlyStopping } from "./early-stopping.ts";
export { type EmaHookOptions, emaHook } from "./ema-hook.ts";
export { type Agree, Ending, type EndingReason, type EndPosition, laterOf } from "./ending.ts";
export {
  type Outcome,
  type PhaseTiming,
  type PhaseTimings,
  type TrainerContext,
  type TrainerEvent,
  type TrainerEvents,
  type TrainerHook,
  type TrainerState,
  trainerEvents,
  type Values,
} from "./events.ts";
export { ReportValues } from "./metrics.ts";
export { stoppedIn, withoutStop } from "./progress.ts";
export type { RankGroup } from "./ranks.ts";
export {
  type CheckpointRecord,
  type EvaluationScores,
  evaluationScores,
  type GradientHealth,
  gradientHealth,
  type InterventionRecord,
  type LatestMetrics,
  latestCheckpoint,
  latestIntervention,
  latestMetrics,
  latestPause,
  latestReplay,
  type PauseRecord,
  type ReplayRecord,
  type RolloutStats,
  rolloutStats,
} from "./slots.ts";
export {
  type Frozen,
  firstCounters,
  frozenStates,
  type Phase,
  type Report,
  type Request,
  type Segment,
  type Setting,
  type Settings,
  type Span,
  segmentsOf,
  type Task,
} from "./task.ts";
export { Trainer, type TrainerOptions, type TrainingResult, type TrainingSetup } from "./trainer.ts";
