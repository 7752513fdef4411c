import { convert } from "../ops/convert.ts";
import { div } from "../ops/elementwise.ts";
import * as ops from "../ops/reduce.ts";
import { reshape } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import type { ReduceOptions } from "./axes.ts";
import { axesOf, keeping } from "./axes.ts";
import { filled, operand, toFloat, toWide } from "./operands.ts";
import type { ValueLike } from "./value.ts";

/** Options of sums and means. */
export interface SumOptions extends ReduceOptions {
  /** The element type of the result; by default that of the value, with room for counts. */
  readonly dtype?: DType | undefined;
}

/** Sums of booleans count in i32, of u8 in u32. */
const roomy = (dtype: DType): DType => (dtype === "bool" ? "i32" : dtype === "u8" ? "u32" : dtype);

/** Reduces a value already of the result's element type; 16-bit floats by way of f32. */
export function reduced(
  op: string,
  x: Value,
  options: ReduceOptions,
  f: (x: Value, axes: readonly number[]) => Value,
): Value {
  const axes = axesOf(op, options.axis, x.ndim);
  const y = f(convert(x, toWide(x.dtype)), axes);
  return keeping(convert(y, y.dtype === toWide(x.dtype) ? x.dtype : y.dtype), x, axes, options);
}

function total(op: string, x: ValueLike, options: SumOptions, f: typeof ops.reduceSum): Value {
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
export const sum = (x: ValueLike, options: SumOptions = {}): Value => total("sum", x, options, ops.reduceSum);

/** The product over axes. */
export const prod = (x: ValueLike, options: SumOptions = {}): Value =>
  total("prod", x, options, ops.reduceProd);

/** The mean over axes; f32 for integers and booleans, NaN of nothing. */
export function mean(x: ValueLike, options: SumOptions = {}): Value {
  const value = operand("mean", x);
  return reduced("mean", convert(value, toFloat(options.dtype ?? value.dtype)), options, meanOver);
}

/** The mean of floating-point values over these axes. */
export function meanOver(x: Value, axes: readonly number[]): Value {
  const sums = ops.reduceSum(x, axes);
  return div(sums, filled(sums, countOver(x, axes)));
}

/** Number of elements along these axes together. */
export const countOver = (x: Value, axes: readonly number[]): number =>
  axes.reduce((n, axis) => n * (x.shape[axis] as number), 1);

function notEmpty(op: string, x: Value, axes: readonly number[]): void {
  if (countOver(x, axes) === 0)
    throw userError(
      "REDUCTION_EMPTY",
      `${op}: ${shapeText(x.shape)} has nothing along ${axes.length === 1 ? `axis ${axes[0]}` : "these axes"}, and ${op} of nothing is not defined`,
      "reduce axes of length 1 or more",
    );
}

function extreme(op: string, x: ValueLike, options: ReduceOptions, f: typeof ops.reduceMax): Value {
  const value = operand(op, x);
  const axes = axesOf(op, options.axis, value.ndim);
  notEmpty(op, value, axes);
  const ofTruths = op === "max" ? ops.reduceOr : ops.reduceAnd;
  return keeping((value.dtype === "bool" ? ofTruths : f)(value, axes), value, axes, options);
}

/** The largest element over axes; NaN where there is one. Equal ones share the gradient. */
export const max = (x: ValueLike, options: ReduceOptions = {}): Value =>
  extreme("max", x, options, ops.reduceMax);

/** The smallest element over axes; NaN where there is one. Equal ones share the gradient. */
export const min = (x: ValueLike, options: ReduceOptions = {}): Value =>
  extreme("min", x, options, ops.reduceMin);

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
      ? ops.argExtremum(reshape(numbers, [value.size]), 0, kind)
      : ops.argExtremum(numbers, axes[0] as number, kind);
  return keeping(at, value, axes, options);
}

/** Index of the largest element, as i32; the first of equals. */
export const argmax = (x: ValueLike, options: ArgOptions = {}): Value => argument("max", x, options);

/** Index of the smallest element, as i32; the first of equals. */
export const argmin = (x: ValueLike, options: ArgOptions = {}): Value => argument("min", x, options);

/** True where all elements over axes are true (not 0). */
export const all = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced("all", convert(operand("all", x), "bool"), options, ops.reduceAnd);

/** True where any element over axes is true (not 0). */
export const any = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced("any", convert(operand("any", x), "bool"), options, ops.reduceOr);

/** Number of elements over axes that are not 0, as i32. */
export const countNonzero = (x: ValueLike, options: ReduceOptions = {}): Value =>
  reduced(
    "countNonzero",
    convert(convert(operand("countNonzero", x), "bool"), "i32"),
    options,
    ops.reduceSum,
  );
