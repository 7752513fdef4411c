/** Language models: text from a transformer. */
export {
  type Generated,
  type GenerateOptions,
  generate,
  type Prompt,
  streamTokens,
  type TextTokenizer,
  type TokenChunk,
} from "./generate.ts";
