import { type DotDims, freeAxesOf } from "../ops/dot.ts";
import { pieceOf } from "../ops/piece-of.ts";
import { type DType, limits } from "../trace/dtype.ts";
import type { Jax, JaxArray } from "../trace/op.ts";
import { inMemory, jaxName, jaxScalar } from "./dtype.ts";

// Functions of which jax-js's own are too coarse, or stop at the edges. Each owns the arrays it is given.

const f32 = (j: Jax, value: number): JaxArray => jaxScalar(j, value, "f32");

/** log(u) where u is 1 + t: jax-js's own is off by up to 1e-5, most of all just below powers of two. */
function logarithm(j: Jax, u: JaxArray, t: JaxArray): JaxArray {
  const rough = j.numpy.log(u.ref);
  // One step of Newton's; where it is no small step there is nothing to improve: 0, infinity, NaN.
  const step = u.mul(j.numpy.exp(rough.ref.neg())).sub(f32(j, 1));
  const small = j.numpy.abs(step.ref).less(f32(j, 1e-3));
  const improved = j.numpy.where(small, rough.ref.add(step), rough);
  const near = j.numpy.abs(t.ref).less(f32(j, 0.2));
  let series = f32(j, 0);
  const inside = j.numpy.where(near.ref, t, f32(j, 0));
  for (let n = 10; n >= 1; n--) {
    const factor = series.add(f32(j, n % 2 === 1 ? 1 / n : -1 / n));
    series = factor.mul(n === 1 ? inside : inside.ref);
  }
  return j.numpy.where(near, series, improved);
}

export const log = (j: Jax, x: JaxArray): JaxArray => logarithm(j, x.ref, x.sub(f32(j, 1)));
export const log1p = (j: Jax, x: JaxArray): JaxArray => logarithm(j, x.ref.add(f32(j, 1)), x);

/** An angle's distance to the nearest multiple of pi, and 1 or -1 for even and odd multiples. */
function halfTurns(j: Jax, x: JaxArray): { readonly rest: JaxArray; readonly sign: JaxArray } {
  const turns = j.numpy.rint(x.ref.mul(f32(j, 1 / Math.PI)));
  // pi in two parts, the first so short that its multiples are exact.
  const coarse = x.sub(turns.ref.mul(f32(j, 3.140625)));
  const rest = coarse.sub(turns.ref.mul(f32(j, Math.PI - 3.140625)));
  const odd = j.numpy.abs(turns.mod(f32(j, 2)));
  return { rest, sign: f32(j, 1).sub(odd.mul(f32(j, 2))) };
}

/** jax-js's own loses a digit with every ten turns. */
export function sin(j: Jax, x: JaxArray): JaxArray {
  const { rest, sign } = halfTurns(j, x);
  return j.numpy.sin(rest).mul(sign);
}

export function cos(j: Jax, x: JaxArray): JaxArray {
  const { rest, sign } = halfTurns(j, x);
  return j.numpy.cos(rest).mul(sign);
}

export function tan(j: Jax, x: JaxArray): JaxArray {
  const { rest, sign } = halfTurns(j, x);
  sign.dispose();
  return j.numpy.tan(rest);
}

const isNegative = (j: Jax, x: JaxArray): JaxArray =>
  j.lax.bitcastConvertType(x, jaxName("i32")).less(jaxScalar(j, 0, "i32"));

/** The angle of (x, y) by octants; jax-js's own squares both, and divides 0 by 0 on the axes. */
export function atan2(j: Jax, y: JaxArray, x: JaxArray): JaxArray {
  const np = j.numpy;
  const below = isNegative(j, y.ref);
  const behind = isNegative(j, x.ref);
  const [up, along] = [np.abs(y), np.abs(x)];
  const large = np.maximum(up.ref, along.ref);
  const small = np.minimum(up.ref, along.ref);
  const none = large.ref.equal(f32(j, 0));
  const equal = small.ref.equal(large.ref);
  const ratio = np.where(none, f32(j, 0), np.where(equal, f32(j, 1), small.div(large)));
  const octant = np.atan(ratio);
  const steep = up.greater(along);
  const quarter = np.where(steep, f32(j, Math.PI / 2).sub(octant.ref), octant);
  const half = np.where(behind, f32(j, Math.PI).sub(quarter.ref), quarter);
  return np.where(below, half.ref.neg(), half);
}

