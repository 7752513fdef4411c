import {
  checkOptions,
  EspalierError,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import { type ArrayTree, type ExampleTree, isIntegers } from "../data/index.ts";
import { np, Value } from "../engine/index.ts";
import { binaryCrossEntropy, crossEntropy, huber, mae as meanAbsolute, mse } from "../nn/index.ts";
import { ofClasses } from "./examples.ts";
import {
  accuracy,
  auc,
  confusionMatrix,
  f1,
  type Metrics,
  mae,
  perplexity,
  precision,
  r2,
  recall,
  rmse,
  type SetMetric,
  spread,
  topK,
} from "./metrics.ts";
import { type Batch, countedLoss, type SupervisedLoss } from "./objective.ts";

/**
 * Kinds of tasks. A strategy is a loss with metrics that fit it, and, for language, how targets follow from inputs. It
 * leaves out what is ignored, counts classes and examples by their weights, and tells how much a batch holds, so that
 * micro-batches and batches of validation add up to the same as one large batch.
 *
 * ```
 * taskSpec({ modality: "vision", metrics: ["accuracy", "f1"] })
 *   strategyOf(spec)   -> visionClassification({ ... }), with these metrics
 *     { loss, metrics, targets }                      -> supervisedTask
 * ```
 */

/** A kind of task: its loss, its metrics, and how targets are made where there are none. */
export interface LossStrategy {
  readonly name: StrategyName;
  readonly loss: SupervisedLoss;
  readonly metrics: Metrics;
  /** Makes inputs and targets from inputs alone. */
  readonly targets?: (x: ExampleTree<Value>) => Batch<ExampleTree<Value>, Value>;
}

const strategyNames = [
  "languageModeling",
  "visionClassification",
  "classification",
  "regression",
  "multimodal",
  "binary",
  "multiLabel",
  "sequenceLabeling",
] as const;
/** The strategies there are, by name. */
export type StrategyName = (typeof strategyNames)[number];

// --- Classes -------------------------------------------------------------------------------------------------------

const classTable = {
  /** The part of each target that is spread over all classes. Default: 0. */
  labelSmoothing: option.number({ min: 0, max: 1, default: 0 }),
  /** How much each class counts, one number each. Default: all alike. */
  classWeights: option.made<readonly number[]>(
    "one number from 0 on for each class, and not all 0",
    (value) =>
      Array.isArray(value) &&
      value.every((weight) => Number.isFinite(weight) && weight >= 0) &&
      value.some((weight) => weight > 0),
    {},
  ),
  /** Labels of this number do not count. Default: none; for sequences -100. */
  ignore: option.integer({}),
};
const sequenceTable = { ...classTable, ignore: option.integer({ default: -100 }) };

/** A strategy of classes: cross entropy, with accuracy. */
const ofLabels =
  (
    name: StrategyName,
    table: typeof classTable | typeof sequenceTable,
    how: Pick<LossStrategy, "targets"> = {},
  ) =>
  (options: Options<typeof classTable> = {}): LossStrategy => {
    const settings = resolveOptions(name, options, table);
    const { ignore } = settings;
    return { name, loss: classLoss(settings), metrics: { accuracy: accuracyWithout(ignore) }, ...how };
  };

const accuracyWithout = (ignore: number | undefined) =>
  ignore === undefined ? accuracy : accuracy({ ignore });

/** Cross entropy of labels (whole numbers, of whatever element type) or distributions, with accuracy. */
export const classification = ofLabels("classification", classTable);

/** {@link classification} of images. */
export const visionClassification = ofLabels("visionClassification", classTable);

/** A label for each place of a sequence: logits [batch, time, classes] and labels [batch, time]. */
export const sequenceLabeling = ofLabels("sequenceLabeling", sequenceTable);

/**
 * Cross entropy of the next token: logits [batch, time, tokens] and tokens [batch, time]. Without targets, inputs are
 * all tokens but the last and targets all but the first; of a tree of inputs, those of its `text`.
 *
 * @example
 * ```ts
 * const { name, ...how } = languageModeling();
 * supervisedTask({ ...how, model, optimizer, data: { x: tokens }, batchSize: 8 });
 * ```
 */
export const languageModeling = ofLabels("languageModeling", sequenceTable, { targets: nextTokens });

/**
 * Images and text into one model, whose inputs are `{ image, text }`: {@link languageModeling} of `text`. For classes
 * of such pairs, take {@link classification}.
 */
export const multimodal = ofLabels("multimodal", sequenceTable, { targets: nextTokens });

function nextTokens(x: ExampleTree<Value>): Batch<ExampleTree<Value>, Value> {
  const tokens = x instanceof Value ? x : x.text;
  if (!(tokens instanceof Value) || tokens.ndim !== 2)
    throw new EspalierError(
      "DATA_INVALID",
      'there are no targets, and no tokens "text" that they follow from',
      { fix: "give targets, { x, y }, or tokens [examples, time] as x or as x.text" },
    );
  const [batch, time] = tokens.shape as readonly [number, number];
  if (time < 2)
    throw new EspalierError(
      "DATA_INVALID",
      `there are no targets, and texts of ${time} tokens have no next one`,
      {
        fix: "give texts of two tokens at least",
      },
    );
  const from = (start: number): Value => np.dynamicSlice(tokens, [0, start], [batch, time - 1]);
  return { x: x instanceof Value ? from(0) : { ...x, text: from(0) }, y: from(1) };
}

/** Cross entropy, with the sum of the labels' weights as its count where they differ. */
function classLoss({ labelSmoothing, classWeights, ignore }: Settings<typeof classTable>): SupervisedLoss {
  const isLabel = (y: Value, logits: Value): boolean => y.ndim < logits.ndim;
  const loss: SupervisedLoss = (logits, y, { mask } = {}) => {
    const target = isLabel(y, logits) ? y.astype("i32") : y;
    const counts = isLabel(y, logits) ? maskOf(target, ignore, mask) : mask;
    return crossEntropy(logits, target, {
      labelSmoothing,
      ...(counts && { mask: counts }),
      ...(classWeights && { classWeights: np.array([...classWeights]) }),
    });
  };
  const marks = { ignored: ignore };
  if (ignore === undefined && !classWeights) return ofClasses(loss, marks);
  return ofClasses(
    countedLoss(loss, (y, weight) => {
      // Distributions have as many classes as there are weights along their last axis, and count by examples.
      if (classWeights && y.dtype === "f32" && y.shape.at(-1) === classWeights.length && y.ndim > 1)
        return weight ? np.sum(weight) : np.full([], y.size / classWeights.length);
      const label = y.astype("i32");
      const mask = maskOf(label, ignore, weight);
      const known = mask ? np.where(np.notEqual(mask, 0), label, 0) : label;
      const each = classWeights ? np.take(np.array([...classWeights]), known) : np.ones(y.shape);
      return np.sum(mask ? each.mul(spread(mask, y.shape)) : each);
    }),
    marks,
  );
}

/** Labels that count: those that are not ignored, times weights. Undefined where all count alike. */
function maskOf(label: Value, ignored: number | undefined, weight: Value | undefined): Value | undefined {
  if (ignored === undefined) return weight;
  const counts = np.notEqual(label, ignored);
  return weight ? np.where(counts, spread(weight, label.shape), 0) : counts;
}

// --- Yes or no -----------------------------------------------------------------------------------------------------

const binaryTable = {
  /** The part of each target that is 1/2 instead of the label. Default: 0. */
  labelSmoothing: classTable.labelSmoothing,
  /** How much a yes counts beside a no. Default: 1. */
  positiveWeight: option.number({ above: 0 }),
  /** Labels of this number do not count. Default: none. */
  ignore: option.integer({}),
};

/** Yes or no from one logit, [batch] or [batch, 1]: labels 0 and 1, or probabilities. With accuracy. */
export function binary(options: Options<typeof binaryTable> = {}): LossStrategy {
  const settings = resolveOptions("binary", options, binaryTable);
  const metrics = { accuracy: accuracyWithout(settings.ignore) };
  return { name: "binary", loss: binaryLoss("binary", settings), metrics };
}

/** Several yes or no at once: logits and labels [batch, labels]. With F1 over all decisions. */
export function multiLabel(options: Options<typeof binaryTable> = {}): LossStrategy {
  const settings = resolveOptions("multiLabel", options, binaryTable);
  const metrics = { f1: f1({ multiLabel: true, average: "micro", ignore: settings.ignore }) };
  return { name: "multiLabel", loss: binaryLoss("multiLabel", settings), metrics };
}

function binaryLoss(
  kind: string,
  { labelSmoothing, positiveWeight, ignore }: Settings<typeof binaryTable>,
): SupervisedLoss {
  const loss: SupervisedLoss = (logits, y, { mask } = {}) => {
    const labels = alike(kind, y, logits);
    const counts = maskOf(labels, ignore, mask);
    return binaryCrossEntropy(logits, labels, {
      labelSmoothing,
      ...(counts && { mask: counts }),
      ...(positiveWeight !== undefined && { positiveWeight }),
    });
  };
  const marks = { ignored: ignore, binary: true };
  if (ignore === undefined) return ofClasses(loss, marks);
  const counted = countedLoss(loss, (y, weight) => np.sum(maskOf(y, ignore, weight) as Value));
  return ofClasses(counted, marks);
}

// --- Numbers -------------------------------------------------------------------------------------------------------

const errors = { mse, mae: meanAbsolute, huber };
const regressionTable = {
  /** Default: "mse". */
  error: option.oneOf(["mse", "mae", "huber"], { default: "mse" }),
};

/** The mean error of predicted numbers. Targets may lack a last axis of one that the outputs have. */
export function regression(options: Options<typeof regressionTable> = {}): LossStrategy {
  const { error } = resolveOptions("regression", options, regressionTable);
  return {
    name: "regression",
    loss: (outputs, y, given = {}) => errors[error](outputs, alike("regression", y, outputs), given),
    metrics: {},
  };
}

function alike(kind: string, y: Value, outputs: Value): Value {
  if (y.ndim !== outputs.ndim - 1) return y;
  if (outputs.shape.at(-1) === 1) return np.expandDims(y, -1);
  throw new EspalierError(
    "SHAPE_MISMATCH",
    `${kind}: the targets, ${y.type.text}, are taken for numbers to predict, and the model gives ${outputs.type.text}`,
    {
      fix: 'for classes give whole numbers by their type, y: Int32Array.from(labels), or taskSpec: { modality: "tabular", strategy: "classification" }; for numbers give the model as many outputs as an example has targets',
    },
  );
}

// --- The kind of a task --------------------------------------------------------------------------------------------

const strategies: Readonly<Record<StrategyName, (options: object) => LossStrategy>> = {
  languageModeling,
  visionClassification,
  classification,
  regression,
  multimodal,
  binary,
  multiLabel,
  sequenceLabeling,
};

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

/** Metrics that a {@link TaskSpec} can name. Each takes the label that is ignored and, of those that have it, `multiLabel`. */
const namedMetrics = {
  accuracy,
  topK,
  perplexity,
  precision,
  recall,
  f1,
  auc,
  confusionMatrix,
  mae,
  rmse,
  r2,
} satisfies Readonly<Record<string, (kind: { readonly ignore?: number | undefined }) => SetMetric>>;
/** The name of a metric in a {@link TaskSpec}. */
export type MetricName = keyof typeof namedMetrics;
const metricNames = Object.keys(namedMetrics) as MetricName[];

const specTable = {
  modality: option.oneOf(modalities, { required: true }),
  /** A name for the task, in logs and errors. */
  name: option.text({}),
  /** Fields of a row that are inputs. Default: its `x`. */
  inputs: option.made<readonly string[]>(
    'names of fields, such as ["image", "text"]',
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
    {},
  ),
  /** The field of a row that is the target. Default: its `y`. */
  targets: option.text({}),
  /** Default: those of the strategy. */
  metrics: option.made<readonly MetricName[]>(
    `names among ${metricNames.join(", ")}`,
    (value) => Array.isArray(value) && value.every((name) => metricNames.includes(name)),
    {},
  ),
  /** Default: the modality's. */
  strategy: option.oneOf(strategyNames, {}),
  ...binaryTable,
  ...classTable,
  ...regressionTable,
};

/** Options of {@link taskSpec}. */
export interface TaskSpecOptions extends Options<typeof specTable> {}

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
  checkOptions("taskSpec", options, specTable);
  return Object.freeze({ ...options, strategy: options.strategy ?? modalityStrategies[options.modality] });
}

