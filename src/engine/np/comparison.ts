import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceAnd } from "../ops/reduce.ts";
import { checkDType } from "../ops/rules.ts";
import { broadcastTo } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { filled, operand, operands, pair, toFloat, toNumber, type ValueLike } from "./operands.ts";

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

type Two = (x: Value, y: Value) => Value;

const asTruth = (): DType => "bool";

const logical =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const truths = [x, y].map((side) => convert(operand(op, side), "bool"));
    const [a, b] = operands(op, truths, asTruth) as [Value, Value];
    return f(a, b);
  };

/** Element-wise logical and; numbers are true unless they are 0. */
export const logicalAnd = logical("logicalAnd", ops.and);
/** Element-wise logical or. */
export const logicalOr = logical("logicalOr", ops.or);
/** Element-wise exclusive or. */
export const logicalXor = logical("logicalXor", ops.xor);
/** Element-wise logical not. */
export const logicalNot = (x: ValueLike): Value => ops.not(convert(operand("logicalNot", x), "bool"));

const bitwise =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const [a, b] = pair(op, x, y);
    checkDType(op, "the wider argument", a.type, "bits");
    return f(a, b);
  };

/** The bits set in both; of booleans, whether both hold. */
export const bitwiseAnd = bitwise("bitwiseAnd", ops.and);
/** The bits set in either; of booleans, whether either holds. */
export const bitwiseOr = bitwise("bitwiseOr", ops.or);
/** The bits set in one alone; of booleans, whether they differ. */
export const bitwiseXor = bitwise("bitwiseXor", ops.xor);
/** All bits turned. */
export function bitwiseNot(x: ValueLike): Value {
  const value = operand("bitwiseNot", x);
  checkDType("bitwiseNot", "the argument", value.type, "bits");
  return ops.not(value);
}

const shift =
  (op: string, f: Two) =>
  (x: ValueLike, y: ValueLike): Value => {
    const [a, b] = pair(op, x, y, toNumber);
    checkDType(op, "the wider argument", a.type, "integer");
    return f(a, b);
  };

/** The bits moved up by y places. */
export const leftShift = shift("leftShift", ops.shiftLeft);
/** The bits moved down by y places; signed integers keep their sign. */
export const rightShift = shift("rightShift", ops.shiftRightArithmetic);
