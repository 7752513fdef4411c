import { checkOptions } from "../np/arguments.ts";
import { filled, floating, type ValueLike, wide } from "../np/operands.ts";
import * as ops from "../ops/elementwise.ts";
import { checkAxis } from "../ops/rules.ts";
import { sliceAlong } from "../ops/slice.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
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

/** 1 / (1 + exp(-x)). */
export const sigmoid = (x: ValueLike): Value => ops.logistic(floating("sigmoid", x));

/** log(1 + exp(x)): x above 0 and nothing below, each with what is left; neither exponent can overflow. */
function softplusOf(x: Value): Value {
  const zero = filled(x, 0);
  const above = ops.greater(x, zero);
  const left = ops.select(above, ops.neg(x), x);
  return ops.add(ops.select(above, x, zero), ops.log1p(ops.exp(left)));
}

/** log(1 + exp(x)), a smooth {@link relu}; it does not overflow. */
export const softplus = (x: ValueLike): Value => softplusOf(floating("softplus", x));

/** log(sigmoid(x)), which keeps its digits where sigmoid is close to 0. */
export const logSigmoid = (x: ValueLike): Value => ops.neg(softplusOf(ops.neg(floating("logSigmoid", x))));

/** x / (1 + |x|). */
export const softsign = (x: ValueLike): Value =>
  wide(floating("softsign", x), (value) => {
    const endless = ops.equal(ops.abs(value), filled(value, Number.POSITIVE_INFINITY));
    const finite = ops.select(endless, filled(value, 0), value);
    const quotient = ops.div(finite, ops.add(ops.abs(finite), filled(value, 1)));
    return ops.select(endless, ops.sign(value), quotient);
  });

/**
 * x * gate(x), where the gate is 0 from -bound down and 1 from bound up to the last digit: beyond, the gate is not
 * asked, so that infinities and large numbers give limits and not the product of 0 and infinity.
 */
function gated(x: Value, bound: number, gate: (x: Value) => Value): Value {
  const [high, low] = [filled(x, bound), filled(x, -bound)];
  const off = ops.less(x, low);
  const inside = ops.select(ops.greater(x, high), high, ops.select(off, low, x));
  return ops.mul(ops.select(off, filled(x, 0), x), gate(inside));
}

/**
 * x * sigmoid(x), also known as swish.
 *
 * @example
 * ```ts
 * const gatedUp = np.multiply(nn.silu(gate), up); // SwiGLU
 * ```
 */
export const silu = (x: ValueLike): Value => gated(floating("silu", x), 800, ops.logistic);
/** Another name of {@link silu}. */
export const swish = silu;

/** x * tanh(softplus(x)). */
export const mish = (x: ValueLike): Value => gated(floating("mish", x), 800, (v) => ops.tanh(softplusOf(v)));

/** Options of {@link gelu}. */
export interface GeluOptions {
  /** Uses the tanh formula instead of erf. Default: true, as in JAX. PyTorch's default is the exact one. */
  readonly approximate?: boolean;
}

const half = (x: Value): Value => ops.mul(ops.add(x, filled(x, 1)), filled(x, 0.5));

/** (1 + tanh u) / 2 as sigmoid(2u), which loses no digits where tanh comes near -1. */
function normalCdfByTanh(x: Value): Value {
  const cube = ops.mul(x, ops.mul(x, x));
  const inner = ops.add(x, ops.mul(cube, filled(x, 0.044715)));
  return ops.logistic(ops.mul(inner, filled(x, 2 * Math.sqrt(2 / Math.PI))));
}

const normalCdf = (x: Value): Value => half(ops.erf(ops.mul(x, filled(x, Math.SQRT1_2))));

/**
 * x times the probability that a normal number is below x.
 *
 * @example
 * ```ts
 * const hidden = nn.gelu(np.matmul(x, w), { approximate: false }); // PyTorch's default
 * ```
 */
export function gelu(x: ValueLike, options: GeluOptions = {}): Value {
  checkOptions("gelu", options, ["approximate"]);
  return gated(floating("gelu", x), 20, (options.approximate ?? true) ? normalCdfByTanh : normalCdf);
}

/** Options of {@link glu}. */
export interface GluOptions {
  /** The axis that is halved. Default: the last. */
  readonly axis?: number;
}

/** The first half of an axis times the sigmoid of the second half. */
export function glu(x: ValueLike, options: GluOptions = {}): Value {
  checkOptions("glu", options, ["axis"]);
  const { axis = -1 } = options;
  const value = floating("glu", x);
  const at = checkAxis("glu", axis, value.ndim);
  const length = value.shape[at] as number;
  if (length % 2 !== 0)
    throw userError(
      "SHAPE_MISMATCH",
      `glu: axis ${at} of ${shapeText(value.shape)} has length ${length}, which has no halves`,
      "make the layer before it give an even number of features",
    );
  const part = (from: number) => sliceAlong(value, at, from, from + length / 2);
  return ops.mul(part(0), ops.logistic(part(length / 2)));
}