/** exp(y log x) with the sign and the special cases of IEEE's pow; first and second powers are exact. */
export function power(j: Jax, x: JaxArray, y: JaxArray): JaxArray {
  const np = j.numpy;
  const size = np.abs(x.ref);
  const whole = np.trunc(y.ref).equal(y.ref);
  const odd = np.abs(y.ref.mod(f32(j, 2))).equal(f32(j, 1));
  const negative = np.logicalAnd(x.ref.less(f32(j, 0)), np.isfinite(x.ref));
  const plain = np.exp(log(j, size.ref).mul(y.ref));
  const turned = np.where(np.logicalAnd(isNegative(j, x.ref), odd), plain.ref.neg(), plain);
  const real = np.where(np.logicalAnd(negative, np.logicalNot(whole)), f32(j, Number.NaN), turned);
  const square = x.ref.mul(x.ref);
  const exact = np.where(y.ref.equal(f32(j, 2)), square, np.where(y.ref.equal(f32(j, 1)), x.ref, real));
  const endless = np.abs(y.ref).equal(f32(j, Number.POSITIVE_INFINITY));
  const ofOne = np.logicalOr(x.equal(f32(j, 1)), np.logicalAnd(size.equal(f32(j, 1)), endless));
  return np.where(np.logicalOr(y.equal(f32(j, 0)), ofOne), f32(j, 1), exact);
}

/**
 * Whole numbers, the quotient cut towards zero; all ones where the divisor is 0, as XLA has it. WebAssembly stops at
 * a division by 0 and at that of the lowest number by -1.
 */
export function divideIntegers(j: Jax, x: JaxArray, y: JaxArray, dtype: DType): JaxArray {
  const np = j.numpy;
  const byZero = y.ref.equal(jaxScalar(j, 0, dtype));
  const allOnes = jaxScalar(j, dtype === "i32" ? -1 : limits(dtype).max, dtype);
  if (dtype !== "i32") {
    const divisor = np.where(byZero.ref, jaxScalar(j, 1, dtype), y);
    return np.where(byZero, allOnes, np.floorDivide(x, divisor).astype(jaxName(dtype)));
  }
  const byMinusOne = y.ref.equal(jaxScalar(j, -1, dtype));
  const unsafe = np.logicalOr(byZero.ref, byMinusOne.ref);
  const divisor = np.where(unsafe, jaxScalar(j, 1, dtype), y);
  const rest = x.ref.mod(divisor.ref);
  const quotient = np.floorDivide(x.ref.sub(rest), divisor).astype(jaxName(dtype));
  return np.where(byZero, allOnes, np.where(byMinusOne, x.neg(), quotient));
}

/** Remainder with the sign of the dividend; jax-js's own by infinity is NaN. */
export function remainder(j: Jax, x: JaxArray, y: JaxArray): JaxArray {
  const endless = j.numpy.abs(y.ref).equal(f32(j, Number.POSITIVE_INFINITY));
  const all = j.numpy.logicalAnd(endless, j.numpy.isfinite(x.ref));
  return j.numpy.where(all, x.ref, x.mod(y));
}

/** Remainder of integers with the sign of the dividend; the dividend where the divisor is 0. */
export function remainderOfIntegers(j: Jax, x: JaxArray, y: JaxArray, dtype: DType): JaxArray {
  const byZero = y.ref.equal(jaxScalar(j, 0, dtype));
  const divisor = j.numpy.where(byZero.ref, jaxScalar(j, 1, dtype), y);
  return j.numpy.where(byZero, x.ref, x.mod(divisor));
}

/** -1, 0 or 1 of i32; jax-js's own is for floats. */
export function signOfIntegers(j: Jax, x: JaxArray): JaxArray {
  const number = (value: number) => jaxScalar(j, value, "i32");
  const negative = x.ref.less(number(0));
  const positive = x.greater(number(0));
  return j.numpy.where(positive, number(1), j.numpy.where(negative, number(-1), number(0)));
}

/** Shifts i32 right, the sign moving in; jax-js's own moves zeros in. */
export function shiftRightWithSign(j: Jax, x: JaxArray, by: JaxArray): JaxArray {
  const negative = x.ref.less(jaxScalar(j, 0, "i32"));
  const flipped = j.numpy.where(negative.ref, j.numpy.bitwiseInvert(x.ref), x);
  const shifted = j.numpy.rightShift(flipped, by);
  return j.numpy.where(negative, j.numpy.bitwiseInvert(shifted.ref), shifted);
}

/** Index of the extremum along an axis: the first of equals, and the first NaN before all. */
export function argExtremum(j: Jax, x: JaxArray, axis: number, kind: "max" | "min"): JaxArray {
  const { shape } = x;
  const length = shape[axis] as number;
  const best = x.ref[kind](axis, { keepdims: true });
  const missing = x.ref.notEqual(x.ref);
  // With a NaN among them the extremum is NaN, which equals nothing.
  const found = j.numpy.logicalOr(x.equal(best), missing).astype(jaxName("i32"));
  const fromEnd = j.numpy.arange(length, 0, -1, { dtype: jaxName("i32") });
  const place = fromEnd.reshape([length, ...shape.slice(axis + 1).map(() => 1)]);
  return jaxScalar(j, length, "i32").sub(found.mul(place).max(axis));
}

