/** Language models: text from a transformer, one prompt or many at once, and weights of other systems. */
export {
  type Bert,
  type BertInput,
  type BertOutput,
  type Generated,
  type GenerateOptions,
  generate,
  loadPretrained,
  type Pretrained,
  type PretrainedOptions,
  type Prompt,
  streamTokens,
  type TokenChunk,
} from "../language/index.ts";
