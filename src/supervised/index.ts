/** Learning targets from inputs: the task, and a trainer for it. */

export { type BatchGroup, Loader, type LoaderOptions } from "../data/index.ts";

export { type SupervisedConfig, supervisedConfig } from "./config.ts";

export {
  accuracy,
  type Batch,
  type LossInput,
  type Metric,
  type Metrics,
} from "./objective.ts";
export type { SupervisedData, SupervisedOptions } from "./options.ts";
export {
  classification,
  type LossStrategy,
  languageModeling,
  type Modality,
  modalityStrategies,
  regression,
  strategyOf,
  type TaskSpec,
  type TaskSpecOptions,
  taskSpec,
  visionClassification,
} from "./strategies.ts";
export { type SupervisedTask, supervisedTask } from "./task.ts";
export {
  type SupervisedTrainer,
  type SupervisedTrainerOptions,
  supervisedTrainer,
  type TrainInputs,
} from "./trainer.ts";
