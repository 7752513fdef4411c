import * as ops from "../ops/elementwise.ts";
import type { Value } from "../trace/value.ts";
import { erfInv as inverse } from "./erf-inv.ts";
import { filled, floating, pair, toFloat } from "./operands.ts";
import type { ValueLike } from "./value.ts";
import { withDerivative } from "./with-derivative.ts";

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
