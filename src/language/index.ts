/** Language models: text from transformers, problems to learn from, and weights of other systems. */
export type { Bert, BertInput, BertOutput } from "./bert.ts";
export {
  type Conversation,
  type ConverseOptions,
  converse,
  type Tool,
  type ToolCall,
} from "./conversations.ts";
export {
  type Generated,
  type GenerateOptions,
  generate,
  type Prompt,
  streamTokens,
  type TokenChunk,
} from "./generate.ts";
export {
  type DrawOptions,
  drawProblems,
  encodeKnown,
  encodeProblems,
  passAtK,
  type TextLesson,
  type TextProblem,
  textLessons,
} from "./lessons.ts";
export { loadPretrained, type Pretrained, type PretrainedOptions } from "./pretrained.ts";
export {
  abortSignal,
  exactAnswer,
  milliseconds,
  type RewardModule,
  required,
  type ScoreOptions,
  scoreAll,
  type TextReward,
  type TextSample,
  type TextScores,
  withMethods,
} from "./rewards.ts";
export * from "./token-losses.ts";
