import type { ValueLike } from "../np/value.ts";
import { asValue } from "../np/value.ts";
import { splat } from "../ops/constant.ts";
import { bitcast, convert } from "../ops/convert.ts";
import {
  add,
  max as larger,
  less,
  lessEqual,
  mul,
  rem,
  select,
  min as smaller,
  sub,
} from "../ops/elementwise.ts";
import { argExtremum } from "../ops/reduce.ts";
import { checkAxis, checkDType } from "../ops/rules.ts";
import type { DType } from "../trace/dtype.ts";
import { isFloat, isInteger, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { currentTrace } from "../trace/value.ts";
import { gumbel } from "./continuous.ts";
import type { Key } from "./key.ts";
import { split } from "./key.ts";
import { between, bits, checkRange, parameter } from "./uniform.ts";

/**
 * Booleans that are true with probability `p`. The shape is that of `p` unless given.
 *
 * @example
 * ```ts
 * const kept = random.bernoulli(key, 0.9, x.shape);
 * ```
 */
export function bernoulli(key: Key, p: ValueLike = 0.5, shape?: Shape): Value {
  currentTrace("bernoulli");
  if (typeof p === "number" && !(p >= 0 && p <= 1))
    throw userError("ARGUMENT_INVALID", `bernoulli: ${p} is no probability`, "give p from 0 to 1");
  const size = shape ?? (typeof p === "number" ? [] : asValue(p, undefined, "bernoulli: p").shape);
  const u = between(key, "bernoulli", size, 0, 1);
  return less(u, parameter("bernoulli", "p", p, "f32", size));
}

/**
 * 1 and -1, equally likely.
 *
 * @example
 * ```ts
 * random.rademacher(key, [8], { dtype: "f32" });
 * ```
 */
export function rademacher(key: Key, shape: Shape = [], options: { readonly dtype?: DType } = {}): Value {
  const dtype = options.dtype ?? "i32";
  const one = splat(1, dtype, shape);
  return select(bernoulli(key, 0.5, shape), one, splat(-1, dtype, shape));
}

/** Options of {@link categorical}. */
export interface CategoricalOptions {
  /** Along which axis of the logits the categories stand; the last unless given. */
  readonly axis?: number;
  /** The shape of the sample, to which the logits' other axes are repeated; those axes unless given. */
  readonly shape?: Shape;
}

/**
 * Categories (i32), each as likely as the softmax of its logits says.
 *
 * @example
 * ```ts
 * const actions = random.categorical(key, logits);                     // f32[64,4] gives i32[64]
 * const many = random.categorical(key, logits, { shape: [100, 64] });
 * ```
 */
export function categorical(key: Key, logits: ValueLike, options: CategoricalOptions = {}): Value {
  const fn = "categorical";
  currentTrace(fn);
  const given = asValue(logits, undefined, `${fn}: the logits`);
  checkDType(fn, "the logits", given.type, "float");
  const axis = checkAxis(fn, options.axis ?? -1, given.ndim);
  const categories = given.shape[axis] as number;
  if (categories === 0)
    throw userError(
      "ARGUMENT_INVALID",
      `${fn}: axis ${axis} of ${shapeText(given.shape)} has no categories`,
      "give at least one logit",
    );
  const others = given.shape.filter((_, i) => i !== axis);
  const shape = options.shape ?? others;
  const added = shape.length - others.length;
  const all = [...shape.slice(0, added + axis), categories, ...shape.slice(added + axis)];
  const scores = add(gumbel(key, all), parameter(fn, "the logits", given, "f32", all));
  return argExtremum(scores, added + axis, "max");
}

/** Options of {@link randint}. */
export interface RandintOptions {
  /** i32 unless given. */
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
  currentTrace("randint");
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
  if (isFloat(given.dtype) || given.dtype === "bool")
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
