import { type DType, isFloat } from "../../index.ts";
import { type Dense, dense, roundToEven } from "../dense.test-support.ts";
import type { Reference } from "../sampler.test-support.ts";

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
  shard: unary((x) => x),
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

/** The error function to a double's precision: its series near 0, the continued fraction of its complement beyond. */
function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  return size < 2.5 ? series(x) : Math.sign(x) * (1 - complement(size));
}

function series(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 100; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

function complement(x: number): number {
  let fraction = x;
  for (let n = 80; n >= 1; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

const turns = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
] as const;

/** Threefry-2x32 with twenty rounds, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3". */
function threefry(
  key: readonly [number, number],
  count: readonly [number, number],
): readonly [number, number] {
  const keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda] as const;
  let x = (count[0] + key[0]) | 0;
  let y = (count[1] + key[1]) | 0;
  for (let group = 0; group < 5; group++) {
    for (const by of turns[(group % 2) as 0 | 1]) {
      x = (x + y) | 0;
      y = ((y << by) | (y >>> (32 - by))) ^ x;
    }
    x = (x + (keys[(group + 1) % 3] as number)) | 0;
    y = (y + (keys[(group + 2) % 3] as number) + group + 1) | 0;
  }
  return [x >>> 0, y >>> 0];
}

const threefry2x32: Reference = (inputs) => {
  const shape = inputs.find((input) => input.shape.length > 0)?.shape ?? [];
  const size = shape.reduce((product, n) => product * n, 1);
  const word = (input: Dense, i: number): number => input.data[input.shape.length === 0 ? 0 : i] as number;
  const [k0, k1, c0, c1] = inputs as readonly [Dense, Dense, Dense, Dense];
  const pairs = Array.from({ length: size }, (_, i) =>
    threefry([word(k0, i), word(k1, i)], [word(c0, i), word(c1, i)]),
  );
  return [0, 1].map((half) =>
    dense(
      "u32",
      shape,
      pairs.map((pair) => pair[half] as number),
    ),
  );
};

export const randomReferences: Readonly<Record<string, Reference>> = { threefry2x32 };
