import * as ops from "../ops/convert.ts";
import { checkDTypeName } from "../ops/rules.ts";
import { byteWidth, type DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { operand, type ValueLike } from "./operands.ts";

/**
 * The value in another element type. Floats become integers by cutting towards zero, and booleans by asking whether
 * they are not 0.
 *
 * @example
 * ```ts
 * np.astype(labels, "f32");
 * ```
 */
export function astype(x: ValueLike, dtype: DType): Value {
  checkDTypeName("astype", dtype);
  return ops.convert(operand("astype", x), dtype);
}

/** The same bits read as another element type of the same width. */
export function bitcast(x: ValueLike, dtype: DType): Value {
  checkDTypeName("bitcast", dtype);
  const value = operand("bitcast", x);
  if (value.dtype === dtype) return value;
  if (byteWidth(value.dtype) !== byteWidth(dtype) || value.dtype === "bool" || dtype === "bool")
    throw userError(
      "DTYPE_MISMATCH",
      `bitcast: ${value.type.text} has elements of ${byteWidth(value.dtype)} bytes and ${dtype} of ${byteWidth(dtype)}`,
      "read bits as a type of the same width: f32, i32 and u32, or f16 and bf16",
    );
  return ops.bitcast(value, dtype);
}
