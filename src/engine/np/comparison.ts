import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceAnd } from "../ops/reduce.ts";
import { broadcastTo } from "../ops/shape.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./axes.ts";
import { filled, operand, operands, pair, toFloat } from "./operands.ts";
import type { ValueLike } from "./value.ts";

const comparison =
  (op: string, f: (x: Value, y: Value) => Value) =>
  (x: ValueLike, y: ValueLike): Value =>
    f(...pair(op, x, y));

/** Element-wise x == y. */
export const equal = comparison("equal", ops.equal);
/** Element-wise x != y. */
export const notEqual = comparison("notEqual", ops.notEqual);
/** Element-wise x < y. */
export const less = comparison("less", ops.less);
/** Element-wise x <= y. */
export const lessEqual = comparison("lessEqual", ops.lessEqual);
/** Element-wise x > y. */
export const greater = comparison("greater", ops.greater);
/** Element-wise x >= y. */
export const greaterEqual = comparison("greaterEqual", ops.greaterEqual);

/**
 * `x` where the condition holds, `y` elsewhere; all three broadcast. Both sides are computed, and the gradient of the
 * side not taken is 0 times its derivative: keep that finite by choosing the argument, too, with `where`.
 *
 * @example
 * ```ts
 * np.where(np.greater(x, 0), x, 0); // relu
 * ```
 */
export function where(condition: ValueLike, x: ValueLike, y: ValueLike): Value {
  const holds = convert(operand("where", condition, "the condition"), "bool");
  const [a, b] = operands("where", [x, y], undefined, holds.shape) as [Value, Value];
  return ops.select(holds.ndim === 0 ? holds : broadcastTo(holds, a.shape), a, b);
}

/** Tolerances: |x - y| <= atol + rtol * |y| counts as equal. */
export interface CloseOptions {
  readonly rtol?: number | undefined;
  readonly atol?: number | undefined;
  /** True if NaN equals NaN. */
  readonly equalNan?: boolean | undefined;
}

/** True for elements that are equal within a tolerance; equal infinities are. */
export function isClose(x: ValueLike, y: ValueLike, options: CloseOptions = {}): Value {
  const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
  const [a, b] = pair("isClose", x, y, toFloat);
  const allowed = ops.add(filled(a, atol), ops.mul(filled(a, rtol), ops.abs(b)));
  const near = ops.lessEqual(ops.abs(ops.sub(a, b)), allowed);
  const finite = ops.and(ops.isFiniteValue(a), ops.isFiniteValue(b));
  const close = ops.select(finite, near, ops.equal(a, b));
  return equalNan ? ops.or(close, ops.and(ops.notEqual(a, a), ops.notEqual(b, b))) : close;
}

/** True if all elements are equal within a tolerance, as one traced boolean. */
export function allClose(x: ValueLike, y: ValueLike, options: CloseOptions = {}): Value {
  const close = isClose(x, y, options);
  return reduceAnd(close, range(close.ndim));
}
