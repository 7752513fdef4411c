import { checkAxis } from "../ops/rules.ts";
import * as ops from "../ops/shape.ts";
import { sliceAlong } from "../ops/slice.ts";
import { split as splitAt } from "../ops/split.ts";
import { userError } from "../trace/location.ts";
import { sameDims, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { operand, promoted, type ValueLike } from "./operands.ts";

/** Options of functions that work along one axis (default: the first). */
export interface AlongOptions {
  readonly axis?: number | undefined;
}

function several(op: string, xs: readonly ValueLike[]): Value[] {
  if (!Array.isArray(xs) || xs.length === 0)
    throw userError("ARGUMENT_INVALID", `${op}: nothing to join`, "pass a list of at least one value");
  return promoted(op, xs);
}

/**
 * Values joined along an axis they have (default: the first). Other axes must be equally long.
 *
 * @example
 * ```ts
 * np.concatenate([x, y], { axis: -1 });
 * ```
 */
export const concatenate = (xs: readonly ValueLike[], options: AlongOptions = {}): Value =>
  joined("concatenate", several("concatenate", xs), options.axis ?? 0);

function joined(op: string, values: readonly Value[], axis: number): Value {
  const [first] = values as [Value, ...Value[]];
  const at = checkAxis(op, axis, first.ndim);
  values.forEach((value, i) => {
    const other = value.shape.findIndex((n, d) => d !== at && n !== first.shape[d]);
    if (value.ndim !== first.ndim || other >= 0)
      throw userError(
        "SHAPE_MISMATCH",
        `${op}: argument 0 has shape ${shapeText(first.shape)} and argument ${i} has shape ${shapeText(value.shape)}`,
        `all axes must be equally long except axis ${at}, along which they are joined`,
      );
  });
  return ops.concatenate(values, at);
}

/** Values of one shape joined along a new axis (default: the first). */
export const stack = (xs: readonly ValueLike[], options: AlongOptions = {}): Value =>
  stacked("stack", several("stack", xs), options.axis ?? 0);

/** {@link stack} under the name the user called. */
export function stacked(op: string, values: readonly Value[], axis: number): Value {
  const [first] = values as [Value, ...Value[]];
  const at = checkAxis(op, axis, first.ndim + 1);
  const widened = values.map((value, i) => {
    if (!sameDims(value.shape, first.shape))
      throw userError(
        "SHAPE_MISMATCH",
        `${op}: argument 0 has shape ${shapeText(first.shape)} and argument ${i} has shape ${shapeText(value.shape)}`,
        "give values of one shape, or use np.concatenate",
      );
    return ops.reshape(value, [...value.shape.slice(0, at), 1, ...value.shape.slice(at)]);
  });
  return ops.concatenate(widened, at);
}

const atLeast = (value: Value, rank: number): Value =>
  value.ndim >= rank ? value : ops.reshape(value, [...range(rank - value.ndim).fill(1), ...value.shape]);

/** Values joined side by side: along the second axis, vectors along their only one. */
export function hstack(xs: readonly ValueLike[]): Value {
  const values = several("hstack", xs).map((value) => atLeast(value, 1));
  return joined("hstack", values, values[0]?.ndim === 1 ? 0 : 1);
}

/** Values joined one below the other: along the first axis, vectors as rows. */
export const vstack = (xs: readonly ValueLike[]): Value =>
  joined(
    "vstack",
    several("vstack", xs).map((value) => atLeast(value, 2)),
    0,
  );

/** As many values as a number that is known to the compiler says. */
type Times<N extends number, R extends Value[] = []> = number extends N
  ? Value[]
  : R["length"] extends N
    ? R
    : Times<N, [...R, Value]>;

/** The parts {@link split} gives: as many as asked for, or one more than there are positions to cut at. */
type Parts<S extends number | readonly number[]> = S extends number
  ? Times<S>
  : S extends readonly number[]
    ? number extends S["length"]
      ? Value[]
      : [...Times<S["length"]>, Value]
    : Value[];

/**
 * The value cut along an axis (default: the first) into as many equal parts, or at these places.
 *
 * @example
 * ```ts
 * const [q, k, v] = np.split(qkv, 3, { axis: -1 });
 * const [head, tail] = np.split(x, [1]);
 * ```
 */
export function split<const S extends number | readonly number[]>(
  x: ValueLike,
  sections: S,
  options: AlongOptions = {},
): Parts<S> {
  const value = operand("split", x);
  const axis = checkAxis("split", options.axis ?? 0, value.ndim);
  const n = value.shape[axis] as number;
  if (typeof sections === "number" && !(Number.isInteger(sections) && sections > 0 && n % sections === 0))
    throw userError(
      "SHAPE_MISMATCH",
      `split: axis ${axis} of ${shapeText(value.shape)} has length ${n}, which ${sections} parts do not divide evenly`,
      "give a number of parts that divides the length, or the places to cut at: np.split(x, [2, 5])",
    );
  const cuts =
    typeof sections === "number"
      ? range(sections - 1, 1).map((i) => (n / sections) * i)
      : sections.map((at) => Math.min(Math.max(at < 0 ? at + n : at, 0), n));
  const ends = [...cuts, n];
  const sizes = ends.map((to, i) => to - (ends[i - 1] ?? 0));
  if (sizes.every((size) => size > 0)) return splitAt(value, axis, sizes) as unknown as Parts<S>;
  // Places out of order, as NumPy allows: parts may be empty or overlap.
  const parts = ends.map((to, i) => {
    const from = ends[i - 1] ?? 0;
    return sliceAlong(value, axis, from, Math.max(from, to));
  });
  return parts as unknown as Parts<S>;
}
