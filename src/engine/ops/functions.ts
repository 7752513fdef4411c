import { isFloat } from "../trace/dtype.ts";
import { notDifferentiable } from "../trace/op.ts";
import type { Value } from "../trace/value.ts";
import * as fn from "../wasm/functions.ts";
import { add, div, mul, neg, sub } from "./arithmetic.ts";
import { less, select } from "./compare.ts";
import { flat, full, unary } from "./elementwise-rows.ts";

export const exp = unary("exp", {
  hlo: "exponential",
  wasm: (j, x) => j.numpy.exp(x),
  derivative: (ct, _x, y) => mul(ct, y),
});
export const expm1 = unary("expm1", {
  hlo: "exponential_minus_one",
  wasm: (j, x) => j.numpy.expm1(x),
  derivative: (ct, _x, y) => mul(ct, add(y, full(y, 1))),
});
export const log = unary("log", {
  wasm: (j, x) => fn.log(j, x),
  derivative: (ct, x) => div(ct, x),
});
export const log1p = unary("log1p", {
  hlo: "log_plus_one",
  wasm: (j, x) => fn.log1p(j, x),
  derivative: (ct, x) => div(ct, add(x, full(x, 1))),
});
export const sqrt = unary("sqrt", {
  wasm: (j, x) => j.numpy.sqrt(x),
  derivative: (ct, _x, y) => div(mul(ct, full(ct, 0.5)), y),
});
export const rsqrt = unary("rsqrt", {
  wasm: (j, x) => j.numpy.reciprocal(j.numpy.sqrt(x)),
  derivative: (ct, x, y) => mul(mul(ct, full(ct, -0.5)), div(y, x)),
});
export const sin = unary("sin", {
  hlo: "sine",
  wasm: (j, x) => fn.sin(j, x),
  derivative: (ct, x) => mul(ct, cos(x)),
});
export const cos = unary("cos", {
  hlo: "cosine",
  wasm: (j, x) => fn.cos(j, x),
  derivative: (ct, x) => neg(mul(ct, sin(x))),
});
export const tan = unary("tan", {
  wasm: (j, x) => fn.tan(j, x),
  derivative: (ct, _x, y) => mul(ct, add(mul(y, y), full(y, 1))),
});
export const tanh = unary("tanh", {
  wasm: fn.tanh,
  derivative: (ct, _x, y) => mul(ct, sub(full(y, 1), mul(y, y))),
});
export const logistic = unary("logistic", {
  wasm: (j, x) => j.nn.sigmoid(x),
  derivative: (ct, _x, y) => mul(ct, mul(y, sub(full(y, 1), y))),
});
export const erf = unary("erf", {
  hlo: "chlo.erf",
  wasm: (j, x) => j.lax.erf(x),
  derivative: (ct, x) => mul(ct, mul(full(x, 2 / Math.sqrt(Math.PI)), exp(neg(mul(x, x))))),
});
export const abs = unary("abs", {
  accepts: "signed",
  wasm: (j, x) => j.numpy.abs(x),
  derivative: (ct, x) => mul(ct, sign(x)),
});
export const sign = unary("sign", {
  accepts: "signed",
  wasm: (j, x, dtype) => (isFloat(dtype) ? j.numpy.sign(x) : fn.signOfIntegers(j, x)),
  derivative: flat,
});
export const floor = unary("floor", {
  wasm: (j, x) => j.numpy.floor(x),
  derivative: flat,
});
export const ceil = unary("ceil", {
  wasm: (j, x) => j.numpy.ceil(x),
  derivative: flat,
});
/** To the nearest whole number, halves to the even one. */
export const round = unary("round", {
  hlo: "round_nearest_even",
  wasm: (j, x) => j.numpy.rint(x),
  derivative: flat,
});
export const isFiniteValue = unary("isFinite", {
  gives: "bool",
  hlo: "is_finite",
  wasm: (j, x) => j.numpy.isfinite(x),
  derivative: notDifferentiable,
});
/** Cuts towards zero. */
export const trunc = (x: Value): Value => select(less(x, full(x, 0)), ceil(x), floor(x));
