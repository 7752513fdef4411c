/**
 * Layers and models as pairs of pure functions, losses, and the engine's functions for networks: one namespace, `nn`.
 */
import { nn as functions } from "../engine/index.ts";

export const {
  avgPool,
  celu,
  conv,
  convTranspose,
  dotProductAttention,
  elu,
  gelu,
  glu,
  hardSigmoid,
  hardSwish,
  hardTanh,
  leakyRelu,
  logSigmoid,
  logSoftmax,
  maxPool,
  mish,
  oneHot,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softmax,
  softplus,
  softsign,
  swish,
  tanh,
} = functions;
export type AttentionOptions = functions.AttentionOptions;
export type AvgPoolOptions = functions.AvgPoolOptions;
export type ConvOptions = functions.ConvOptions;
export type ConvTransposeOptions = functions.ConvTransposeOptions;
export type EluOptions = functions.EluOptions;
export type GeluOptions = functions.GeluOptions;
export type GluOptions = functions.GluOptions;
export type Layout = functions.Layout;
export type LeakyReluOptions = functions.LeakyReluOptions;
export type OneHotOptions = functions.OneHotOptions;
export type PaddingOption = functions.PaddingOption;
export type PoolOptions = functions.PoolOptions;
export type SoftmaxOptions = functions.SoftmaxOptions;

// Parts with folders of their own.
export * from "./attention/index.ts";
export { type CnnOptions, cnn } from "./cnn.ts";
export { type Combine, type ParallelOptions, parallel, residual, sequential } from "./combine.ts";
export { type ConvLayerOptions, conv1d, conv2d } from "./conv.ts";
export { type DenseOptions, dense, type MlpOptions, mlp } from "./dense.ts";
export { dropout } from "./dropout.ts";
export { type EmbeddingOptions, embedding } from "./embedding.ts";
export { fromRecipe } from "./from-recipe.ts";
export type { Initializer } from "./initializers.ts";
export * as initializers from "./initializers.ts";
export {
  childKey,
  childParams,
  countParameters,
  drawParameters,
  inLayer,
  type Layers,
  layerError,
  layerPath,
  type ParameterSpec,
  parameter,
  parameterMismatch,
  parameterSpecs,
} from "./layer.ts";
export * from "./losses/index.ts";
export type { ApplyOptions, InitKey, InitOptions, Layer, Model, Params } from "./model.ts";
export { inBf16, Moments } from "./moments.ts";
export {
  type BatchNormOptions,
  batchNorm,
  groupNorm,
  layerNorm,
  type NormOptions,
  type RmsNormOptions,
  rmsNorm,
} from "./norm.ts";
export {
  type AvgPoolLayerOptions,
  avgPool1d,
  avgPool2d,
  flatten,
  globalAvgPool,
  maxPool1d,
  maxPool2d,
  type PoolLayerOptions,
} from "./pool.ts";
export { type Recipe, recipeOf } from "./recipe.ts";
export * from "./recurrent/index.ts";
export { type SummaryOptions, summary } from "./summary.ts";
