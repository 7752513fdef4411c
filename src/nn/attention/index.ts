export type { BlockOptions } from "./block.ts";
export type { KeyValueCache } from "./cache.ts";
export { type EncoderInput, type EncoderOptions, transformerEncoder } from "./encoder.ts";
export { type FeedForwardActivation, type FeedForwardOptions, feedForward } from "./feed-forward.ts";
export {
  type Attention,
  type AttentionInput,
  type MultiHeadOptions,
  multiHeadAttention,
} from "./multi-head.ts";
export {
  type LearnedPositionsOptions,
  learnedPositions,
  type SinusoidalOptions,
  sinusoidal,
} from "./positions.ts";
export { type RotaryOptions, rotary } from "./rotary.ts";
export { type Transformer, type TransformerOptions, transformer } from "./transformer.ts";
