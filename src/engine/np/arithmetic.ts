import * as ops from "../ops/elementwise.ts";
import { checkDType } from "../ops/rules.ts";
import { isFloat, isUnsigned } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { filled, operand, pair, toFloat, toNumber, type ValueLike } from "./operands.ts";

/** The sum of two values; of booleans, whether either holds. */
export function add(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("add", x, y);
  return a.dtype === "bool" ? ops.or(a, b) : ops.add(a, b);
}

/** The difference of two values. */
export function subtract(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("subtract", x, y);
  checkDType("subtract", "argument 0", a.type, "number");
  return ops.sub(a, b);
}

/** The product of two values; of booleans, whether both hold. */
export function multiply(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("multiply", x, y);
  return a.dtype === "bool" ? ops.and(a, b) : ops.mul(a, b);
}

/** The quotient of two values, a floating-point number for integers too. */
export function divide(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("divide", x, y, toFloat);
  return ops.div(a, b);
}

/** The quotient rounded down. An integer divided by 0 gives -1 (all bits set). */
export function floorDivide(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("floorDivide", x, y, toNumber);
  if (isUnsigned(a.dtype)) return ops.div(a, b);
  const zero = filled(a, 0);
  const one = filled(a, 1);
  if (!isFloat(a.dtype)) {
    const rest = integerRest(a, b);
    const inexact = ops.notEqual(rest, zero);
    const below = ops.and(inexact, ops.notEqual(ops.less(a, zero), ops.less(b, zero)));
    const quotient = ops.div(a, b);
    return ops.select(below, ops.sub(quotient, one), quotient);
  }
  // By way of the remainder, which is exact: floor(x / y) would round 1 / 0.1 up to 10, and 0.1 is more than a tenth.
  const rest = ops.rem(a, b);
  const whole = ops.div(ops.select(ops.equal(b, zero), a, ops.sub(a, rest)), b);
  const below = ops.and(ops.notEqual(rest, zero), ops.notEqual(ops.less(rest, zero), ops.less(b, zero)));
  return ops.round(ops.select(below, ops.sub(whole, one), whole));
}

/** A remainder of integers that is 0, and never a trap, for a divisor of 0. */
function integerRest(a: Value, b: Value): Value {
  return ops.rem(a, ops.select(ops.equal(b, filled(b, 0)), filled(b, 1), b));
}

/**
 * The remainder with the sign of the divisor, as Python's `%`.
 *
 * @example
 * ```ts
 * np.remainder(-7, 3); // 2
 * ```
 */
export function remainder(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("remainder", x, y, toNumber);
  const rest = isFloat(a.dtype) ? ops.rem(a, b) : integerRest(a, b);
  if (isUnsigned(a.dtype)) return rest;
  const zero = filled(a, 0);
  const other = ops.notEqual(ops.less(rest, zero), ops.less(b, zero));
  return ops.select(ops.and(other, ops.notEqual(rest, zero)), ops.add(rest, b), rest);
}

/** The remainder with the sign of the dividend, as C's `fmod`. */
export function fmod(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("fmod", x, y, toNumber);
  return isFloat(a.dtype) ? ops.rem(a, b) : integerRest(a, b);
}

/** The value with its sign turned. */
export function negative(x: ValueLike): Value {
  const value = operand("negative", x);
  checkDType("negative", "the argument", value.type, "number");
  return ops.neg(value);
}

/** The value without its sign. */
export function absolute(x: ValueLike): Value {
  const value = operand("absolute", x);
  return value.dtype === "bool" || isUnsigned(value.dtype) ? value : ops.abs(value);
}

/** -1, 0 or 1. */
export function sign(x: ValueLike): Value {
  const value = operand("sign", x);
  checkDType("sign", "the argument", value.type, "number");
  if (isFloat(value.dtype)) return ops.sign(value);
  const below = ops.min(value, filled(value, 1));
  return isUnsigned(value.dtype) ? below : ops.max(below, filled(value, -1));
}

/** The value times itself. */
export function square(x: ValueLike): Value {
  const [a, b] = pair("square", x, x, toNumber);
  return ops.mul(a, b);
}

/** One divided by the value. */
export const reciprocal = (x: ValueLike): Value => {
  const [one, a] = pair("reciprocal", 1, x, toFloat);
  return ops.div(one, a);
};

/** The larger of two values, NaN where either is; of booleans, whether either holds. */
export function maximum(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("maximum", x, y);
  return a.dtype === "bool" ? ops.or(a, b) : ops.max(a, b);
}

/** The smaller of two values, NaN where either is; of booleans, whether both hold. */
export function minimum(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("minimum", x, y);
  return a.dtype === "bool" ? ops.and(a, b) : ops.min(a, b);
}
