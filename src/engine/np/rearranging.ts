import { checkAxis } from "../ops/rules.ts";
import { broadcastInDim, concatenate, reshape, reverse, transpose } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import { Value } from "../trace/value.ts";
import { type Axis, type AxisOptions, axesOf, range } from "./arguments.ts";
import { negative, remainder } from "./arithmetic.ts";
import { dynamicSlice } from "./dynamic.ts";
import type { AlongOptions } from "./joining.ts";
import { operand, type ValueLike } from "./operands.ts";
import { pick } from "./selection.ts";

const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0;

/**
 * The whole value repeated along its axes; more repetitions than axes add axes in front.
 *
 * @example
 * ```ts
 * np.tile(np.array([1, 2]), [2, 2]); // [[1, 2, 1, 2], [1, 2, 1, 2]]
 * ```
 */
export function tile(x: ValueLike, reps: number | readonly number[]): Value {
  const value = operand("tile", x);
  const asked = typeof reps === "number" ? [reps] : reps;
  if (!asked.every(isCount))
    throw userError(
      "ARGUMENT_INVALID",
      `tile: ${shapeText(asked)} are no counts`,
      "use whole numbers from 0 on",
    );
  const rank = Math.max(value.ndim, asked.length);
  const shape = [...range(rank - value.ndim).fill(1), ...value.shape];
  const times = [...range(rank - asked.length).fill(1), ...asked];
  const repeated = broadcastInDim(
    reshape(value, shape),
    shape.flatMap((n, i) => [times[i] as number, n]),
    shape.map((_, i) => 2 * i + 1),
  );
  return reshape(
    repeated,
    shape.map((n, i) => n * (times[i] as number)),
  );
}

/**
 * Each element repeated in place along an axis; without one, all elements in order. `repeats` is one count, or one for
 * each element.
 *
 * @example
 * ```ts
 * np.repeat(np.array([1, 2]), 2); // 1, 1, 2, 2
 * ```
 */
export function repeat(x: ValueLike, repeats: number | readonly number[], options: AlongOptions = {}): Value {
  const given = operand("repeat", x);
  const value = options.axis === undefined ? reshape(given, [given.size]) : given;
  const axis = checkAxis("repeat", options.axis ?? 0, value.ndim);
  const n = value.shape[axis] as number;
  const counts = typeof repeats === "number" ? [repeats] : repeats;
  if (!counts.every(isCount) || (typeof repeats !== "number" && repeats.length !== n))
    throw userError(
      "ARGUMENT_INVALID",
      `repeat: the counts ${shapeText(counts)} do not fit axis ${axis} of ${shapeText(value.shape)}`,
      `give one whole number from 0 on, or ${n} of them`,
    );
  if (typeof repeats !== "number")
    return pick(
      value,
      axis,
      counts.flatMap((count, i) => range(count).fill(i)),
    );
  const lead = value.shape.slice(0, axis + 1);
  const rest = value.shape.slice(axis + 1);
  const spread = broadcastInDim(
    value,
    [...lead, repeats, ...rest],
    range(value.ndim).map((i) => (i <= axis ? i : i + 1)),
  );
  return reshape(spread, [...value.shape.slice(0, axis), n * repeats, ...rest]);
}

/**
 * Elements moved along axes, those that leave at one end coming back at the other; without an axis, all elements in
 * order. A traced shift is allowed for one axis.
 */
export function roll(x: ValueLike, shift: Axis | Value, options: AxisOptions = {}): Value {
  const given = operand("roll", x);
  if (options.axis === undefined)
    return reshape(roll(reshape(given, [given.size]), shift, { axis: 0 }), given.shape);
  const axes = (typeof options.axis === "number" ? [options.axis] : options.axis).map((axis) =>
    checkAxis("roll", axis, given.ndim),
  );
  if (shift instanceof Value) {
    if (axes.length === 1) return rollBy(given, shift, axes[0] as number);
    throw userError(
      "ARGUMENT_INVALID",
      "roll: a traced shift is for one axis",
      "roll one axis after the other",
    );
  }
  const shifts = typeof shift === "number" ? axes.map(() => shift) : shift;
  if (shifts.length !== axes.length || !shifts.every(Number.isInteger))
    throw userError(
      "ARGUMENT_INVALID",
      `roll: shifts ${shapeText(shifts)} for axes ${shapeText(axes)}`,
      "give one whole number, or one for each axis",
    );
  return axes.reduce((value, axis, i) => {
    const n = value.shape[axis] as number;
    const by = shifts[i] as number;
    return pick(
      value,
      axis,
      range(n).map((place) => (((place - by) % n) + n) % n),
    );
  }, given);
}

function rollBy(x: Value, shift: Value, axis: number): Value {
  const n = x.shape[axis] as number;
  if (n === 0) return x;
  const from = remainder(negative(shift), n);
  const starts = range(x.ndim).map((i) => (i === axis ? from : 0));
  return dynamicSlice(concatenate([x, x], axis), starts, x.shape);
}

/** The elements in reverse order along axes (default: all). */
export function flip(x: ValueLike, options: AxisOptions = {}): Value {
  const value = operand("flip", x);
  return reverse(value, axesOf("flip", options.axis, value.ndim));
}

/** Options of {@link rot90}. */
export interface Rot90Options {
  /** Number of quarter turns, from the first axis towards the second. */
  readonly k?: number | undefined;
  readonly axes?: readonly [number, number] | undefined;
}

/** The value turned by quarter turns in the plane of two axes (default: the first two). */
export function rot90(x: ValueLike, { k = 1, axes = [0, 1] }: Rot90Options = {}): Value {
  const value = operand("rot90", x);
  const [a, b] = [checkAxis("rot90", axes[0], value.ndim), checkAxis("rot90", axes[1], value.ndim)];
  const turns = ((k % 4) + 4) % 4;
  if (turns === 0) return value;
  if (turns === 2) return reverse(value, axesOf("rot90", [a, b], value.ndim));
  const perm = range(value.ndim).map((i) => (i === a ? b : i === b ? a : i));
  return turns === 1 ? transpose(reverse(value, [b]), perm) : reverse(transpose(value, perm), [b]);
}
