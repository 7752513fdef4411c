import { shown } from "../core/index.ts";
import { hostRandom, type Shape } from "../engine/index.ts";
import { normalQuantile } from "./normal-quantile.ts";
import { layerError } from "./path.ts";

/** How many numbers a parameter of this shape has; an error where it is no shape. */
export function sizeOf(shape: Shape): number {
  if (Array.isArray(shape)) return shape.reduce((a, b) => a * b, 1);
  throw layerError(
    "init",
    "SHAPE_INVALID",
    `the shape of a parameter is ${shown(shape)}`,
    "an initializer takes (key, shape), such as (key, [4, 2])",
  );
}

/** The middle of one of 2^32 parts of the way from 0 to 1: neither end, and both ends equally far. */
const within = (bits: number): number => (bits + 0.5) * 2 ** -32;

/** A number for each element, from a probability that is neither 0 nor 1. */
export function drawn(key: Uint32Array, shape: Shape, f: (u: number) => number): Float32Array {
  const bits = hostRandom.hostBits(key, sizeOf(shape));
  const numbers = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) numbers[i] = f(within(bits[i] as number));
  return numbers;
}

/** `n` normal numbers with all digits of a double. */
export function normals(key: Uint32Array, n: number): Float64Array {
  const bits = hostRandom.hostBits(key, n);
  const numbers = new Float64Array(n);
  for (let i = 0; i < n; i++) numbers[i] = normalQuantile(within(bits[i] as number));
  return numbers;
}
