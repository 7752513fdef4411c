import { EspalierError } from "../../core/index.ts";
import {
  customGradient,
  type DType,
  isFloat,
  np,
  type Shape,
  type Value,
  type ValueLike,
} from "../../engine/index.ts";
import { checkWord } from "../options.ts";

/** Reduction of the losses of examples. */
export type Reduction = "mean" | "sum" | "none";

/** Options of every loss. */
export interface LossOptions {
  /**
   * Which losses count: booleans, or numbers they are multiplied by. Of the losses' shape, or of their first axes.
   * Masked elements add nothing to value and gradient; the mean is over what counts, and 0 where
   * nothing does.
   */
  readonly mask?: ValueLike;
  /** One number, the mean (the default) or the sum; or the loss of each example. */
  readonly reduction?: Reduction;
}

export const mismatch = (kind: string, message: string, fix: string): EspalierError =>
  new EspalierError("SHAPE_MISMATCH", `${kind}: ${message}`, { fix });

export const shapeText = (shape: Shape): string => `[${shape.join(", ")}]`;

/** An argument as floating point of 32 bits or more, which losses are computed in. */
export function wide(x: ValueLike): Value {
  const value = np.array(x);
  return np.astype(value, value.dtype === "f64" ? "f64" : "f32");
}

/** An error where two arguments are not of one shape: repeating one of them is seldom what was meant. */
export function checkAlike(kind: string, names: readonly [string, string], x: Value, y: Value): void {
  if (shapeText(x.shape) !== shapeText(y.shape))
    throw mismatch(
      kind,
      `${names[0]} are ${shapeText(x.shape)} and ${names[1]} are ${shapeText(y.shape)}`,
      "give both the same shape: np.reshape, np.squeeze or np.expandDims one of them",
    );
}

/** Weights of the losses, in their shape; undefined for equal weights. */
export function weightsOf(
  kind: string,
  { mask }: LossOptions,
  shape: Shape,
  dtype: DType,
): Value | undefined {
  if (mask === undefined) return undefined;
  const given = np.array(mask);
  const fits = given.ndim <= shape.length && given.shape.every((n, i) => n === 1 || n === shape[i]);
  if (!fits)
    throw mismatch(
      kind,
      `the mask is ${shapeText(given.shape)} and the losses are ${shapeText(shape)}`,
      "give a mask of the losses' shape, or of their first axes",
    );
  const spread = np.reshape(given, [...given.shape, ...shape.slice(given.ndim).map(() => 1)]);
  return np.broadcastTo(np.astype(spread, dtype), shape);
}

/** A value with 0 where nothing counts, so that not even what is no number there reaches a derivative. */
export const counted = (x: Value, weights: Value | undefined): Value =>
  weights ? np.where(np.notEqual(weights, 0), x, np.zerosLike(x)) : x;

/** Losses as one number: the mean is over `totals` (default: the weights), and 0 where they sum to 0. */
export function reduced(
  kind: string,
  losses: Value,
  weights: Value | undefined,
  { reduction = "mean" }: LossOptions,
  totals: Value | undefined = weights,
): Value {
  checkWord(kind, "reduction", reduction, ["mean", "sum", "none"]);
  const weighted = weights ? np.multiply(losses, weights) : losses;
  if (reduction === "none") return weighted;
  if (reduction === "sum") return np.sum(weighted);
  if (!totals) return np.mean(weighted);
  const total = np.sum(totals);
  return np.divide(np.sum(weighted), np.where(np.equal(total, 0), 1, total));
}

const largest = 3.4028234663852886e38;

/** Infinite logits as the largest number there is, on which softmax is defined; the derivative is that of x itself. */
export const withoutInfinity = customGradient(
  (x: Value): Value => np.where(np.equal(x, np.inf), largest, x),
  (_args, _result, cotangent) => [cotangent],
);

/** Logits cut at 1e30, far from where products with them overflow; the derivative is that of x itself. */
export const finite = customGradient(
  (x: Value): Value => np.clip(x, -1e30, 1e30),
  (_args, _result, cotangent) => [cotangent],
);

/** factor * x, and 0 where the factor is 0 even if x is infinite. */
export const product = (factor: Value, x: Value): Value =>
  np.where(np.equal(factor, 0), np.zerosLike(x), np.multiply(factor, x));

/** True for labels: whole numbers or booleans. */
export const isLabels = (x: Value): boolean => !isFloat(x.dtype);
