export { tanh } from "../np/elementary.ts";
export { type OneHotOptions, oneHot } from "../np/indexing.ts";
export * from "./activations.ts";
export * from "./attention.ts";
export {
  type ConvOptions,
  type ConvTransposeOptions,
  conv,
  convTranspose,
  type Layout,
  type PaddingOption,
} from "./conv.ts";
export * from "./pool.ts";
export { logSoftmax, type SoftmaxOptions, softmax } from "./softmax.ts";
