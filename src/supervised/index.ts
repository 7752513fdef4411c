/** Learning targets from inputs: the task, and a trainer for it. */
export { type BatchGroup, Loader, type LoaderOptions } from "../data/index.ts";
export * from "./data-module.ts";
export * from "./learning-rate.ts";
export * from "./load-model.ts";
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
export * from "./tracker.ts";
export * from "./trainer.ts";
export { GradientAccumulator } from "./update.ts";
