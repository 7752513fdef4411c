/** Losses as functions of values. */
export {
  type BinaryCrossEntropyOptions,
  binaryCrossEntropy,
  type FocalOptions,
  focal,
} from "./binary.ts";
export { type CrossEntropyOptions, crossEntropy } from "./cross-entropy.ts";
export { type DistributionForm, type KlOptions, kl } from "./kl.ts";
export type { LossOptions, Reduction } from "./reduction.ts";
export { type HuberOptions, huber, mae, mse } from "./regression.ts";
