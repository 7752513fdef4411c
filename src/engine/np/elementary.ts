import { bitcast, convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceProd } from "../ops/reduce.ts";
import { broadcastInDim } from "../ops/shape.ts";
import { type DerivativeRule, withDerivative } from "../ops/with-derivative.ts";
import { isFloat, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { erfInv as inverse } from "./erf-inv.ts";
import { filled, floating, operand, pair, toFloat, toNumber, type ValueLike, wide } from "./operands.ts";

/** The square root; NaN of negative values. */
export const sqrt = (x: ValueLike): Value => ops.sqrt(floating("sqrt", x));

/** One divided by the square root. */
export const rsqrt = (x: ValueLike): Value => ops.rsqrt(floating("rsqrt", x));

/** e to the power of the value. */
export const exp = (x: ValueLike): Value => ops.exp(floating("exp", x));

/** 2 to the power of the value. */
export const exp2 = (x: ValueLike): Value => {
  const value = floating("exp2", x);
  return ops.exp(ops.mul(value, filled(value, Math.LN2)));
};

/** exp(x) - 1, with all digits near 0. */
export const expm1 = (x: ValueLike): Value => ops.expm1(floating("expm1", x));

/** The natural logarithm. */
export const log = (x: ValueLike): Value => ops.log(floating("log", x));

const logarithm = (op: string, scale: number, x: ValueLike): Value => {
  const value = ops.log(floating(op, x));
  return ops.div(value, filled(value, scale));
};

/** The logarithm to base 2. */
export const log2 = (x: ValueLike): Value => logarithm("log2", Math.LN2, x);

/** The logarithm to base 10. */
export const log10 = (x: ValueLike): Value => logarithm("log10", Math.LN10, x);

/** log(1 + x), with all digits near 0. */
export const log1p = (x: ValueLike): Value => ops.log1p(floating("log1p", x));

/** The error function. */
export const erf = (x: ValueLike): Value => ops.erf(floating("erf", x));

/** The inverse of `erf`: infinite at 1 and -1, NaN beyond. */
export const erfInv = (x: ValueLike): Value => inverse(floating("erfInv", x));

/** Shares the cotangent by each side's part of the sum; infinite sums count as 0 so that -inf gives 0; NaN stays. */
const logAddRule = (ct: Value, [x, y]: readonly Value[], z: Value): readonly Value[] => {
  const infinite = ops.equal(ops.abs(z), filled(z, Number.POSITIVE_INFINITY));
  const finite = ops.select(infinite, filled(z, 0), z);
  return [x as Value, y as Value].map((side) => ops.mul(ct, ops.exp(ops.sub(side, finite))));
};

/** log(exp(x) + exp(y)) without overflow; -inf stands for a probability of 0. */
export function logaddexp(x: ValueLike, y: ValueLike): Value {
  const [a, b] = pair("logaddexp", x, y, toFloat);
  const distance = ops.sub(a, b);
  const larger = ops.max(a, b);
  const sum = ops.add(larger, ops.log1p(ops.exp(ops.neg(ops.abs(distance)))));
  // Infinity minus infinity: the two are one and the same infinity, and so is their sum; or one of them is NaN.
  const z = ops.select(ops.notEqual(distance, distance), ops.add(a, b), sum);
  return withDerivative([a, b], z, logAddRule);
}

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

/** The sine of an angle in radians. */
export const sin = (x: ValueLike): Value => ops.sin(floating("sin", x));
/** The cosine of an angle in radians. */
export const cos = (x: ValueLike): Value => ops.cos(floating("cos", x));
/** The tangent of an angle in radians. */
export const tan = (x: ValueLike): Value => ops.tan(floating("tan", x));
/** The hyperbolic tangent. */
export const tanh = (x: ValueLike): Value => ops.tanh(floating("tanh", x));
/** The angle whose tangent the value is. */
export const atan = (x: ValueLike): Value => {
  const value = floating("atan", x);
  return ops.atan2(value, filled(value, 1));
};
/** The angle of the point (x, y), between -pi and pi; note the order of the arguments. */
export const atan2 = (y: ValueLike, x: ValueLike): Value => {
  const [a, b] = pair("atan2", y, x, toFloat);
  return ops.atan2(a, b);
};

/** A function of one number by a formula for its value and one for its derivative. */
function known(
  op: string,
  formula: (x: Value, one: Value) => Value,
  derivative: (x: Value, one: Value) => Value,
): (x: ValueLike) => Value {
  const rule: DerivativeRule = (ct, [x]) => {
    const value = x as Value;
    return [ops.mul(ct, derivative(value, filled(value, 1)))];
  };
  return (x) =>
    wide(floating(op, x), (value) => withDerivative([value], formula(value, filled(value, 1)), rule));
}

/** (1 - x)(1 + x), which keeps its digits where x is near 1. */
const oneMinusSquare = (x: Value, one: Value): Value => ops.mul(ops.sub(one, x), ops.add(one, x));
const double = (x: Value): Value => ops.add(x, x);

/** The angle whose sine the value is; NaN beyond 1. */
export const asin = known(
  "asin",
  (x, one) => double(ops.atan2(x, ops.add(one, ops.sqrt(oneMinusSquare(x, one))))),
  (x, one) => ops.rsqrt(oneMinusSquare(x, one)),
);

/** The angle whose cosine the value is; NaN beyond 1. */
export const acos = known(
  "acos",
  (x, one) => {
    const angle = double(ops.atan2(ops.sqrt(oneMinusSquare(x, one)), ops.add(one, x)));
    return ops.select(ops.equal(x, ops.neg(one)), filled(x, Math.PI), angle);
  },
  (x, one) => ops.neg(ops.rsqrt(oneMinusSquare(x, one))),
);

/** exp(x) / 2, finite as long as the half is. */
const halfExp = (x: Value): Value => ops.exp(ops.sub(x, filled(x, Math.LN2)));
const coshOf = (x: Value): Value => ops.add(halfExp(x), halfExp(ops.neg(x)));
const sinhOf = (x: Value, one: Value): Value => {
  const e = ops.expm1(x);
  const near = ops.mul(filled(x, 0.5), ops.add(e, ops.div(e, ops.add(e, one))));
  const far = ops.sub(halfExp(x), halfExp(ops.neg(x)));
  return ops.select(ops.less(ops.abs(x), one), near, far);
};

/** The hyperbolic sine. */
export const sinh = known("sinh", sinhOf, coshOf);

/** The hyperbolic cosine. */
export const cosh = known("cosh", coshOf, sinhOf);

/** Beyond this the square would overflow, and log(2x) has all digits. */
const isLarge = (x: Value): Value => ops.greater(x, filled(x, Math.sqrt(limits(x.dtype).max) / 2));
const logOfDouble = (x: Value): Value => ops.add(ops.log(x), filled(x, Math.LN2));

/** The inverse hyperbolic sine. */
export const asinh = known(
  "asinh",
  (x, one) => {
    const size = ops.abs(x);
    const square = ops.mul(size, size);
    const root = ops.sqrt(ops.add(square, one));
    const near = ops.log1p(ops.add(size, ops.div(square, ops.add(one, root))));
    const y = ops.select(isLarge(size), logOfDouble(size), near);
    return ops.select(ops.less(x, filled(x, 0)), ops.neg(y), y);
  },
  (x, one) => ops.rsqrt(ops.add(ops.mul(x, x), one)),
);

/** The inverse hyperbolic cosine; NaN below 1. */
export const acosh = known(
  "acosh",
  (x, one) => {
    const above = ops.sub(x, one);
    const near = ops.log1p(ops.add(above, ops.sqrt(ops.mul(above, ops.add(x, one)))));
    const y = ops.select(isLarge(x), logOfDouble(x), near);
    return ops.select(ops.less(x, one), filled(x, Number.NaN), y);
  },
  (x, one) => ops.rsqrt(ops.mul(ops.sub(x, one), ops.add(x, one))),
);

/** The inverse hyperbolic tangent; infinite at 1 and -1. */
export const atanh = known(
  "atanh",
  (x) => ops.mul(filled(x, 0.5), ops.sub(ops.log1p(x), ops.log1p(ops.neg(x)))),
  (x, one) => ops.div(one, oneMinusSquare(x, one)),
);
