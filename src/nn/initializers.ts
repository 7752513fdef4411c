import type { Shape } from "../engine/index.ts";
import { drawn, sizeOf } from "./draw.ts";
import { normalProbability, normalQuantile } from "./normal-quantile.ts";
import { badOption, checkNumber, checkOptions } from "./options.ts";

export * from "./fan-initializers.ts";
export { type OrthogonalOptions, orthogonal } from "./orthogonal.ts";

/** Draws the first numbers of a parameter, on the host. The last axis is the outputs, the one before it the inputs. */
export type Initializer = (key: Uint32Array, shape: Shape) => Float32Array;

/** Zeros. */
export const zeros: Initializer = (_key, shape) => new Float32Array(sizeOf(shape));

/** Ones. */
export const ones: Initializer = (_key, shape) => new Float32Array(sizeOf(shape)).fill(1);

/** One number everywhere. */
export function constant(value: number): Initializer {
  checkNumber("constant", "the value", value);
  return (_key, shape) => new Float32Array(sizeOf(shape)).fill(value);
}

/** Options of {@link uniform}. */
export interface UniformOptions {
  readonly min?: number;
  readonly max?: number;
}

/** Numbers from `min` (0) to `max` (1), all equally likely. */
export function uniform(options: UniformOptions = {}): Initializer {
  checkOptions("uniform", options, ["min", "max"]);
  const min = checkNumber("uniform", "min", options.min ?? 0);
  const max = checkNumber("uniform", "max", options.max ?? 1);
  if (min > max) throw badOption("uniform", `min is ${min} and max is ${max}`, "make min the smaller one");
  return (key, shape) => drawn(key, shape, (u) => min + u * (max - min));
}

/** Options of {@link normal}. */
export interface NormalOptions {
  readonly mean?: number;
  /** The standard deviation; 1 unless told. */
  readonly std?: number;
}

const spreadOf = (kind: string, std = 1): number =>
  checkNumber(kind, "std", std, (x) => x >= 0, "give a number from 0 on");

/**
 * Normal numbers.
 *
 * @example
 * ```ts
 * const layer = nn.dense(64, { init: nn.initializers.normal({ std: 0.02 }) });
 * ```
 */
export function normal(options: NormalOptions = {}): Initializer {
  checkOptions("normal", options, ["mean", "std"]);
  const mean = checkNumber("normal", "mean", options.mean ?? 0);
  const std = spreadOf("normal", options.std);
  return (key, shape) => drawn(key, shape, (u) => mean + std * normalQuantile(u));
}

/** Options of {@link truncatedNormal}. */
export interface TruncatedNormalOptions extends NormalOptions {
  /** Where they are cut, in standard deviations from the mean: from -2 to 2 unless told. */
  readonly min?: number;
  readonly max?: number;
}

/** Normal numbers between two bounds. `std` is that of the numbers before they are cut. */
export function truncatedNormal(options: TruncatedNormalOptions = {}): Initializer {
  const kind = "truncatedNormal";
  checkOptions(kind, options, ["mean", "std", "min", "max"]);
  const mean = checkNumber(kind, "mean", options.mean ?? 0);
  const std = spreadOf(kind, options.std);
  const min = checkNumber(kind, "min", options.min ?? -2);
  const max = checkNumber(kind, "max", options.max ?? 2);
  if (min >= max) throw badOption(kind, `min is ${min} and max is ${max}`, "make min the smaller one");
  // Above the mean probabilities crowd below 1, where doubles have no digits left: the lower tail is as good.
  const sign = min > 0 ? -1 : 1;
  const [low, high] = sign < 0 ? [-max, -min] : [min, max];
  const from = normalProbability(low);
  const width = normalProbability(high) - from;
  return (key, shape) =>
    drawn(key, shape, (u) => {
      const x = Math.min(high, Math.max(low, normalQuantile(from + u * width)));
      return mean + std * sign * x;
    });
}