/** 1 - 2 / (e^2x + 1): jax-js's own names the exponential twice, and its kernels then compute it twice. */
export function tanh(j: Jax, x: JaxArray): JaxArray {
  const [one, two] = [j.numpy.full([], 1), j.numpy.full([], 2)];
  return one.sub(two.div(j.numpy.exp(x.mul(2)).add(1)));
}

/** Up to here a sum is taken at once. */
const longest = 1024;
/** Number of elements that are added in sequence in long sums. */
const part = 128;

/**
 * A sum of floats over axes. jax-js adds one element after the other, and the longer the sum, the more digits of each
 * are lost. So long ones are sums of sums of parts, whose error grows with the logarithm of the length.
 */
export function sumOver(x: JaxArray, axes: readonly number[], atOnce = longest): JaxArray {
  if (sizeOf(x, axes) <= atOnce) return x.sum([...axes]);
  const pieces: number[] = x.shape.map(() => 1);
  let room = part;
  for (const axis of [...axes].sort((a, b) => b - a)) {
    const length = x.shape[axis] as number;
    const piece = length <= room ? length : pieceOf(length, room);
    const rest = length % piece;
    if (rest > 0) {
      const cut = (y: JaxArray, from: number, to: number) =>
        sumOver(
          y.slice(...y.shape.map((_, i): [] | [number, number] => (i === axis ? [from, to] : []))),
          axes,
          part,
        );
      return cut(x.ref, 0, length - rest).add(cut(x, length - rest, length));
    }
    pieces[axis] = piece;
    room = Math.floor(room / piece);
    if (room < 2) break;
  }
  const split = x.shape.flatMap((length, i) => {
    const piece = pieces[i] as number;
    return piece === 1 ? [{ length }] : [{ length: length / piece }, { length: piece, added: true }];
  });
  const within = split.flatMap(({ added }, i) => (added ? [i] : []));
  const parts = x.reshape(split.map(({ length }) => length)).sum(within);
  return sumOver(parts, axes, part);
}

const sizeOf = (x: JaxArray, axes: readonly number[]): number =>
  axes.reduce((product, axis) => product * (x.shape[axis] as number), 1);

/** Multiply-adds from which copying an operand to another layout pays, where what is summed over is short or rows are many. */
const worthwhile = 50_000;
const short = 32;
const many = 1024;

/**
 * A product by jax-js. Its kernels run along the right operand's free axes: they are several times faster where those
 * are the last ones and long. So the right operand of a short sum, or of many rows, is brought into that order, and the longer side of
 * a gradient (both sides summed over their first axis) is put on the right.
 */
export function jaxDot(j: Jax, x: JaxArray, y: JaxArray, dims: DotDims): JaxArray {
  const { lhsContract, rhsContract, lhsBatch, rhsBatch } = dims;
  const leftFree = freeAxesOf(x.ndim, lhsContract, lhsBatch);
  const rightFree = freeAxesOf(y.ndim, rhsContract, rhsBatch);
  const [rows, columns] = [sizeOf(x, leftFree), sizeOf(y, rightFree)];
  const depth = sizeOf(x, lhsContract);
  const products = rows * columns * depth * sizeOf(x, lhsBatch);
  const plain = (a: JaxArray, b: JaxArray, d: DotDims) =>
    j.lax.dot(a, b, {
      lhsContractingDims: [...d.lhsContract],
      rhsContractingDims: [...d.rhsContract],
      lhsBatchDims: [...d.lhsBatch],
      rhsBatchDims: [...d.rhsBatch],
    });
  if (products < worthwhile) return plain(x, y, dims);
  const isGradient = lhsBatch.length === 0 && lhsContract.join() === "0" && rhsContract.join() === "0";
  if (isGradient && rows > columns && x.ndim === 2 && y.ndim === 2)
    return plain(y, x, dims).transpose([1, 0]);
  const inOrder = Math.max(...rhsContract) < Math.min(...rightFree);
  if (inOrder || (depth > short && rows < many)) return plain(x, y, dims);
  const order = [...rhsBatch, ...rhsContract, ...rightFree];
  return plain(x, inMemory(j, y.transpose(order)), {
    lhsContract,
    rhsContract: rhsContract.map((_, i) => rhsBatch.length + i),
    lhsBatch,
    rhsBatch: rhsBatch.map((_, i) => i),
  });
}
