import { erfInv } from "../np/erf-inv.ts";
import { asValue, broadcastShapes, type ValueLike } from "../np/operands.ts";
import { splat } from "../ops/constant.ts";
import { bitcast, convert } from "../ops/convert.ts";
import {
  abs,
  add,
  div,
  equal,
  erf,
  greater,
  log,
  log1p,
  max,
  min,
  mul,
  neg,
  select,
  sign,
  stopGradient,
  sub,
} from "../ops/elementwise.ts";
import { checkShape } from "../ops/shape.ts";
import type { Shape } from "../trace/type.ts";
import { currentTrace, type Value } from "../trace/value.ts";
import type { Key } from "./key.ts";
import { between, checkRange, type FloatOptions, floatType, parameter } from "./uniform.ts";

/** The first f32 above -1. */
const aboveMinusOne = -1 + 2 ** -24;
/** The smallest f32 with all its digits. */
const tiny = 2 ** -126;

/** Draws in f32 and rounds to the type asked for, which has too few digits to draw in. */
function drawn(fn: string, options: FloatOptions, sample: () => Value): Value {
  currentTrace(fn);
  const dtype = floatType(fn, options);
  return convert(sample(), dtype);
}

/**
 * Numbers of the normal distribution with mean 0 and variance 1.
 *
 * @example
 * ```ts
 * np.add(mean, np.multiply(std, random.normal(key, [64, 4])));
 * ```
 */
export const normal = (key: Key, shape: Shape = [], options: FloatOptions = {}): Value =>
  drawn("normal", options, () => scaledErfInv(between(key, "normal", shape, aboveMinusOne, 1)));

const scaledErfInv = (u: Value): Value => mul(splat(Math.SQRT2, "f32", u.shape), erfInv(u));

/**
 * Numbers of the normal distribution that lie between `lower` and `upper`, ends excluded. The shape is that of the
 * two ends by default.
 *
 * @example
 * ```ts
 * random.truncatedNormal(key, -2, 2, [3, 4]);
 * ```
 */
export function truncatedNormal(
  key: Key,
  lower: ValueLike,
  upper: ValueLike,
  shape?: Shape,
  options: FloatOptions = {},
): Value {
  const fn = "truncatedNormal";
  return drawn(fn, options, () => {
    checkRange(fn, lower, upper, "lower and upper");
    const ends = broadcastShapes(fn, endShape(lower, "lower"), endShape(upper, "upper"));
    const size = shape ?? ends;
    checkShape(fn, size);
    const low = parameter(fn, "lower", lower, "f32", size);
    const high = parameter(fn, "upper", upper, "f32", size);
    const share = (x: Value): Value => erf(div(x, splat(Math.SQRT2, "f32", size)));
    const sample = scaledErfInv(between(key, fn, size, share(low), share(high)));
    return min(max(sample, stopGradient(above(low))), stopGradient(neg(above(neg(high)))));
  });
}

const endShape = (x: ValueLike, name: string): Shape =>
  typeof x === "number" ? [] : asValue(x, undefined, `truncatedNormal: ${name}`).shape;

/** The next larger f32. */
function above(x: Value): Value {
  const whole = bitcast(x, "i32");
  const one = splat(1, "i32", x.shape);
  const zero = splat(0, "f32", x.shape);
  const beside = select(greater(x, zero), add(whole, one), sub(whole, one));
  return bitcast(select(equal(x, zero), one, beside), "f32");
}

/**
 * Numbers of the Gumbel distribution: what added to logits makes the largest of them a sample.
 *
 * @example
 * ```ts
 * np.argmax(np.add(logits, random.gumbel(key, logits.shape)), { axis: -1 }); // random.categorical
 * ```
 */
export const gumbel = (key: Key, shape: Shape = [], options: FloatOptions = {}): Value =>
  drawn("gumbel", options, () => neg(log(neg(log(between(key, "gumbel", shape, tiny, 1))))));

/**
 * Numbers of the exponential distribution with rate 1.
 *
 * @example
 * ```ts
 * np.divide(random.exponential(key, [8]), rate);
 * ```
 */
export const exponential = (key: Key, shape: Shape = [], options: FloatOptions = {}): Value =>
  drawn("exponential", options, () => neg(log1p(neg(between(key, "exponential", shape, 0, 1)))));

/**
 * Numbers of the Laplace distribution with mean 0 and scale 1.
 *
 * @example
 * ```ts
 * random.laplace(key, [8]);
 * ```
 */
export const laplace = (key: Key, shape: Shape = [], options: FloatOptions = {}): Value =>
  drawn("laplace", options, () => {
    const u = between(key, "laplace", shape, aboveMinusOne, 1);
    return mul(sign(u), log1p(neg(abs(u))));
  });
