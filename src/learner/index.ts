/** How tasks keep and change their parameters: states on the device, rates, one step of the optimizer, loops. */
export { applyGradients, type GradientStep, type GradientStepResult } from "./apply-gradients.ts";
export { type CountedKey, countedKey } from "./counted-key.ts";
export { checkMonitor, type MonitorOptions } from "./monitor.ts";
export { firstNonFinite, NonFiniteIndex } from "./non-finite.ts";
export type { Packing } from "./packing.ts";
export { RampNumbers } from "./ramp-numbers.ts";
export { type RateInputs, type RateRamps, rateRamps } from "./rates.ts";
export { repeat } from "./repeat.ts";
export { TensorState, type TensorStateOptions } from "./tensor-state.ts";
