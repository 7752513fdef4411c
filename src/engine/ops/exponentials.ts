import type { Value } from "../trace/value.ts";
import { equal, exp, isFiniteValue, select, stopGradient, sub } from "./elementwise.ts";
import { full } from "./elementwise-rows.ts";
import { reduceMax, reduceSum, unreduce } from "./reduce.ts";

interface ShiftedExps {
  /** The largest elements, without the axes. */
  readonly shift: Value;
  /** The elements less the largest of them. */
  readonly shifted: Value;
  readonly exps: Value;
  /** The sums of the exponentials, without the axes. */
  readonly sums: Value;
}

/**
 * exp(x - max(x)) and its sums over axes; the largest counts as a constant, as it falls out of every result. Where all
 * elements may be minus infinity, `guarded` takes off 0, as minus infinity less itself is not a number.
 */
export function shiftedExps(x: Value, axes: readonly number[], guarded: boolean): ShiftedExps {
  const largest = stopGradient(reduceMax(x, axes));
  const shift = guarded ? select(isFiniteValue(largest), largest, full(largest, 0)) : largest;
  const shifted = sub(x, unreduce(shift, x, axes));
  const exps = exp(shifted);
  return { shift, shifted, exps, sums: reduceSum(exps, axes) };
}

/** The value with 1 in place of 0. */
export const oneForZero = (x: Value): Value => select(equal(x, full(x, 0)), full(x, 1), x);
