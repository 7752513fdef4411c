import * as ops from "../ops/elementwise.ts";
import { isFloat, limits } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { filled, operand, operands, type ValueLike } from "./operands.ts";

/** Integers and booleans are whole already. */
const whole = (op: string, x: ValueLike, f: (x: Value) => Value): Value => {
  const value = operand(op, x);
  return isFloat(value.dtype) ? f(value) : value;
};

/** The next whole number below. */
export const floor = (x: ValueLike): Value => whole("floor", x, ops.floor);
/** The next whole number above. */
export const ceil = (x: ValueLike): Value => whole("ceil", x, ops.ceil);
/** The whole number towards zero. */
export const trunc = (x: ValueLike): Value => whole("trunc", x, ops.trunc);

/**
 * The nearest number with this many decimals (default: 0); halves go to the even one.
 *
 * @example
 * ```ts
 * np.round(np.array([0.5, 1.5, 2.5])); // 0, 2, 2
 * ```
 */
export function round(x: ValueLike, decimals = 0): Value {
  return whole("round", x, (value) => {
    if (decimals === 0) return ops.round(value);
    const scale = filled(value, 10 ** decimals);
    return ops.div(ops.round(ops.mul(value, scale)), scale);
  });
}

/**
 * The value, or the bound it exceeds. A bound that is undefined does not bound.
 *
 * @example
 * ```ts
 * np.clip(x, -1, 1);
 * np.clip(x, 0); // from below alone
 * ```
 */
export function clip(x: ValueLike, min?: ValueLike, max?: ValueLike): Value {
  const bounds = [min, max].filter((bound) => bound !== undefined);
  const [value, ...rest] = operands("clip", [x, ...bounds]) as [Value, ...Value[]];
  if (value.dtype === "bool") return value;
  const low = min === undefined ? value : ops.max(value, rest[0] as Value);
  return max === undefined ? low : ops.min(low, rest[rest.length - 1] as Value);
}

const onFloats = (op: string, x: ValueLike, f: (x: Value) => Value, otherwise: number): Value => {
  const value = operand(op, x);
  if (isFloat(value.dtype)) return f(value);
  const zero = filled(value, 0);
  return otherwise ? ops.equal(zero, zero) : ops.notEqual(zero, zero);
};

/** True for elements that are NaN. */
export const isNan = (x: ValueLike): Value => onFloats("isNan", x, (value) => ops.notEqual(value, value), 0);

/** True for elements that are neither infinite nor NaN. */
const isFiniteElement = (x: ValueLike): Value => onFloats("isFinite", x, ops.isFiniteValue, 1);

export { isFiniteElement as isFinite };

/** True for elements that are infinite, of either sign. */
export const isInf = (x: ValueLike): Value =>
  onFloats("isInf", x, (value) => ops.equal(ops.abs(value), filled(value, Number.POSITIVE_INFINITY)), 0);

/** Replacements of {@link nanToNum} for elements that are not finite. */
export interface NanToNumOptions {
  readonly nan?: number | undefined;
  readonly posinf?: number | undefined;
  readonly neginf?: number | undefined;
}

/** Replaces NaN by 0 and infinities by the largest finite numbers, or by the given ones. */
export function nanToNum(x: ValueLike, options: NanToNumOptions = {}): Value {
  const value = operand("nanToNum", x);
  if (!isFloat(value.dtype)) return value;
  const { min, max } = limits(value.dtype);
  const replace = (at: Value, by: number, otherwise: Value) => ops.select(at, filled(value, by), otherwise);
  const is = (number: number) => ops.equal(value, filled(value, number));
  const plain = replace(ops.notEqual(value, value), options.nan ?? 0, value);
  const above = replace(is(Number.POSITIVE_INFINITY), options.posinf ?? max, plain);
  return replace(is(Number.NEGATIVE_INFINITY), options.neginf ?? min, above);
}
