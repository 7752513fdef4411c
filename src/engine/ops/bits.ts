import type { DType } from "../trace/dtype.ts";
import { type Jax, type JaxArray, notDifferentiable } from "../trace/op.ts";
import type { Value } from "../trace/value.ts";
import { jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import * as fn from "../wasm/functions.ts";
import { binary, unary } from "./elementwise-rows.ts";

export const and = binary("and", {
  accepts: "bits",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? j.numpy.logicalAnd(x, y) : j.numpy.bitwiseAnd(x, y)),
  derivative: notDifferentiable,
});
export const or = binary("or", {
  accepts: "bits",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? j.numpy.logicalOr(x, y) : j.numpy.bitwiseOr(x, y)),
  derivative: notDifferentiable,
});
export const xor = binary("xor", {
  accepts: "bits",
  wasm: (j, x, y, dtype) => (dtype === "bool" ? x.notEqual(y) : j.numpy.bitwiseXor(x, y)),
  derivative: notDifferentiable,
});
export const not = unary("not", {
  accepts: "bits",
  wasm: (j, x, dtype) =>
    dtype === "bool" ? j.numpy.logicalNot(x) : wrapU8(j, j.numpy.bitwiseInvert(x), dtype),
  derivative: notDifferentiable,
});
export const popcount = unary("popcount", {
  accepts: "integer",
  hlo: "popcnt",
  wasm: (j, x, dtype) => j.numpy.bitwiseCount(toU32(j, x)).astype(jaxName(dtype)),
  derivative: notDifferentiable,
});

/** Shifts by the width or more give what no bits are left gives; engines and chips disagree, so it is written out. */
function shift(name: string, hlo: string, run: (j: Jax, x: JaxArray, y: JaxArray, dtype: DType) => JaxArray) {
  return binary(name, { accepts: "integer", hlo, wasm: run, derivative: notDifferentiable });
}
export const shiftLeft = shift("shiftLeft", "shift_left", (j, x, y, dtype) =>
  inWidth(
    j,
    y,
    dtype,
    (by) => j.numpy.leftShift(x, by),
    () => jaxScalar(j, 0, dtype),
  ),
);
export const shiftRightLogical = shift("shiftRightLogical", "shift_right_logical", (j, x, y, dtype) =>
  inWidth(
    j,
    y,
    dtype,
    (by) =>
      dtype === "i32"
        ? j.lax.bitcastConvertType(j.numpy.rightShift(toU32(j, x), toU32(j, by)), jaxName("i32"))
        : j.numpy.rightShift(x, by),
    () => jaxScalar(j, 0, dtype),
  ),
);
export const shiftRightArithmetic = (x: Value, y: Value): Value =>
  x.dtype === "i32" ? arithmeticShift(x, y) : shiftRightLogical(x, y);
const arithmeticShift = shift("shiftRightArithmetic", "shift_right_arithmetic", (j, x, y) => {
  const cut = j.numpy.minimum(toU32(j, y), jaxScalar(j, 31, "u32"));
  return fn.shiftRightWithSign(j, x, j.lax.bitcastConvertType(cut, jaxName("i32")));
});

const toU32 = (j: Jax, x: JaxArray): JaxArray =>
  x.dtype === "uint32" ? x : j.lax.bitcastConvertType(x, jaxName("u32"));

function inWidth(
  j: Jax,
  y: JaxArray,
  dtype: DType,
  within: (y: JaxArray) => JaxArray,
  beyond: () => JaxArray,
): JaxArray {
  const width = dtype === "u8" ? 8 : 32;
  const inside = toU32(j, y.ref).less(jaxScalar(j, width, "u32"));
  const by = j.numpy.where(inside.ref, y, jaxScalar(j, 0, dtype));
  return j.numpy.where(inside, within(by), beyond());
}
