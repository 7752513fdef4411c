import { checkOptions } from "../np/options.ts";
import type { ValueLike } from "../np/value.ts";
import { asValue } from "../np/value.ts";
import { splat } from "../ops/constant.ts";
import { bitcast, convert } from "../ops/convert.ts";
import { add, max as larger, lessEqual, mul, rem, select, min as smaller, sub } from "../ops/elementwise.ts";
import { checkShape } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import { isInteger, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import type { Key } from "./key.ts";
import { checkKey, split } from "./key.ts";
import { bits, checkRange, parameter } from "./uniform.ts";

/** Options of {@link randint}. */
export interface RandintOptions {
  /** Default: i32. */
  readonly dtype?: "i32" | "u32" | "u8";
}

/**
 * Whole numbers from `min` up to, but not including, `max`. A traced range that is empty gives `min`.
 *
 * @example
 * ```ts
 * random.randint(key, [6], 1, 7); // dice
 * ```
 */
export function randint(
  key: Key,
  shape: Shape,
  min: ValueLike,
  max: ValueLike,
  options: RandintOptions = {},
): Value {
  checkKey("randint", key);
  checkShape("randint", shape);
  checkOptions("randint", options, ["dtype"]);
  const dtype: DType = options.dtype ?? "i32";
  if (!isInteger(dtype))
    throw userError("DTYPE_UNSUPPORTED", `randint: ${dtype} is no integer type`, 'use "i32", "u32" or "u8"');
  checkRange("randint", min, max);
  // Bytes are drawn as i32, in which 256 can be an end.
  const wide = dtype === "u8" ? "i32" : dtype;
  const low = end("min", min, wide, shape, limits(dtype).min, limits(dtype).max);
  const high = end("max", max, wide, shape, limits(dtype).min, limits(dtype).max + (dtype === "u8" ? 1 : 0));
  const word = (x: Value): Value => (wide === "i32" ? bitcast(x, "u32") : x);
  const one = splat(1, "u32", shape);
  const span = select(lessEqual(high, low), one, word(sub(high, low)));
  // 64 random bits modulo the span, of which 2^32 modulo the span is the weight of the upper half.
  const half = rem(splat(2 ** 16, "u32", shape), span);
  const weight = rem(mul(half, half), span);
  const [first, second] = split(key);
  const upper = mul(rem(bits(first, shape), span), weight);
  const offset = rem(add(upper, rem(bits(second, shape), span)), span);
  return convert(add(low, wide === "i32" ? bitcast(offset, "i32") : offset), dtype);
}

/** One end of a range of integers. Traced ones are moved into what the type holds, written ones must lie there. */
function end(name: string, x: ValueLike, dtype: DType, shape: Shape, least: number, most: number): Value {
  if (typeof x === "number") {
    if (!(Number.isInteger(x) && x >= least && x <= most))
      throw userError(
        "ARGUMENT_INVALID",
        `randint: ${name} is ${x}, but must be a whole number from ${least} to ${most}`,
        "choose another range or dtype",
      );
    return splat(x, dtype, shape);
  }
  const given = asValue(x, undefined, `randint: ${name}`);
  if (!isInteger(given.dtype))
    throw userError(
      "DTYPE_MISMATCH",
      `randint: ${name} is ${given.type.text}, but must be an integer`,
      'convert first: x.astype("i32")',
    );
  return parameter("randint", name, clipped(given, least, most), dtype, shape);
}

function clipped(x: Value, least: number, most: number): Value {
  const { min, max } = limits(x.dtype);
  const above = least > min ? larger(x, splat(least, x.dtype, x.shape)) : x;
  return most < max ? smaller(above, splat(most, x.dtype, x.shape)) : above;
}
