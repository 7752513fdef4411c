import { checkAxis } from "../ops/rules.ts";
import { reshape } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";

/** One axis or several; negative ones count from the end. */
export type Axis = number | readonly number[];

/** The axes a function works along. Default: all of them. */
export interface AxisOptions {
  readonly axis?: Axis | undefined;
}

/** Options of functions that reduce axes. */
export interface ReduceOptions extends AxisOptions {
  /** Leaves reduced axes in place with length 1. */
  readonly keepdims?: boolean | undefined;
}

export const range = (n: number, from = 0): number[] => Array.from({ length: n }, (_, i) => from + i);

/** The named axes, counted from the front and in order; all where none is named. */
export function axesOf(op: string, axis: Axis | undefined, rank: number): number[] {
  if (axis === undefined) return range(rank);
  const axes = (typeof axis === "number" ? [axis] : axis).map((a) => checkAxis(op, a, rank));
  const twice = axes.find((a, i) => axes.indexOf(a) !== i);
  if (twice !== undefined)
    throw userError("AXIS_REPEATED", `${op}: axis ${twice} is named twice`, "name every axis once");
  return axes.sort((a, b) => a - b);
}

/** Puts reduced axes back with length 1, where asked. */
export function keeping(y: Value, x: Value, axes: readonly number[], options: ReduceOptions): Value {
  return options.keepdims
    ? reshape(
        y,
        x.shape.map((n, i) => (axes.includes(i) ? 1 : n)),
      )
    : y;
}
