import { bitcast, convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceProd } from "../ops/reduce.ts";
import { broadcastInDim } from "../ops/shape.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./axes.ts";
import { filled, floating, operand, pair, toFloat, toNumber, wide } from "./operands.ts";
import type { ValueLike } from "./value.ts";
import type { DerivativeRule } from "./with-derivative.ts";
import { withDerivative } from "./with-derivative.ts";

/** Whole exponents up to here are products: exact for small ones, and with an exact derivative at 0. */
const wholeUpTo = 1024;

/**
 * x to the power of y. A whole plain number multiplies: `np.power(x, 2)` is `x * x`. Integers to negative powers are
 * an error where the exponent is a plain number; traced exponents of integers count as not negative.
 *
 * @example
 * ```ts
 * np.power(x, 3);   // x * x * x
 * np.power(2, x);   // 2 to the x
 * ```
 */
export function power(x: ValueLike, y: ValueLike): Value {
  if (typeof y === "number" && Number.isInteger(y) && Math.abs(y) <= wholeUpTo) return wholePower(x, y);
  const [a, b] = pair("power", x, y, toNumber);
  return isFloat(a.dtype) ? ops.pow(a, b) : integerPower(a, b);
}

function wholePower(x: ValueLike, n: number): Value {
  const given = operand("power", x, "argument 0");
  const base = convert(given, toNumber(given.dtype));
  if (n < 0 && !isFloat(base.dtype))
    throw userError(
      "ARGUMENT_INVALID",
      `power: ${base.type.text} to the power of ${n} is not a whole number`,
      'convert first: np.power(x.astype("f32"), -1)',
    );
  if (n === 0) return filled(base, 1);
  if (n > 0) return repeated(base, n);
  return withDerivative([base], ops.div(filled(base, 1), repeated(base, -n)), negativePowerRule(n));
}

const negativePowerRules = new Map<number, DerivativeRule>();

/** n * x^(n - 1); the derivative of the quotient would divide by x^2n, which leaves the range much earlier. */
function negativePowerRule(n: number): DerivativeRule {
  const known = negativePowerRules.get(n);
  if (known) return known;
  const rule: DerivativeRule = (ct, [x]) => {
    const base = x as Value;
    return [ops.mul(ct, ops.mul(filled(base, n), wholePower(base, n - 1)))];
  };
  negativePowerRules.set(n, rule);
  return rule;
}

function repeated(base: Value, n: number): Value {
  if (n === 1) return base;
  const half = repeated(base, n >> 1);
  const even = ops.mul(half, half);
  return n % 2 === 0 ? even : ops.mul(base, even);
}

/**
 * Integers by squaring, bit by bit of the exponent. Squares are products over a new axis, so that every step uses the
 * one before once: jax-js writes out what is used twice, and 31 doublings would never end.
 */
function integerPower(base: Value, exponent: Value): Value {
  const bits = exponent.dtype === "u8" ? 8 : 32;
  const [zero, one] = [filled(base, 0), filled(base, 1)];
  const dims = range(base.ndim, 1);
  let factor = base;
  let result = one;
  for (let bit = 0; bit < bits; bit++) {
    const mask = filled(exponent, bit === 31 && exponent.dtype === "i32" ? -(2 ** 31) : 2 ** bit);
    const set = ops.notEqual(ops.and(exponent, mask), zero);
    result = ops.mul(result, ops.select(set, factor, one));
    if (bit < bits - 1) factor = reduceProd(broadcastInDim(factor, [2, ...base.shape], dims), [0]);
  }
  return result;
}

const cubeRootRule = (ct: Value, _xs: readonly Value[], y: Value): readonly Value[] => [
  ops.div(ct, ops.mul(filled(y, 3), ops.mul(y, y))),
];

/** Near the cube root of positive values: a third of the exponent, read off the bits. */
function cubeRootGuess(x: Value): Value {
  if (x.dtype === "f64") return ops.exp(ops.mul(ops.log(x), filled(x, 1 / 3)));
  const bits = convert(bitcast(x, "i32"), "f32");
  const third = ops.add(ops.mul(bits, filled(bits, 1 / 3)), filled(bits, 709921077));
  return bitcast(convert(third, "i32"), "f32");
}

/** The cube root, of negative values too. */
export function cbrt(x: ValueLike): Value {
  return wide(floating("cbrt", x), (value) => {
    const size = ops.abs(value);
    const [one, two] = [filled(size, 1), filled(size, 2)];
    let root = cubeRootGuess(size);
    // Halley's method, which triples the digits each time; written so that nothing overflows on the way.
    for (let round = 0; round < 2; round++) {
      const ratio = ops.mul(ops.div(ops.mul(root, root), size), root);
      root = ops.mul(root, ops.div(ops.add(ratio, two), ops.add(ops.mul(two, ratio), one)));
    }
    const inside = ops.and(ops.isFiniteValue(value), ops.notEqual(value, filled(value, 0)));
    const y = ops.select(inside, ops.mul(ops.sign(value), root), value);
    return withDerivative([value], y, cubeRootRule);
  });
}

/** Each side by the length, which neither overflows nor squares; 0 where both sides are. */
const hypotRule: DerivativeRule = (ct, sides, length) => {
  const safe = ops.select(ops.equal(length, filled(length, 0)), filled(length, 1), length);
  return sides.map((side) => ops.mul(ct, ops.div(side, safe)));
};

/** The length of the hypotenuse: sqrt(x*x + y*y) without overflow on the way; infinite where a side is. */
export function hypot(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("hypot", x, y, toFloat);
  const [p, q] = [ops.abs(a), ops.abs(b)];
  const [large, small] = [ops.max(p, q), ops.min(p, q)];
  const none = ops.equal(large, filled(large, 0));
  const one = filled(large, 1);
  const ratio = ops.div(small, ops.select(none, one, large));
  const length = ops.mul(large, ops.sqrt(ops.add(one, ops.mul(ratio, ratio))));
  const endless = filled(large, Number.POSITIVE_INFINITY);
  const infinite = ops.or(ops.equal(p, endless), ops.equal(q, endless));
  return withDerivative([a, b], ops.select(infinite, endless, ops.select(none, large, length)), hypotRule);
}
