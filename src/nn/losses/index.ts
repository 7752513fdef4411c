/** Losses as functions of values. */
export {
  type BinaryCrossEntropyOptions,
  binaryCrossEntropy,
  type CrossEntropyOptions,
  crossEntropy,
  type DistributionForm,
  type FocalOptions,
  focal,
  type KlOptions,
  kl,
} from "./classification.ts";
export type { LossOptions, Reduction } from "./reduction.ts";
export { type HuberOptions, huber, mae, mse } from "./regression.ts";
