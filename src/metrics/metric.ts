import { checkMetricPattern, checkOptions, type Options, option } from "../core/index.ts";
import type { MetricRecord, Reduction } from "./record.ts";

/** Categories of scores. Each belongs to the model at one step, so that a mean over several says nothing. */
const scores: readonly string[] = ["validation", "evaluation", "val", "valid", "eval", "test"];

/** True for a category that holds scores, as validation and evaluation give them. */
export const holdsScores = (category: string): boolean => scores.includes(category);

const reductions: readonly Reduction[] = ["mean", "last", "sum", "min", "max", "histogram", "rate", "none"];

const declarationOptions = {
  name: option.made<string, { readonly required: true }>(
    'the name under which it is logged, such as "reward"',
    (value) => typeof value === "string" && value !== "",
    { required: true },
  ),
  /** The category it is logged under. Default: all. */
  category: option.text({}),
  unit: option.text({}),
  /**
   * How the values of a window become one record; with `none` every value is a record of its own, at its own step, in
   * every sink. Default: `none` for scores (the categories `validation` and `evaluation`, and `val`, `valid`, `eval`
   * and `test`), else what fits the values: `mean` for numbers, `histogram` for arrays, `last` for texts.
   */
  reduction: option.oneOf(reductions, {}),
  /** The counter it is filed under. Default: `steps`. */
  axis: option.text({}),
  /** The only writer: the name of a hook. Default: the first that logs it. */
  owner: option.text({}),
};

/** Properties of a metric that are known before its first value. */
export interface MetricDeclaration extends Options<typeof declarationOptions> {}

/**
 * Declares a metric: its unit, how the values of a window become one, which counter it is filed under, and who may log
 * it. For metrics that are not declared this is inferred from their first value.
 *
 * @example
 * ```ts
 * const reward = declareMetric({ name: "reward", unit: "points", reduction: "mean", axis: "samples" });
 * const exam = declareMetric({ name: "exam", reduction: "none" }); // never averaged
 * const logger = new Logger({ sinks: [consoleSink()], metrics: [reward, exam] });
 * ```
 */
export function declareMetric(declaration: MetricDeclaration): MetricDeclaration {
  checkOptions("declareMetric", declaration, declarationOptions);
  return Object.freeze({ ...declaration });
}

/**
 * Returns a function that finds the first pattern which fits a metric's key, `category/name`. `*` stands for any
 * characters. `option` names the patterns in the error for one without a category.
 */
export function matcherOf(
  patterns: readonly string[],
  option: string,
): (metric: Pick<MetricRecord, "key">) => number | undefined {
  for (const pattern of patterns) checkMetricPattern(option, pattern);
  const expressions = patterns.map(
    (pattern) => new RegExp(`^${pattern.split("*").map(literal).join(".*")}$`, "su"),
  );
  return ({ key }) => {
    const index = expressions.findIndex((expression) => expression.test(key));
    return index === -1 ? undefined : index;
  };
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** Use of the machine since the last reading, as the metrics hook logs it: units, and the way to one value a window. */
export const machineMetrics = {
  /** Processor time of this process and of everything on the machine: shares of all processors together. */
  "cpu.process": ["share", "mean"],
  "cpu.machine": ["share", "mean"],
  /** Of the process, of JavaScript's heap, of tensors on all devices. */
  "memory.resident": ["bytes", "last"],
  "memory.heap": ["bytes", "last"],
  "memory.device": ["bytes", "last"],
  /** Tensors that are alive. */
  tensors: ["tensors", "last"],
  /** Delay of the event loop. */
  "eventLoop.mean": ["ms", "mean"],
  "eventLoop.max": ["ms", "max"],
} as const;

/** Declarations of the metrics that the metrics hook logs itself. */
export const hookMetrics: readonly MetricDeclaration[] = [
  declareMetric({ name: "samplesPerSecond", category: "time", unit: "samples/s" }),
  declareMetric({ name: "stepsPerSecond", category: "time", unit: "steps/s" }),
  declareMetric({ name: "applied", category: "train", unit: "share" }),
  declareMetric({ name: "episodes", category: "rollout", unit: "episodes", reduction: "sum" }),
  ...Object.entries(machineMetrics).map(([name, [unit, reduction]]) =>
    declareMetric({ name, category: "system", unit, reduction }),
  ),
];
