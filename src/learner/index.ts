/** The part that all tasks trained by gradients share: parameters, rates, the gradient step. Head: learner.ts. */
export {
  checkMonitor,
  firstNonFinite,
  type GradientStepResult,
  gradientsOf,
  type MonitorOptions,
} from "./gradient-step.ts";
export { KeyCounts, type KeyCountsOptions } from "./keys.ts";
export { FirstNonFinite, Learner, type LearnerOptions, repeat } from "./learner.ts";
export type { RateInputs } from "./rates.ts";
export {
  compileUpdate,
  type DeviceState,
  type Packing,
  type StateTrees,
  TensorState,
  type TensorStateOptions,
} from "./tensor-state.ts";
