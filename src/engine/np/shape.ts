import { checkAxis } from "../ops/rules.ts";
import * as ops from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { type Axis, type AxisOptions, asShape, axesOf, range, type ShapeLike } from "./arguments.ts";
import { broadcastShapes, operand, type ValueLike } from "./operands.ts";

/**
 * The same elements in order under another shape; -1 stands for the length that follows from the others.
 *
 * @example
 * ```ts
 * np.reshape(x, [batch, -1]);
 * ```
 */
export function reshape(x: ValueLike, shape: ShapeLike): Value {
  const value = operand("reshape", x);
  const asked = asShape(shape);
  const open = asked.filter((n) => n === -1).length;
  const rest = sizeOf(asked.filter((n) => n !== -1));
  const fits = open === 0 ? rest === value.size : rest > 0 && value.size % rest === 0;
  if (open > 1 || asked.some((n) => !Number.isInteger(n) || n < -1) || !fits)
    throw userError(
      "SHAPE_MISMATCH",
      `reshape: ${shapeText(value.shape)} has ${value.size} elements, which do not fill ${shapeText(asked)}`,
      "give lengths that multiply to as many elements; one of them may be -1 and follows from the others",
    );
  return ops.reshape(
    value,
    asked.map((n) => (n === -1 ? value.size / rest : n)),
  );
}

/** All elements in order along one axis. */
export const ravel = (x: ValueLike): Value => {
  const value = operand("ravel", x);
  return ops.reshape(value, [value.size]);
};

/**
 * The axes in another order. Default: the reverse one.
 *
 * @example
 * ```ts
 * np.transpose(images, [0, 3, 1, 2]); // from channels last to channels first
 * ```
 */
export function transpose(x: ValueLike, axes?: readonly number[]): Value {
  const value = operand("transpose", x);
  const perm = (axes ?? range(value.ndim).reverse()).map((axis) => checkAxis("transpose", axis, value.ndim));
  return ops.transpose(value, perm);
}

/** The value with two axes exchanged. */
export function swapaxes(x: ValueLike, a: number, b: number): Value {
  const value = operand("swapaxes", x);
  const [p, q] = [checkAxis("swapaxes", a, value.ndim), checkAxis("swapaxes", b, value.ndim)];
  return ops.transpose(
    value,
    range(value.ndim).map((i) => (i === p ? q : i === q ? p : i)),
  );
}

/** The value with axes moved to other places, the others keeping their order. */
export function moveaxis(x: ValueLike, from: Axis, to: Axis): Value {
  const value = operand("moveaxis", x);
  const list = (axis: Axis) =>
    (typeof axis === "number" ? [axis] : axis).map((a) => checkAxis("moveaxis", a, value.ndim));
  const [sources, targets] = [list(from), list(to)];
  if (sources.length !== targets.length || [sources, targets].some((l) => new Set(l).size !== l.length))
    throw userError(
      "ARGUMENT_INVALID",
      `moveaxis: cannot move axes ${shapeText(sources)} to ${shapeText(targets)}`,
      "name as many places as axes, each once",
    );
  const others = range(value.ndim).filter((i) => !sources.includes(i));
  return ops.transpose(
    value,
    range(value.ndim).map((i) => {
      const at = targets.indexOf(i);
      return at < 0 ? (others.shift() as number) : (sources[at] as number);
    }),
  );
}

/** The value with new axes of length 1 at these places of the result. */
export function expandDims(x: ValueLike, axis: Axis): Value {
  const value = operand("expandDims", x);
  const rank = value.ndim + (typeof axis === "number" ? 1 : axis.length);
  const added = axesOf("expandDims", axis, rank);
  const lengths = [...value.shape];
  return ops.reshape(
    value,
    range(rank).map((i) => (added.includes(i) ? 1 : (lengths.shift() as number))),
  );
}

/** The value without these axes of length 1. Default: without all of them. */
export function squeeze(x: ValueLike, options: AxisOptions = {}): Value {
  const value = operand("squeeze", x);
  const axes =
    options.axis === undefined
      ? range(value.ndim).filter((i) => value.shape[i] === 1)
      : axesOf("squeeze", options.axis, value.ndim);
  const long = axes.find((i) => value.shape[i] !== 1);
  if (long !== undefined)
    throw userError(
      "SHAPE_MISMATCH",
      `squeeze: axis ${long} of ${shapeText(value.shape)} has length ${value.shape[long]}, not 1`,
      "name axes of length 1",
    );
  return ops.reshape(
    value,
    value.shape.filter((_, i) => !axes.includes(i)),
  );
}

/** The value repeated over leading axes and axes of length 1. */
export function broadcastTo(x: ValueLike, shape: ShapeLike): Value {
  const value = operand("broadcastTo", x);
  const target = asShape(shape);
  ops.checkShape("broadcastTo", target);
  const reached = broadcastShapes("broadcastTo", value.shape, target);
  if (reached.length !== target.length || reached.some((n, i) => n !== target[i]))
    throw userError(
      "SHAPE_MISMATCH",
      `broadcastTo: shape ${shapeText(value.shape)} does not broadcast to ${shapeText(target)}`,
      "axes must be 1 or equally long, counted from the last",
    );
  return ops.broadcastTo(value, target);
}

/** All values repeated to the one shape they broadcast to; element types stay. */
export function broadcastArrays<const T extends readonly ValueLike[]>(
  ...xs: T
): { -readonly [K in keyof T]: Value } {
  const values = xs.map((x, i) => operand("broadcastArrays", x, `argument ${i}`));
  const shape = values.reduce<Shape>((s, v) => broadcastShapes("broadcastArrays", s, v.shape), []);
  return values.map((value) => ops.broadcastTo(value, shape)) as { -readonly [K in keyof T]: Value };
}
