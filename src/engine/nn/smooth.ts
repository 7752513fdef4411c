import { filled, floating, wide } from "../np/operands.ts";
import { checkOptions } from "../np/options.ts";
import type { ValueLike } from "../np/value.ts";
import * as ops from "../ops/elementwise.ts";
import { checkAxis } from "../ops/rules.ts";
import { slice } from "../ops/slice.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";

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
  const part = (from: number) =>
    slice(
      value,
      value.shape.map((_, i) => (i === at ? from : 0)),
      value.shape.map((n, i) => (i === at ? from + length / 2 : n)),
    );
  return ops.mul(part(0), ops.logistic(part(length / 2)));
}