/** The strategy of a task, with the metrics that it names. */
export function strategyOf(spec: TaskSpecOptions): LossStrategy {
  const { strategy, modality: _, name: __, inputs: ___, targets: ____, metrics, ...options } = taskSpec(spec);
  const found = strategies[strategy](options);
  if (!metrics) return found;
  const sequence = ["languageModeling", "multimodal", "sequenceLabeling"].includes(strategy);
  const skipped = spec.ignore ?? (sequence ? -100 : undefined);
  const ofOne = metrics.find((name) => !["precision", "recall", "f1", "auc"].includes(name));
  if (strategy === "multiLabel" && ofOne)
    throw new EspalierError(
      "OPTION_INVALID",
      `taskSpec: ${ofOne} is not a metric of several labels at once`,
      { fix: "name some of precision, recall, f1, auc" },
    );
  const kind = { ignore: skipped, ...(strategy === "multiLabel" && { multiLabel: true }) };
  return { ...found, metrics: Object.fromEntries(metrics.map((name) => [name, namedMetrics[name](kind)])) };
}

/** Without a task: targets that are whole numbers by their type are classes, others are numbers to predict. */
export const fallbackStrategy = (y: ArrayTree | undefined): LossStrategy =>
  y !== undefined && isIntegers(y) ? classification() : regression();
