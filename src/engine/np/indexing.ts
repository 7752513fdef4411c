import { iota } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { equal } from "../ops/elementwise.ts";
import { takeAlongAxis as pickAlong } from "../ops/gather.ts";
import { checkAxis } from "../ops/rules.ts";
import { broadcastInDim, broadcastTo, reshape } from "../ops/shape.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { checkOptions, range } from "./arguments.ts";
import { array, type DTypeOptions } from "./creation.ts";
import type { AlongOptions } from "./joining.ts";
import { broadcastShapes, operand, type ValueLike, wrapped } from "./operands.ts";
import { type Index, partsOf, readSelection, selectionOf } from "./selection.ts";

const indexed = (op: string, value: Value, indices: readonly Index[]): Value =>
  readSelection(value, selectionOf(op, partsOf(op, indices, value.shape), value.shape));

/**
 * Part of a value, by one index for each leading axis: a range (`"1:3"`, `"::-1"`, `[1, 3]`), a number (the axis
 * goes), `null` (a new axis), `"..."` (all axes not named) or traced indices.
 *
 * @example
 * ```ts
 * np.slice(x, "1:", 0);          // x[1:, 0]
 * np.slice(x, "...", null);      // x[..., None]
 * np.slice(x, [0, 8, 2]);        // x[0:8:2]
 * ```
 */
export const slice = (x: ValueLike, ...indices: readonly Index[]): Value =>
  indexed("slice", operand("slice", x), indices);

/**
 * The elements at these indices along an axis; without one, of all elements in order. Negative indices count from
 * the end; traced ones out of range take the nearest element.
 *
 * @example
 * ```ts
 * np.take(embedding, tokens, { axis: 0 }); // [batch, length] tokens give [batch, length, width]
 * ```
 */
export function take(
  x: ValueLike,
  indices: ValueLike | readonly number[],
  options: AlongOptions = {},
): Value {
  const given = operand("take", x);
  const value = options.axis === undefined ? reshape(given, [given.size]) : given;
  const axis = checkAxis("take", options.axis ?? 0, value.ndim);
  const n = value.shape[axis] as number;
  const whole = range(axis).map(() => ":");
  if (typeof indices === "number") return indexed("take", value, [...whole, indices]);
  if (!Array.isArray(indices)) return indexed("take", value, [...whole, indices as Index]);
  const wrong = (indices as readonly number[]).find((i) => !(Number.isInteger(i) && i >= -n && i < n));
  if (wrong !== undefined)
    throw userError(
      "INDEX_OUT_OF_RANGE",
      `take: index ${wrong} on axis ${axis} of ${shapeText(value.shape)}`,
      n === 0 ? "the axis is empty" : `use whole numbers from ${-n} to ${n - 1}`,
    );
  return indexed("take", value, [...whole, array(indices as readonly number[], { dtype: "i32" })]);
}

/**
 * Elements picked along an axis (default: the last) by indices of as many axes: what `argmax` and `argsort` with
 * `keepdims` name. Other axes broadcast.
 *
 * @example
 * ```ts
 * np.takeAlongAxis(logProbs, np.expandDims(labels, -1)); // [n, classes] and [n, 1] give [n, 1]
 * ```
 */
export function takeAlongAxis(x: ValueLike, indices: ValueLike, { axis = -1 }: AlongOptions = {}): Value {
  const value = operand("takeAlongAxis", x, "argument 0");
  const at = checkAxis("takeAlongAxis", axis, value.ndim);
  const picks = wrapped("takeAlongAxis", indices, value.shape[at] as number);
  if (picks.ndim !== value.ndim)
    throw userError(
      "SHAPE_MISMATCH",
      `takeAlongAxis: the value has shape ${shapeText(value.shape)} and the indices ${shapeText(picks.shape)}`,
      "give indices of as many axes as the value: np.expandDims(indices, axis)",
    );
  const one = (v: Value) => v.shape.map((n, i) => (i === at ? 1 : n));
  const common = broadcastShapes("takeAlongAxis", one(value), one(picks));
  const along = (v: Value) =>
    broadcastTo(
      v,
      common.map((n, i) => (i === at ? (v.shape[at] as number) : n)),
    );
  return pickAlong(along(value), along(picks), at);
}

/** Options of {@link oneHot}. */
export interface OneHotOptions extends DTypeOptions {
  /** Position of the new axis. Default: last. */
  readonly axis?: number | undefined;
}

/**
 * 1 at the index, 0 elsewhere, along a new axis of length n; all 0 where the index is out of range.
 *
 * @example
 * ```ts
 * np.oneHot(np.array([0, 2], { dtype: "i32" }), 3); // [[1, 0, 0], [0, 0, 1]]
 * ```
 */
export function oneHot(x: ValueLike, n: number, options: OneHotOptions = {}): Value {
  checkOptions("oneHot", options, ["axis", "dtype"]);
  const { axis = -1, dtype = "f32" } = options;
  const value = operand("oneHot", x);
  const at = checkAxis("oneHot", axis, value.ndim + 1);
  const indices = isFloat(value.dtype) ? value : convert(value, "i32");
  const shape = [...value.shape.slice(0, at), n, ...value.shape.slice(at)];
  const places = range(shape.length).filter((i) => i !== at);
  return convert(equal(broadcastInDim(indices, shape, places), iota(indices.dtype, shape, at)), dtype);
}
