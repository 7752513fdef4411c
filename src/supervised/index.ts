/** Learning targets from inputs: the task, and a trainer for it. */

export { type BatchGroup, Loader, type LoaderOptions } from "../data/index.ts";
export type { MonitorOptions, RateInputs } from "../learner/index.ts";
export type { AutomaticParts } from "./automatic-hooks.ts";

export { type SupervisedConfig, type SupervisedFields, supervisedConfig } from "./config.ts";

export {
  accuracy,
  type Batch,
  type LossInput,
  type Metric,
  type Metrics,
  type SupervisedLoss,
} from "./objective.ts";
export type { SupervisedData, SupervisedOptions } from "./options.ts";
export {
  type ClassificationOptions,
  classification,
  type LanguageModelingOptions,
  type LossStrategy,
  languageModeling,
  type Modality,
  modalityStrategies,
  type RegressionOptions,
  regression,
  type StrategyName,
  strategyOf,
  type TaskSpec,
  type TaskSpecOptions,
  taskSpec,
  visionClassification,
} from "./strategies.ts";
export { type SupervisedTask, supervisedTask } from "./task.ts";
export {
  type ResumeFrom,
  type SupervisedTrainer,
  type SupervisedTrainerOptions,
  supervisedTrainer,
  type TrainInputs,
} from "./trainer.ts";
