import { convert } from "../ops/convert.ts";
import * as scans from "../ops/cumulative.ts";
import * as elementwise from "../ops/elementwise.ts";
import { div } from "../ops/elementwise.ts";
import { oneForZero, shiftedExps } from "../ops/exponentials.ts";
import * as reduce from "../ops/reduce.ts";
import { reduceMax, reduceMin, reduceSum, unreduce } from "../ops/reduce.ts";
import { checkAxis } from "../ops/rules.ts";
import { broadcastInDim, reshape } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { sameDims, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { axesOf, countOver, keeping, type ReduceOptions } from "./arguments.ts";
import type { AlongOptions } from "./joining.ts";
import {
  type Choose,
  filled,
  floating,
  operand,
  promoted,
  toFloat,
  toNumber,
  toWide,
  type ValueLike,
  wide,
} from "./operands.ts";

/** Options of sums and means. */
export interface SumOptions extends ReduceOptions {
  /** The element type of the result; by default that of the value, with room for counts. */
  readonly dtype?: DType | undefined;
}

/** Sums of booleans count in i32, of u8 in u32. */
const roomy = (dtype: DType): DType => (dtype === "bool" ? "i32" : dtype === "u8" ? "u32" : dtype);

/** Reduces a value already of the result's element type; 16-bit floats by way of f32. */
function reduced(
  op: string,
  x: Value,
  options: ReduceOptions,
  f: (x: Value, axes: readonly number[]) => Value,
): Value {
  const axes = axesOf(op, options.axis, x.ndim);
  const y = f(convert(x, toWide(x.dtype)), axes);
  return keeping(convert(y, y.dtype === toWide(x.dtype) ? x.dtype : y.dtype), x, axes, options);
}

function total(op: string, x: ValueLike, options: SumOptions, f: typeof reduce.reduceSum): Value {
  const value = operand(op, x);
  return reduced(op, convert(value, options.dtype ?? roomy(value.dtype)), options, f);
}

/**
 * The sum over axes (default: all).
 *
 * @example
 * ```ts
 * np.sum(x, { axis: -1, keepdims: true });
 * ```
 */
export const sum = (x: ValueLike, options: SumOptions = {}): Value =>
  total("sum", x, options, reduce.reduceSum);

/** The product over axes. */
export const prod = (x: ValueLike, options: SumOptions = {}): Value =>
  total("prod", x, options, reduce.reduceProd);

/** The mean over axes; f32 for integers and booleans, NaN of nothing. */
export function mean(x: ValueLike, options: SumOptions = {}): Value {
  const value = operand("mean", x);
  return reduced("mean", convert(value, toFloat(options.dtype ?? value.dtype)), options, meanOver);
}

/** The mean of floating-point values over these axes. */
function meanOver(x: Value, axes: readonly number[]): Value {
  const sums = reduce.reduceSum(x, axes);
  return div(sums, filled(sums, countOver(x, axes)));
}

function notEmpty(op: string, x: Value, axes: readonly number[]): void {
  if (countOver(x, axes) === 0)
    throw userError(
      "REDUCTION_EMPTY",
      `${op}: ${shapeText(x.shape)} has nothing along ${axes.length === 1 ? `axis ${axes[0]}` : "these axes"}, and ${op} of nothing is not defined`,
      "reduce axes of length 1 or more",
    );
}

function extreme(op: string, x: ValueLike, options: ReduceOptions, f: typeof reduce.reduceMax): Value {
  const value = operand(op, x);
  const axes = axesOf(op, options.axis, value.ndim);
  notEmpty(op, value, axes);
  const ofTruths = op === "max" ? reduce.reduceOr : reduce.reduceAnd;
  return keeping((value.dtype === "bool" ? ofTruths : f)(value, axes), value, axes, options);
}

/** The largest element over axes; NaN where there is one. Equal ones share the gradient. */
export const max = (x: ValueLike, options: ReduceOptions = {}): Value =>
  extreme("max", x, options, reduce.reduceMax);

/** The smallest element over axes; NaN where there is one. Equal ones share the gradient. */
export const min = (x: ValueLike, options: ReduceOptions = {}): Value =>
  extreme("min", x, options, reduce.reduceMin);

/** Options of functions that give an index along one axis. */
export interface ArgOptions {
  /** The axis; without it, an index into all elements in order. */
  readonly axis?: number | undefined;
  readonly keepdims?: boolean | undefined;
}

function argument(kind: "max" | "min", x: ValueLike, options: ArgOptions): Value {
  const op = `arg${kind}`;
  const value = operand(op, x);
  const axes = axesOf(op, options.axis, value.ndim);
  notEmpty(op, value, axes);
  const numbers = value.dtype === "bool" ? convert(value, "i32") : value;
  const at =
    options.axis === undefined
      ? reduce.argExtremum(reshape(numbers, [value.size]), 0, kind)
      : reduce.argExtremum(numbers, axes[0] as number, kind);
  return keeping(at, value, axes, options);
}

/** Index of the largest element, as i32; the first of equals. */
export const argmax = (x: ValueLike, options: ArgOptions = {}): Value => argument("max", x, options);

/** Index of the smallest element, as i32; the first of equals. */
export const argmin = (x: ValueLike, options: ArgOptions = {}): Value => argument("min", x, options);

/** True where all elements over axes are true (not 0). */
export const all = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced("all", convert(operand("all", x), "bool"), options, reduce.reduceAnd);

/** True where any element over axes is true (not 0). */
export const any = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced("any", convert(operand("any", x), "bool"), options, reduce.reduceOr);

/** Number of elements over axes that are not 0, as i32. */
export const countNonzero = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced(
    "countNonzero",
    convert(convert(operand("countNonzero", x), "bool"), "i32"),
    options,
    reduce.reduceSum,
  );

/** Options of variances. */
export interface VarOptions extends ReduceOptions {
  /** Taken off the count: 1 for the unbiased estimate. */
  readonly ddof?: number | undefined;
}

const varianceOver =
  (ddof: number) =>
  (x: Value, axes: readonly number[]): Value => {
    const apart = elementwise.sub(x, unreduce(meanOver(x, axes), x, axes));
    const sums = reduceSum(elementwise.mul(apart, apart), axes);
    return elementwise.div(sums, filled(sums, countOver(x, axes) - ddof));
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
    elementwise.sqrt(varianceOver(options.ddof ?? 0)(value, axes)),
  );

/**
 * log(sum(exp(x))) over axes without overflow; -inf stands for a probability of 0, and its gradient is 0 even where
 * all elements are -inf.
 */
export function logsumexp(x: ValueLike, options: ReduceOptions = {}): Value {
  return reduced("logsumexp", floating("logsumexp", x), options, (value, axes) => {
    const { shift, sums } = shiftedExps(value, axes, true);
    const none = elementwise.equal(sums, filled(sums, 0));
    const y = elementwise.add(elementwise.log(oneForZero(sums)), shift);
    return elementwise.select(none, filled(y, Number.NEGATIVE_INFINITY), y);
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
    if (ord === 2) return elementwise.sqrt(reduceSum(elementwise.mul(value, value), axes));
    const size = elementwise.abs(value);
    if (ord === 1) return reduceSum(size, axes);
    if (ord === Number.POSITIVE_INFINITY) return reduceMax(size, axes);
    if (ord === Number.NEGATIVE_INFINITY) return reduceMin(size, axes);
    if (ord === 0)
      return reduceSum(convert(elementwise.notEqual(value, filled(value, 0)), value.dtype), axes);
    const sums = reduceSum(elementwise.pow(size, filled(size, ord)), axes);
    return elementwise.pow(sums, filled(sums, 1 / ord));
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
    elementwise.div(reduceSum(elementwise.mul(v, wide), over), reduceSum(wide, over)),
  );
}

/** Options of cumulative functions. */
export interface CumulativeOptions extends AlongOptions {
  /** From each element to the end, instead of from the start to each. */
  readonly reverse?: boolean | undefined;
}

function along(
  op: string,
  x: ValueLike,
  options: CumulativeOptions,
  choose: Choose,
  f: (x: Value, axis: number, reverse?: boolean) => Value,
): Value {
  const given = operand(op, x);
  const value = options.axis === undefined ? reshape(given, [given.size]) : given;
  const axis = checkAxis(op, options.axis ?? 0, value.ndim);
  return wide(convert(value, choose(value.dtype)), (v) => f(v, axis, options.reverse));
}

/** Sums of all elements up to each along an axis; without one, of all elements in order. */
export const cumsum = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumsum", x, options, toNumber, scans.cumsum);

/** Products of all elements up to each along an axis; without one, of all elements in order. */
export const cumprod = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumprod", x, options, toNumber, scans.cumprod);

/** The largest element up to each along an axis; without one, of all elements in order. */
export const cummax = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cummax", x, options, toNumber, scans.cummax);

/** The smallest element up to each along an axis; without one, of all elements in order. */
export const cummin = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cummin", x, options, toNumber, scans.cummin);

/** The logsumexp of all elements up to each along an axis; without one, of all elements in order. */
export const cumlogsumexp = (x: ValueLike, options: CumulativeOptions = {}): Value =>
  along("cumlogsumexp", x, options, toFloat, scans.cumlogsumexp);
