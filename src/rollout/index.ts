/** Rollout workers: experience is made apart from the trainer. Head: worker.ts. */
export { packArrays, unpackArrays } from "./array-bytes.ts";
export { environmentRollouts, type PolicyTask, policyTask } from "./environments.ts";
export {
  CheckpointHook,
  CompositeHook,
  EvaluationHook,
  evaluationHook,
  LoggingHook,
  MetricsHook,
} from "./hooks.ts";
export { makeWorker } from "./process-main.ts";
export {
  isWorkerProcess,
  type WorkerProcesses,
  type WorkerStart,
  workerProcesses,
  workerVariable,
} from "./processes.ts";
export type { ReplayCounts } from "./replay.ts";
export * from "./rollout.ts";
export { type ReferenceOptions, type RolloutTask, type RolloutTaskOptions, rolloutTask } from "./task.ts";
export { type LanguageTaskOptions, languageTask, type TextRolloutOptions, textRollouts } from "./text.ts";
export {
  capacityOption,
  checkWeights,
  type InProcessTransport,
  inProcessTransport,
  LinkCalls,
  Newest,
  RolloutQueue,
  transportClosed,
} from "./transport.ts";
export {
  RolloutWorker,
  type RolloutWorkerOptions,
  type WorkerContext,
  type WorkerEvents,
  type WorkerHook,
  type WorkerMetadata,
  type WorkerResult,
} from "./worker.ts";
