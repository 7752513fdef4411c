export { tanh } from "../np/elementary.ts";
export { type OneHotOptions, oneHot } from "../np/indexing.ts";
export {
  celu,
  type EluOptions,
  elu,
  type GeluOptions,
  type GluOptions,
  gelu,
  glu,
  hardSigmoid,
  hardSwish,
  hardTanh,
  type LeakyReluOptions,
  leakyRelu,
  logSigmoid,
  logSoftmax,
  mish,
  relu,
  relu6,
  type SoftmaxOptions,
  selu,
  sigmoid,
  silu,
  softmax,
  softplus,
  softsign,
  swish,
} from "./activations.ts";
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
