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
export { type RollbackOptions, rollbackHook } from "../metrics/index.ts";
export {
  type CheckpointRecord,
  type EmaHookOptions,
  type EvaluationScores,
  emaHook,
  evaluationScores,
  type GradientHealth,
  gradientHealth,
  type InterventionRecord,
  type LatestMetrics,
  latestCheckpoint,
  latestIntervention,
  latestMetrics,
  latestReplay,
  type PhaseTimings,
  type ReplayRecord,
  type RolloutStats,
  rolloutStats,
  trainerEvents,
} from "../trainer/index.ts";
