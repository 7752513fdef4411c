import { shown } from "../core/index.ts";
import { hostRandom, type Shape } from "../engine/index.ts";
import { layerError } from "./layer.ts";

/** Number of elements of a parameter of this shape; throws if it is no shape. */
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

/** Coefficients of quotients of polynomials, lowest power first, by M. Wichura, algorithm AS 241 (PPND16). */
const centre = {
  over: [
    3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987,
    67265.7709270087, 33430.57558358813, 2509.0809287301227,
  ],
  under: [
    1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
    28729.085735721943, 5226.495278852854,
  ],
} as const;
const tail = {
  over: [
    1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
    0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
  ],
  under: [
    1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
    0.0005475938084995344, 1.0507500716444169e-9,
  ],
} as const;
const farTail = {
  over: [
    6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
    0.0012426609473880784, 0.000027115555687434876, 2.0103343992922881e-7,
  ],
  under: [
    1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
    0.000018463183175100548, 1.421511758316446e-7, 2.0442631033899397e-15,
  ],
} as const;

interface Quotient {
  readonly over: readonly number[];
  readonly under: readonly number[];
}

function quotient({ over, under }: Quotient, x: number): number {
  let above = 0;
  let below = 0;
  for (let i = 7; i >= 0; i--) {
    above = above * x + (over[i] as number);
    below = below * x + (under[i] as number);
  }
  return above / below;
}

/**
 * The number that a normal number is below with probability `p`: the inverse of the normal distribution function, to
 * all but the last digit of a double.
 */
export function normalQuantile(p: number): number {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) return q * quotient(centre, 0.180625 - q * q);
  const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  const size = r <= 5 ? quotient(tail, r - 1.6) : quotient(farTail, r - 5);
  return q < 0 ? -size : size;
}

/** The probability that a normal number is below `x`, found by halving, so that it undoes {@link normalQuantile}. */
export function normalProbability(x: number): number {
  if (x > 0) return 1 - normalProbability(-x);
  let [low, high] = [0, 0.5];
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (normalQuantile(middle) < x) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
