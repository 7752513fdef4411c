import { checkNames, checkWord, EspalierError, shown } from "../core/index.ts";
import type { Axis, Reduction } from "./record.ts";

/** Categories of scores: each tells how good the model is at one step, so that a mean over several is nobody's score. */
const scores: readonly string[] = ["validation", "evaluation", "val", "valid", "eval", "test"];

/** Whether a category holds scores, as validation and evaluation give them. */
export const holdsScores = (category: string): boolean => scores.includes(category);

/** What is known of a metric before its first value. */
export interface MetricDeclaration {
  readonly name: string;
  /** The category it is logged under; without one it is declared for all. */
  readonly category?: string;
  readonly unit?: string;
  /**
   * How the values of a window become one record; with `none` every value is a record of its own, at its own step, in
   * every sink. Default: `none` for scores (the categories `validation` and `evaluation`, and `val`, `valid`, `eval`
   * and `test`), else what fits the values: `mean` for numbers, `histogram` for arrays, `last` for texts.
   */
  readonly reduction?: Reduction;
  /** The counter it is filed under. Default `steps`. */
  readonly axis?: Axis;
  /** Who alone may log it: the name of a hook. Default: whoever does first. */
  readonly owner?: string;
}

const reductions: readonly Reduction[] = ["mean", "last", "sum", "min", "max", "histogram", "rate", "none"];

/**
 * Says what a metric is: its unit, how the values of a window become one, which counter it is filed under, and who may
 * log it. Metrics that are not declared have their declaration inferred from their first value.
 *
 * @example
 * ```ts
 * const reward = declareMetric({ name: "reward", unit: "points", reduction: "mean", axis: "samples" });
 * const exam = declareMetric({ name: "exam", reduction: "none" }); // never averaged
 * const logger = new Logger({ sinks: [consoleSink()], metrics: [reward, exam] });
 * ```
 */
export function declareMetric(declaration: MetricDeclaration): MetricDeclaration {
  checkNames("declareMetric", declaration, ["name", "category", "unit", "reduction", "axis", "owner"]);
  if (typeof declaration.name !== "string" || declaration.name === "")
    throw new EspalierError("OPTION_INVALID", `declareMetric: name is ${shown(declaration.name)}`, {
      fix: 'give the name under which it is logged: declareMetric({ name: "reward" })',
    });
  if (declaration.reduction !== undefined)
    checkWord("declareMetric", "reduction", declaration.reduction, reductions);
  return Object.freeze({ ...declaration });
}
