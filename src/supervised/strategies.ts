import { checkNames, checkWord, EspalierError } from "../core/index.ts";
import { type ArrayTree, isIntegers } from "../data/index.ts";
import { np, type Value } from "../engine/index.ts";
import { crossEntropy, huber, mae, mse } from "../nn/index.ts";

import { ofClasses } from "./examples.ts";

import { accuracy, type Metrics } from "./metrics.ts";
import type { Batch, SupervisedLoss } from "./objective.ts";

/** A kind of task: its loss, its metrics, and how targets are made where there are none. */
export interface LossStrategy {
  readonly name: StrategyName;
  readonly loss: SupervisedLoss;
  readonly metrics: Metrics;
  /** Makes inputs and targets from inputs alone. */
  readonly targets?: (x: Value) => Batch<Value, Value>;
}

const strategyNames = ["languageModeling", "visionClassification", "classification", "regression"] as const;
/** The strategies there are, by name. */
export type StrategyName = (typeof strategyNames)[number];

/** Options of {@link languageModeling}. */
export interface LanguageModelingOptions {
  /** Targets of this number do not count. Default: -100. */
  readonly ignore?: number;
  readonly labelSmoothing?: number;
}

/**
 * Cross entropy of the next token: logits [batch, time, tokens] and tokens [batch, time]. Without targets, inputs are
 * all tokens but the last and targets all but the first.
 *
 * @example
 * ```ts
 * const { name, ...how } = languageModeling();
 * supervisedTask({ ...how, model, optimizer, data: { x: tokens }, batchSize: 8 });
 * ```
 */
export function languageModeling(options: LanguageModelingOptions = {}): LossStrategy {
  checkNames("languageModeling", options, ["ignore", "labelSmoothing"]);
  const { ignore = -100, labelSmoothing = 0 } = options;
  const counted = (y: Value): Value => np.notEqual(y, ignore);
  return {
    name: "languageModeling",
    loss: ofClasses<SupervisedLoss>(
      (logits, y) => {
        const labels = y.astype("i32");
        return crossEntropy(logits, labels, { mask: counted(labels), labelSmoothing });
      },
      { ignored: ignore },
    ),
    metrics: { accuracy: accuracy({ ignore }) },
    targets: (x) => {
      const [batch, time] = x.shape as readonly [number, number];
      const from = (start: number): Value => np.dynamicSlice(x, [0, start], [batch, time - 1]);
      return { x: from(0), y: from(1) };
    },
  };
}

/** Options of {@link classification}. */
export interface ClassificationOptions {
  readonly labelSmoothing?: number;
}

/** Cross entropy of labels (whole numbers, of whatever element type) or distributions, with accuracy. */
export function classification(options: ClassificationOptions = {}): LossStrategy {
  checkNames("classification", options, ["labelSmoothing"]);
  const { labelSmoothing = 0 } = options;
  return {
    name: "classification",
    loss: ofClasses<SupervisedLoss>((logits, y) =>
      crossEntropy(logits, y.ndim < logits.ndim ? y.astype("i32") : y, { labelSmoothing }),
    ),
    metrics: { accuracy },
  };
}

/** {@link classification} of images. */
export function visionClassification(options: ClassificationOptions = {}): LossStrategy {
  return { ...classification(options), name: "visionClassification" };
}

/** Options of {@link regression}. */
export interface RegressionOptions {
  /** Default: "mse". */
  readonly error?: "mse" | "mae" | "huber";
}

/** The mean error of predicted numbers. Targets may lack a last axis of one that the outputs have. */
export function regression(options: RegressionOptions = {}): LossStrategy {
  checkNames("regression", options, ["error"]);
  const known = ["mse", "mae", "huber"] as const;
  const error = checkWord("regression", "error", options.error ?? "mse", known);
  return {
    name: "regression",
    loss: (outputs, y) => errors[error](outputs, alike(y, outputs)),
    metrics: {},
  };
}

const errors = { mse, mae, huber };

function alike(y: Value, outputs: Value): Value {
  if (y.ndim !== outputs.ndim - 1) return y;
  if (outputs.shape.at(-1) === 1) return np.expandDims(y, -1);
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `regression: the targets, ${y.type.text}, are taken for numbers to predict, and the model gives ${outputs.type.text}`,
    {
      fix: 'for classes give whole numbers by their type, y: Int32Array.from(labels), or taskSpec: { modality: "tabular", strategy: "classification" }; for numbers give the model as many outputs as an example has targets',
    },
  );
}

const modalities = ["text", "vision", "multimodal", "tabular"] as const;
/** The kind of examples. */
export type Modality = (typeof modalities)[number];

/** The strategy of each modality. */
export const modalityStrategies: Readonly<Record<Modality, StrategyName>> = {
  text: "languageModeling",
  multimodal: "languageModeling",
  vision: "visionClassification",
  tabular: "regression",
};

/** Options of {@link taskSpec}. */
export interface TaskSpecOptions {
  readonly modality: Modality;
  /** Default: the modality's. */
  readonly strategy?: StrategyName;
  /** For classification and language: how much of each target is spread over all classes. */
  readonly labelSmoothing?: number;
  /** For language: targets of this number do not count. */
  readonly ignore?: number;
}

/** A kind of task, without data or model. */
export interface TaskSpec extends TaskSpecOptions {
  readonly strategy: StrategyName;
}

/**
 * Completes and checks what kind of task it is.
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
