/** The part that all tasks trained by gradients share: parameters, rates, the gradient step. Head: learner.ts. */
export {
  applyGradients,
  checkMonitor,
  firstNonFinite,
  type GradientStep,
  type GradientStepResult,
  gradientsOf,
  type MonitorOptions,
} from "./gradient-step.ts";
export { KeyCounts, type KeyCountsOptions } from "./keys.ts";
export { FirstNonFinite, Learner, type LearnerOptions, repeat } from "./learner.ts";
export { NonFiniteIndex } from "./non-finite.ts";
export { RampNumbers, type RateInputs, type RateRamps, rateRamps } from "./rates.ts";
export {
  compileUpdate,
  type DeviceState,
  type Packing,
  type StateTrees,
  TensorState,
  type TensorStateOptions,
} from "./tensor-state.ts";
