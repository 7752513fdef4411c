import { isFloat } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { wrapU8 } from "../wasm/dtype.ts";
import * as fn from "../wasm/functions.ts";
import { equal, greater, less, select } from "./compare.ts";
import { binary, full, unary } from "./elementwise-rows.ts";
import { log, trunc } from "./functions.ts";

export const neg = unary("neg", {
  accepts: "number",
  hlo: "negate",
  wasm: (j, x, dtype) => (dtype === "u8" ? wrapU8(j, x.neg(), dtype) : x.neg()),
  derivative: (ct) => neg(ct),
});
export const add = binary("add", {
  wasm: (_j, x, y) => x.add(y),
  derivative: (ct) => [ct, ct],
});
export const sub = binary("sub", {
  hlo: "subtract",
  wasm: (_j, x, y) => x.sub(y),
  derivative: (ct) => [ct, neg(ct)],
});
export const mul = binary("mul", {
  hlo: "multiply",
  wasm: (_j, x, y) => x.mul(y),
  derivative: (ct, x, y) => [mul(ct, y), mul(x, ct)],
});
export const div = binary("div", {
  hlo: "divide",
  whenZero: "ones",
  wasm: (j, x, y, dtype) => (isFloat(dtype) ? x.div(y) : fn.divideIntegers(j, x, y, dtype)),
  derivative: (ct, x, y) => [div(ct, y), neg(div(mul(ct, x), mul(y, y)))],
});
export const rem = binary("rem", {
  hlo: "remainder",
  whenZero: "left",
  wasm: (j, x, y, dtype) => (isFloat(dtype) ? fn.remainder(j, x, y) : fn.remainderOfIntegers(j, x, y, dtype)),
  derivative: (ct, x, y) => [ct, neg(mul(ct, trunc(div(x, y))))],
});
export const pow = binary("pow", {
  accepts: "float",
  hlo: "power",
  wasm: (j, x, y) => fn.power(j, x, y),
  derivative: (ct, x, y, z) => {
    const zero = full(x, 0);
    const one = full(x, 1);
    const byBase = mul(ct, mul(y, pow(x, select(equal(y, zero), one, sub(y, one)))));
    const safe = select(equal(x, zero), one, x);
    return [byBase, mul(ct, mul(select(equal(x, zero), zero, log(safe)), z))];
  },
});

export const max = binary("max", {
  hlo: "maximum",
  notFolded: true,
  wasm: (j, x, y) => j.numpy.maximum(x, y),
  derivative: (ct, x, y) => extremum(ct, x, y, greater(x, y)),
});
export const min = binary("min", {
  hlo: "minimum",
  notFolded: true,
  wasm: (j, x, y) => j.numpy.minimum(x, y),
  derivative: (ct, x, y) => extremum(ct, x, y, less(x, y)),
});

function extremum(ct: Value, x: Value, y: Value, xWins: Value): readonly [Value, Value] {
  const zero = full(ct, 0);
  const tie = equal(x, y);
  const half = mul(ct, full(ct, 0.5));
  return [select(tie, half, select(xWins, ct, zero)), select(tie, half, select(xWins, zero, ct))];
}

export const atan2 = binary("atan2", {
  accepts: "float",
  wasm: (j, x, y) => fn.atan2(j, x, y),
  derivative: (ct, y, x) => {
    const scaled = div(ct, add(mul(x, x), mul(y, y)));
    return [mul(scaled, x), neg(mul(scaled, y))];
  },
});
