/** Language models: text from transformers, and weights of other systems. */
export type { Bert, BertInput, BertOutput } from "./bert.ts";
export {
  type Generated,
  type GenerateOptions,
  generate,
  type Prompt,
  streamTokens,
  type TokenChunk,
} from "./generate.ts";
export { loadPretrained, type Pretrained, type PretrainedOptions } from "./pretrained.ts";
