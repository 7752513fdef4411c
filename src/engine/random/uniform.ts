import { checkOptions } from "../np/arguments.ts";
import { asValue, type ValueLike } from "../np/operands.ts";
import { splat } from "../ops/constant.ts";
import { bitcast, convert } from "../ops/convert.ts";
import {
  add,
  and,
  max as larger,
  lessEqual,
  mul,
  or,
  rem,
  select,
  shiftRightLogical,
  min as smaller,
  sub,
  xor,
} from "../ops/elementwise.ts";
import { broadcastTo, checkShape } from "../ops/shape.ts";
import { type DType, isInteger, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, sameDims, shapeText } from "../trace/type.ts";
import { currentTrace, type Value } from "../trace/value.ts";
import { blocks, checkKey, type Key, split } from "./key.ts";

/** The element types random floating-point numbers come in. */
export type RandomFloat = "f32" | "f16" | "bf16";

/** Options of functions that give floating-point numbers. */
export interface FloatOptions {
  /** Default: f32. */
  readonly dtype?: RandomFloat;
}

const words = (key: Key, fn: string, shape: Shape): Value => {
  checkShape(fn, shape);
  return xor(...blocks(fn, key, shape));
};

/**
 * Random bits as unsigned integers: every number of the type is equally likely.
 *
 * @example
 * ```ts
 * random.bits(key, [2, 3]);               // u32[2,3]
 * random.bits(key, [4], { dtype: "u8" }); // bytes
 * ```
 */
export function bits(key: Key, shape: Shape = [], options: { readonly dtype?: "u32" | "u8" } = {}): Value {
  checkOptions("bits", options, ["dtype"]);
  const dtype: DType = options.dtype ?? "u32";
  if (dtype !== "u32" && dtype !== "u8") throw wrongType("bits", dtype, '"u32" or "u8"');
  return convert(words(key, "bits", shape), dtype);
}

const wrongType = (fn: string, dtype: DType, types: string) =>
  userError("DTYPE_UNSUPPORTED", `${fn}: there are no random ${dtype} numbers`, `use ${types}`);

/** Checks options of the given names, and gives the element type among them. */
export function floatType(
  fn: string,
  options: FloatOptions,
  known: readonly string[] = ["dtype"],
): RandomFloat {
  checkOptions(fn, options, known);
  const dtype: DType = options.dtype ?? "f32";
  if (dtype === "f32" || dtype === "f16" || dtype === "bf16") return dtype;
  throw wrongType(fn, dtype, '"f32", "bf16" or "f16"');
}

/** From 0 up to 1, in steps of the type's digits between 1 and 2. */
function unit(key: Key, fn: string, shape: Shape, dtype: RandomFloat): Value {
  const random = words(key, fn, shape);
  const number = (n: number): Value => splat(n, "u32", shape);
  if (dtype === "f32") {
    // Random digits behind a 1, minus 1.
    const digits = or(shiftRightLogical(random, number(9)), number(0x3f800000));
    return sub(bitcast(digits, "f32"), splat(1, "f32", shape));
  }
  // As many random bits as JAX draws for the type, of which the upper ones are the digits.
  const [drawn, digits] = dtype === "f16" ? [16, 10] : [8, 7];
  const whole = shiftRightLogical(and(random, number(2 ** drawn - 1)), number(drawn - digits));
  return convert(mul(convert(whole, "f32"), splat(2 ** -digits, "f32", shape)), dtype);
}

/** A parameter of a distribution, repeated to the shape of the sample. */
export function parameter(fn: string, name: string, x: ValueLike, dtype: DType, shape: Shape): Value {
  if (typeof x === "number") return splat(x, dtype, shape);
  const value = asValue(x, undefined, `${fn}: ${name}`);
  const offset = shape.length - value.ndim;
  if (offset < 0 || !value.shape.every((n, i) => n === 1 || n === shape[i + offset]))
    throw userError(
      "SHAPE_MISMATCH",
      `${fn}: ${name} has shape ${shapeText(value.shape)} and the sample has shape ${shapeText(shape)}`,
      "ask for a shape that the parameters can be repeated to",
    );
  const typed = convert(value, dtype);
  return sameDims(typed.shape, shape) ? typed : broadcastTo(typed, shape);
}

/** An error where both ends of a range are plain numbers and hold nothing between them. */
export function checkRange(fn: string, from: ValueLike, to: ValueLike, names = "min and max"): void {
  if (typeof from === "number" && typeof to === "number" && !(from < to))
    throw userError(
      "ARGUMENT_INVALID",
      `${fn}: there is nothing from ${from} up to ${to}`,
      `give ${names} so that the first is smaller`,
    );
}

/** Options of {@link uniform}. */
export interface UniformOptions extends FloatOptions {
  /** Inclusive lower bound. Default: 0. */
  readonly min?: ValueLike;
  /** Exclusive upper bound. Default: 1. */
  readonly max?: ValueLike;
}

/**
 * Numbers from `min` up to, but not including, `max`, all equally likely.
 *
 * @example
 * ```ts
 * random.uniform(key, [2, 3]);                       // from 0 to 1
 * random.uniform(key, [64], { min: -0.1, max: 0.1 });
 * ```
 */
export function uniform(key: Key, shape: Shape = [], options: UniformOptions = {}): Value {
  currentTrace("uniform");
  const dtype = floatType("uniform", options, ["dtype", "min", "max"]);
  const { min = 0, max = 1 } = options;
  checkRange("uniform", min, max);
  return between(key, "uniform", shape, min, max, dtype);
}

/** {@link uniform} in the name of another function. */
export function between(
  key: Key,
  fn: string,
  shape: Shape,
  min: ValueLike,
  max: ValueLike,
  dtype: RandomFloat = "f32",
): Value {
  const floats = unit(key, fn, shape, dtype);
  if (min === 0 && max === 1) return floats;
  const low = parameter(fn, "min", min, dtype, shape);
  const high = parameter(fn, "max", max, dtype, shape);
  return larger(low, add(mul(floats, sub(high, low)), low));
}

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
