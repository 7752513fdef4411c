import type { HostTensor } from "../../checkpoint/index.ts";
import type { HostArray } from "../../engine/index.ts";

/** How the numbers of two tensors of one type and shape differ. */
export interface NumberDifference {
  /** Where first: one number an axis. */
  readonly index: readonly number[];
  readonly values: readonly [number, number];
  /** How many of how many. */
  readonly count: number;
  readonly of: number;
  /** The greatest absolute difference; NaN where a number stands against none. */
  readonly greatest: number;
}

/** Compares bit for bit: NaN equals the same NaN, and 0 differs from -0. Undefined where nothing differs. */
export function numberDifference(a: HostTensor, b: HostTensor): NumberDifference | undefined {
  const [x, y] = [bitsOf(a.data), bitsOf(b.data)];
  let first = -1;
  let count = 0;
  let greatest = 0;
  for (let i = 0; i < x.length; i++) {
    if (x[i] === y[i]) continue;
    if (count++ === 0) first = i;
    const [p, q] = [a.data[i] as number, b.data[i] as number];
    // Math.max keeps NaN.
    greatest = Math.max(greatest, p === q ? 0 : Math.abs(p - q));
  }
  if (count === 0) return undefined;
  return {
    index: placeOf(first, a.shape),
    values: [a.data[first] as number, b.data[first] as number],
    count,
    of: x.length,
    greatest,
  };
}

/** The same memory as whole numbers, which are equal exactly where bits are. */
function bitsOf(array: HostArray): ArrayLike<number | bigint> {
  const { buffer, byteOffset, length } = array;
  if (array instanceof Float32Array) return new Uint32Array(buffer, byteOffset, length);
  return array instanceof Float64Array ? new BigUint64Array(buffer, byteOffset, length) : array;
}

/** The place of an element along each axis. */
export function placeOf(flat: number, shape: readonly number[]): readonly number[] {
  return shape.reduceRight<{ readonly rest: number; readonly place: readonly number[] }>(
    ({ rest, place }, size) => ({ rest: Math.floor(rest / size), place: [rest % size, ...place] }),
    { rest: flat, place: [] },
  ).place;
}
