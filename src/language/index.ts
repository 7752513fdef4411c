/** Language models: text from transformers, problems to learn from, and weights of other systems. */
export type { Bert, BertInput, BertOutput } from "./bert.ts";
export * from "./conversations.ts";
export * from "./generate.ts";
export * from "./lessons.ts";
export * from "./pretrained.ts";
export * from "./rewards.ts";
export * from "./token-losses.ts";
