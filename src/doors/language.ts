/** Language models: text from a transformer, one prompt or many at once. */
export {
  type Generated,
  type GenerateOptions,
  generate,
  type Prompt,
  streamTokens,
  type TextTokenizer,
  type TokenChunk,
} from "../language/index.ts";
