import type { DType } from "../../engine/index.ts";
import { isFloat } from "../../engine/index.ts";
import type { Dense } from "../dense.ts";
import { dense, roundToEven } from "../dense.ts";
import type { Reference } from "../sample.ts";
import { erf } from "./erf.ts";

const unary =
  (f: (x: number, dtype: DType) => number, gives?: DType): Reference =>
  (inputs) => {
    const [x] = inputs as readonly [Dense];
    return [
      dense(
        gives ?? x.dtype,
        x.shape,
        x.data.map((value) => f(value, x.dtype)),
      ),
    ];
  };

const binary =
  (f: (x: number, y: number, dtype: DType) => number): Reference =>
  (inputs) => {
    const [x, y] = inputs as readonly [Dense, Dense];
    return [
      dense(
        x.dtype,
        x.shape,
        x.data.map((value, i) => f(value, y.data[i] as number, x.dtype)),
      ),
    ];
  };

/** Integers divided by 0 give all ones; the quotient is cut towards zero. */
const divide = (x: number, y: number, dtype: DType): number =>
  isFloat(dtype) ? x / y : y === 0 ? -1 : Math.trunc(x / y);
/** The rest has the sign of the dividend; nothing divides by 0, so all is left. */
const remainder = (x: number, y: number, dtype: DType): number => (!isFloat(dtype) && y === 0 ? x : x % y);

const either =
  (better: (x: number, y: number) => number) =>
  (x: number, y: number): number =>
    Number.isNaN(x) || Number.isNaN(y) ? Number.NaN : better(x, y);

/** JavaScript says NaN where IEEE's pow says 1. */
const power = (x: number, y: number): number =>
  x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y;

const width = (dtype: DType): number => (dtype === "u8" ? 8 : 32);
const outside = (by: number, dtype: DType): boolean => by < 0 || by >= width(dtype);

function bitCount(x: number, dtype: DType): number {
  const bits = (dtype === "u8" ? x & 255 : x >>> 0).toString(2);
  return [...bits].filter((bit) => bit === "1").length;
}

const comparisons: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  EQ: (x, y) => x === y,
  NE: (x, y) => x !== y,
  LT: (x, y) => x < y,
  LE: (x, y) => x <= y,
  GT: (x, y) => x > y,
  GE: (x, y) => x >= y,
};

const compare: Reference = (inputs, { direction }: { readonly direction: string }) => {
  const [x, y] = inputs as readonly [Dense, Dense];
  const holds = comparisons[direction] as (x: number, y: number) => boolean;
  return [
    dense(
      "bool",
      x.shape,
      x.data.map((value, i) => Number(holds(value, y.data[i] as number))),
    ),
  ];
};

const select: Reference = (inputs) => {
  const [condition, x, y] = inputs as readonly [Dense, Dense, Dense];
  const chosen = (i: number) => condition.data[condition.shape.length === 0 ? 0 : i] !== 0;
  return [
    dense(
      x.dtype,
      x.shape,
      x.data.map((value, i) => (chosen(i) ? value : (y.data[i] as number))),
    ),
  ];
};

export const elementwiseReferences: Readonly<Record<string, Reference>> = {
  neg: unary((x) => -x),
  exp: unary(Math.exp),
  expm1: unary(Math.expm1),
  log: unary(Math.log),
  log1p: unary(Math.log1p),
  sqrt: unary(Math.sqrt),
  rsqrt: unary((x) => 1 / Math.sqrt(x)),
  sin: unary(Math.sin),
  cos: unary(Math.cos),
  tan: unary(Math.tan),
  tanh: unary(Math.tanh),
  logistic: unary((x) => 1 / (1 + Math.exp(-x))),
  erf: unary(erf),
  abs: unary(Math.abs),
  sign: unary(Math.sign),
  floor: unary(Math.floor),
  ceil: unary(Math.ceil),
  round: unary(roundToEven),
  isFinite: unary((x) => Number(Number.isFinite(x)), "bool"),
  not: unary((x, dtype) => (dtype === "bool" ? 1 - x : ~x)),
  popcount: unary(bitCount),
  stopGradient: unary((x) => x),
  identity: unary((x) => x),
  materialize: unary((x) => x),
  add: binary((x, y) => x + y),
  sub: binary((x, y) => x - y),
  mul: binary((x, y, dtype) => (isFloat(dtype) ? x * y : Math.imul(x, y))),
  div: binary(divide),
  rem: binary(remainder),
  pow: binary(power),
  max: binary(either(Math.max)),
  min: binary(either(Math.min)),
  atan2: binary(Math.atan2),
  and: binary((x, y) => x & y),
  or: binary((x, y) => x | y),
  xor: binary((x, y) => x ^ y),
  shiftLeft: binary((x, by, dtype) => (outside(by, dtype) ? 0 : x << by)),
  shiftRightLogical: binary((x, by, dtype) => (outside(by, dtype) ? 0 : x >>> by)),
  shiftRightArithmetic: binary((x, by, dtype) => x >> (outside(by, dtype) ? 31 : by)),
  compare,
  select,
};
