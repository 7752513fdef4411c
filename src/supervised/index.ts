/** Learning targets from inputs: the task, and a trainer for it. */

export { type BatchGroup, Loader, type LoaderOptions } from "../data/index.ts";

export { type DataModule, type DataModuleOptions, dataModule } from "./data-module.ts";
export { findLearningRate, type LearningRateCurve, type LearningRateOptions } from "./learning-rate.ts";
export {
  type LoadedModel,
  type LoadModelOptions,
  loadModel,
  type Outputs,
  type PredictInput,
} from "./load-model.ts";

export * from "./metrics.ts";
export { type Batch, countedLoss, type LossInput } from "./objective.ts";
export {
  type SupervisedConfig,
  type SupervisedData,
  type SupervisedOptions,
  supervisedConfig,
} from "./options.ts";
export * from "./strategies.ts";
export { type SupervisedTask, supervisedTask } from "./task.ts";
export {
  type ConfusionMatrixHookOptions,
  confusionMatrixHook,
  MetricsTracker,
  type MetricsTrackerOptions,
  type Validated,
  type ValidationTable,
  type ValidationTables,
  validationTables,
} from "./tracker.ts";
export {
  type SupervisedTrainer,
  type SupervisedTrainerOptions,
  supervisedTrainer,
  type TestInputs,
  type TrainInputs,
} from "./trainer.ts";
export { GradientAccumulator } from "./update.ts";
