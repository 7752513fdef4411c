import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceMax, reduceMin, reduceSum } from "../ops/reduce.ts";
import { broadcastInDim } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { sameDims, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import type { ReduceOptions } from "./axes.ts";
import { axesOf, range } from "./axes.ts";
import { filled, floating, promoted, toFloat, toWide } from "./operands.ts";
import { countOver, meanOver, reduced } from "./reduction.ts";
import type { ValueLike } from "./value.ts";

/** Repeats a reduced value over the axes it lost. */
function spread(y: Value, like: Value, axes: readonly number[]): Value {
  return broadcastInDim(
    y,
    like.shape,
    range(like.ndim).filter((i) => !axes.includes(i)),
  );
}

/** Options of variances. */
export interface VarOptions extends ReduceOptions {
  /** Taken off the count: 1 for the unbiased estimate. */
  readonly ddof?: number | undefined;
}

const varianceOver =
  (ddof: number) =>
  (x: Value, axes: readonly number[]): Value => {
    const apart = ops.sub(x, spread(meanOver(x, axes), x, axes));
    const sums = reduceSum(ops.mul(apart, apart), axes);
    return ops.div(sums, filled(sums, countOver(x, axes) - ddof));
  };

/**
 * The variance over axes.
 *
 * @example
 * ```ts
 * np.var(x, { axis: 0, ddof: 1 });
 * ```
 */
const variance = (x: ValueLike, options: VarOptions = {}): Value =>
  reduced("var", floating("var", x), options, varianceOver(options.ddof ?? 0));

export { variance as var };

/** The standard deviation over axes. Its gradient is NaN where all elements are equal, as in JAX. */
export const std = (x: ValueLike, options: VarOptions = {}): Value =>
  reduced("std", floating("std", x), options, (value, axes) =>
    ops.sqrt(varianceOver(options.ddof ?? 0)(value, axes)),
  );

/**
 * log(sum(exp(x))) over axes without overflow; -inf stands for a probability of 0, and its gradient is 0 even where
 * all elements are -inf.
 */
export function logsumexp(x: ValueLike, options: ReduceOptions = {}): Value {
  return reduced("logsumexp", floating("logsumexp", x), options, (value, axes) => {
    const largest = ops.stopGradient(reduceMax(value, axes));
    const shift = ops.select(ops.isFiniteValue(largest), largest, filled(largest, 0));
    const sums = reduceSum(ops.exp(ops.sub(value, spread(shift, value, axes))), axes);
    const none = ops.equal(sums, filled(sums, 0));
    const y = ops.add(ops.log(ops.select(none, filled(sums, 1), sums)), shift);
    return ops.select(none, filled(y, Number.NEGATIVE_INFINITY), y);
  });
}

/** Options of {@link norm}. */
export interface NormOptions extends ReduceOptions {
  /** 2 (the default): the length. 1: the sum of sizes. Infinity, -Infinity: the largest, smallest size. 0: how many are not 0. */
  readonly ord?: number | undefined;
}

/**
 * The norm of vectors along axes; by default of all elements as one vector (for a matrix, the Frobenius norm). The
 * gradient of a length of 0 is NaN, as in JAX: add something small under the root where that can happen.
 */
export function norm(x: ValueLike, options: NormOptions = {}): Value {
  const ord = options.ord ?? 2;
  return reduced("norm", floating("norm", x), options, (value, axes) => {
    if (ord === 2) return ops.sqrt(reduceSum(ops.mul(value, value), axes));
    const size = ops.abs(value);
    if (ord === 1) return reduceSum(size, axes);
    if (ord === Number.POSITIVE_INFINITY) return reduceMax(size, axes);
    if (ord === Number.NEGATIVE_INFINITY) return reduceMin(size, axes);
    if (ord === 0) return reduceSum(convert(ops.notEqual(value, filled(value, 0)), value.dtype), axes);
    const sums = reduceSum(ops.pow(size, filled(size, ord)), axes);
    return ops.pow(sums, filled(sums, 1 / ord));
  });
}

/** Options of {@link average}. */
export interface AverageOptions extends ReduceOptions {
  /** Weights: of the value's shape, or one number for each position along the one axis. */
  readonly weights?: ValueLike | undefined;
}

/** The mean over axes in which elements count by their weights. */
export function average(x: ValueLike, options: AverageOptions = {}): Value {
  if (options.weights === undefined) return reduced("average", floating("average", x), options, meanOver);
  const [value, weights] = promoted("average", [x, options.weights], toFloat) as [Value, Value];
  const axes = axesOf("average", options.axis, value.ndim);
  const along = weights.ndim === 1 && axes.length === 1 && weights.size === value.shape[axes[0] as number];
  if (!along && !sameDims(weights.shape, value.shape))
    throw userError(
      "SHAPE_MISMATCH",
      `average: the weights have shape ${shapeText(weights.shape)} and the value ${shapeText(value.shape)}`,
      "give weights of the value's shape, or one for each place along the one axis",
    );
  const spreadWeights = along ? broadcastInDim(weights, value.shape, axes) : weights;
  const wide = convert(spreadWeights, toWide(value.dtype));
  return reduced("average", value, options, (v, over) =>
    ops.div(reduceSum(ops.mul(v, wide), over), reduceSum(wide, over)),
  );
}
