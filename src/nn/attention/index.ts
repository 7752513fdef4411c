export {
  type BlockOptions,
  type FeedForwardActivation,
  type FeedForwardOptions,
  feedForward,
} from "./block.ts";
export { type EncoderInput, type EncoderOptions, transformerEncoder } from "./encoder.ts";
export type { CachedOptions, KeyValueCache } from "./multi-head.ts";
export {
  type Attention,
  type AttentionInput,
  type MultiHeadOptions,
  multiHeadAttention,
} from "./multi-head.ts";
export {
  type LearnedPositionsOptions,
  learnedPositions,
  type RotaryOptions,
  rotary,
  type SinusoidalOptions,
  sinusoidal,
} from "./positions.ts";
export {
  type Transformer,
  type TransformerCachedOptions,
  type TransformerOptions,
  transformer,
} from "./transformer.ts";
