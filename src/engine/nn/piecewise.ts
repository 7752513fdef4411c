import { filled, floating } from "../np/operands.ts";
import { checkOptions } from "../np/options.ts";
import type { ValueLike } from "../np/value.ts";
import * as ops from "../ops/elementwise.ts";
import type { Value } from "../trace/value.ts";

// Each is written with `select`, so that the side not taken adds nothing to the gradient, not even a NaN; and such
// that NaN passes through.

/**
 * max(x, 0); the gradient at 0 is 0.
 *
 * @example
 * ```ts
 * const hidden = nn.relu(np.matmul(x, w));
 * ```
 */
export const relu = (x: ValueLike): Value => {
  const value = floating("relu", x);
  const zero = filled(value, 0);
  return ops.select(ops.lessEqual(value, zero), zero, value);
};

/** min(max(x, 0), 6); the gradient at 0 and at 6 is 0. */
export const relu6 = (x: ValueLike): Value => sixth(floating("relu6", x));

function sixth(x: Value): Value {
  const [zero, six] = [filled(x, 0), filled(x, 6)];
  return ops.select(ops.lessEqual(x, zero), zero, ops.select(ops.greaterEqual(x, six), six, x));
}

/** Options of {@link leakyRelu}. */
export interface LeakyReluOptions {
  /** The slope below 0. Default: 0.01. */
  readonly slope?: number;
}

/** x from 0 on, slope * x below; the gradient at 0 is 1, as in JAX. */
export function leakyRelu(x: ValueLike, options: LeakyReluOptions = {}): Value {
  checkOptions("leakyRelu", options, ["slope"]);
  const { slope = 0.01 } = options;
  const value = floating("leakyRelu", x);
  return ops.select(ops.greaterEqual(value, filled(value, 0)), value, ops.mul(value, filled(value, slope)));
}

/** Options of {@link elu} and {@link celu}. */
export interface EluOptions {
  /** Minus the value far below 0. Default: 1. */
  readonly alpha?: number;
}

/** x above 0, f(x) below; f sees 0 instead of what is above, where it could overflow. */
function below(x: Value, f: (x: Value) => Value): Value {
  const zero = filled(x, 0);
  const above = ops.greater(x, zero);
  return ops.select(above, x, f(ops.select(above, zero, x)));
}

const scaled = (x: Value, by: number): Value => (by === 1 ? x : ops.mul(x, filled(x, by)));

/** x above 0, alpha * (exp(x) - 1) below. */
export function elu(x: ValueLike, options: EluOptions = {}): Value {
  checkOptions("elu", options, ["alpha"]);
  const { alpha = 1 } = options;
  return below(floating("elu", x), (v) => scaled(ops.expm1(v), alpha));
}

/** x above 0, alpha * (exp(x / alpha) - 1) below: smooth at 0 for every alpha. */
export function celu(x: ValueLike, options: EluOptions = {}): Value {
  checkOptions("celu", options, ["alpha"]);
  const { alpha = 1 } = options;
  return below(floating("celu", x), (v) => scaled(ops.expm1(scaled(v, 1 / alpha)), alpha));
}

const seluAlpha = 1.6732632423543772;
const seluScale = 1.0507009873554805;

/** The self-normalizing variant of {@link elu}. */
export const selu = (x: ValueLike): Value =>
  scaled(
    below(floating("selu", x), (v) => scaled(ops.expm1(v), seluAlpha)),
    seluScale,
  );

/** x cut to -1 and 1; the gradient at both is 1, as in JAX. */
export function hardTanh(x: ValueLike): Value {
  const value = floating("hardTanh", x);
  const [one, minus] = [filled(value, 1), filled(value, -1)];
  const low = ops.select(ops.less(value, minus), minus, value);
  return ops.select(ops.greater(value, one), one, low);
}

const rising = (x: Value): Value => scaled(sixth(ops.add(x, filled(x, 3))), 1 / 6);

/** relu6(x + 3) / 6. */
export const hardSigmoid = (x: ValueLike): Value => rising(floating("hardSigmoid", x));

/** x * hardSigmoid(x). */
export function hardSwish(x: ValueLike): Value {
  const value = floating("hardSwish", x);
  // Minus infinity times 0 is not a number; the limit is 0.
  const off = ops.lessEqual(value, filled(value, -3));
  return ops.mul(ops.select(off, filled(value, 0), value), rising(value));
}
