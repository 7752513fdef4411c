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

export {
  type AucOptions,
  type AverageMetricOptions,
  accuracy,
  auc,
  type ClassMetricOptions,
  type ConfusionMatrixOptions,
  confusionMatrix,
  f1,
  type Metric,
  type MetricSet,
  type Metrics,
  mae,
  perplexity,
  precision,
  r2,
  recall,
  rmse,
  type SetMetric,
  type TopKOptions,
  topK,
} from "./metrics.ts";
export { type Batch, countedLoss, type LossInput } from "./objective.ts";
export {
  type SupervisedConfig,
  type SupervisedData,
  type SupervisedOptions,
  supervisedConfig,
} from "./options.ts";
export {
  binary,
  classification,
  type LossStrategy,
  languageModeling,
  type MetricName,
  type Modality,
  modalityStrategies,
  multiLabel,
  multimodal,
  regression,
  sequenceLabeling,
  strategyOf,
  type TaskSpec,
  type TaskSpecOptions,
  taskSpec,
  visionClassification,
} from "./strategies.ts";
export {
  type ConfusionMatrixHookOptions,
  confusionMatrixHook,
  type ValidationTable,
  type ValidationTables,
  validationTables,
} from "./tables.ts";
export { type SupervisedTask, supervisedTask } from "./task.ts";
export { MetricsTracker, type MetricsTrackerOptions, type Validated } from "./tracker.ts";
export {
  type SupervisedTrainer,
  type SupervisedTrainerOptions,
  supervisedTrainer,
  type TestInputs,
  type TrainInputs,
} from "./trainer.ts";
export { GradientAccumulator } from "./update.ts";
