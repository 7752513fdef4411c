import { checkNames, checkWord, EspalierError, errorText } from "../../core/index.ts";
import { checkAxis } from "../ops/rules.ts";
import { checkShape, reshape } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import type { Shape } from "../trace/type.ts";
import { currentTrace, type Value } from "../trace/value.ts";

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

/** A shape, or the length of the only axis. */
export type ShapeLike = number | Shape;

export const asShape = (shape: ShapeLike): Shape => (typeof shape === "number" ? [shape] : shape);

/** Checks a shape a user gave. */
export function shapeOf(op: string, shape: ShapeLike): Shape {
  currentTrace(op);
  const dims = asShape(shape);
  checkShape(op, dims);
  return dims;
}

/** Number of elements along these axes together. */
export const countOver = (x: Value, axes: readonly number[]): number =>
  axes.reduce((n, axis) => n * (x.shape[axis] as number), 1);

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

/** Calls a check of the options of all rooms; its error gets the user's line. */
function located<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof EspalierError)) throw error;
    throw userError(error.code, errorText(error), error.fix ?? "");
  }
}

/** Refuses options a function does not have, and what are no options at all. */
export const checkOptions = (op: string, options: object, known: readonly string[]): void =>
  located(() => checkNames(op, options, known));

/** Refuses a word an option does not know. */
export const oneOf = <T extends string>(op: string, option: string, given: unknown, known: readonly T[]): T =>
  located(() => checkWord(op, option, given, known));

/** An error about the value of an option. */
export const badOption = (op: string, what: string, fix: string) =>
  userError("OPTION_INVALID", `${op}: ${what}`, fix);

/** One whole number from 1 on for each of `n` spatial axes, from one for all or a list. */
export function perAxis(
  op: string,
  option: string,
  given: number | readonly number[],
  n: number,
): readonly number[] {
  const list = typeof given === "number" ? Array.from({ length: n }, () => given) : given;
  if (!Array.isArray(list) || list.length !== n || !list.every((v) => Number.isInteger(v) && v >= 1))
    throw badOption(
      op,
      `${option} is ${JSON.stringify(given)}, for ${n} spatial ${n === 1 ? "axis" : "axes"}`,
      `give a whole number from 1 on, or ${n} of them`,
    );
  return list;
}
