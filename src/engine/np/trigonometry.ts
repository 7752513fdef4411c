import * as ops from "../ops/elementwise.ts";
import { limits } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { filled, floating, pair, toFloat, wide } from "./operands.ts";
import type { ValueLike } from "./value.ts";
import type { DerivativeRule } from "./with-derivative.ts";
import { withDerivative } from "./with-derivative.ts";

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
