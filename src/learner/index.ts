/** The part that all tasks trained by gradients share: parameters, rates, the gradient step. Head: learner.ts. */
export { checkShare, type DevicesOption, devicesRow, placeOf } from "./devices.ts";
export {
  firstNonFinite,
  type GradientStepResult,
  gradientsOf,
  type MonitorOptions,
  monitorRow,
} from "./gradient-step.ts";
export { KeyCounts } from "./keys.ts";
export { type AverageOptions, Learner, repeat } from "./learner.ts";
export { compileRankUpdate, type RankSum } from "./rank-update.ts";
export type { RateInputs } from "./rates.ts";
export { compileUpdate, type DeviceState, TensorState, type TensorStateOptions } from "./tensor-state.ts";
