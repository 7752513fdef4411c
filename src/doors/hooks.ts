/** Hooks beyond the front door: the manager that orders and runs them, slots of the trainer, and the types of both. */
export {
  type Handlers,
  type Hook,
  type HookContext,
  type HookFailure,
  type HookHost,
  HookManager,
  type HookManagerOptions,
  type SlotAccess,
  SlotBoard,
} from "../hooks/index.ts";
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
  type PhaseTimings,
  type ReplayRecord,
  type RolloutStats,
  rolloutStats,
  trainerEvents,
} from "../trainer/index.ts";
