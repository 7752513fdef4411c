import { checkNames, checkWord } from "../core/index.ts";
import { type ArrayTree, isIntegers } from "../data/index.ts";
import {
  classification,
  type LossStrategy,
  languageModeling,
  regression,
  type StrategyName,
  strategyNames,
  visionClassification,
} from "./strategies.ts";

/** What kind of thing is learnt from; decides how it is learnt unless that is said. */
export const modalities = ["text", "vision", "multimodal", "tabular"] as const;
/** What the examples are. */
export type Modality = (typeof modalities)[number];

/** What each modality is learnt by. */
export const modalityStrategies: Readonly<Record<Modality, StrategyName>> = {
  text: "languageModeling",
  multimodal: "languageModeling",
  vision: "visionClassification",
  tabular: "regression",
};

/** Options of {@link taskSpec}. */
export interface TaskSpecOptions {
  readonly modality: Modality;
  /** Another strategy than the modality's. */
  readonly strategy?: StrategyName;
  /** For classification and language: how much of each target is spread over all classes. */
  readonly labelSmoothing?: number;
  /** For language: targets of this number do not count. */
  readonly ignore?: number;
}

/** What is to be learnt, without data or model. */
export interface TaskSpec extends TaskSpecOptions {
  readonly strategy: StrategyName;
}

/**
 * Says what kind of task it is.
 *
 * @example
 * ```ts
 * taskSpec({ modality: "vision" }).strategy; // "visionClassification"
 * ```
 */
export function taskSpec(options: TaskSpecOptions): TaskSpec {
  checkNames("taskSpec", options, ["modality", "strategy", "labelSmoothing", "ignore"]);
  const modality = checkWord("taskSpec", "modality", options.modality, modalities);
  const strategy = checkWord(
    "taskSpec",
    "strategy",
    options.strategy ?? modalityStrategies[modality],
    strategyNames,
  );
  return Object.freeze({ ...options, modality, strategy });
}

/** The strategy of a task. */
export function strategyOf(spec: TaskSpecOptions): LossStrategy {
  const { strategy, labelSmoothing, ignore } = taskSpec(spec);
  const smoothing = labelSmoothing === undefined ? {} : { labelSmoothing };
  switch (strategy) {
    case "languageModeling":
      return languageModeling({ ...smoothing, ...(ignore !== undefined && { ignore }) });
    case "visionClassification":
      return visionClassification(smoothing);
    case "classification":
      return classification(smoothing);
    case "regression":
      return regression();
  }
}

/** Without a task: targets that are whole numbers by their type are classes, others are numbers to predict. */
export const fallbackStrategy = (y: ArrayTree | undefined): LossStrategy =>
  y !== undefined && isIntegers(y) ? classification() : regression();
