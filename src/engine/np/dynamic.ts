import { convert } from "../ops/convert.ts";
import * as dynamic from "../ops/dynamic.ts";
import { checkAxis } from "../ops/rules.ts";
import { reshape } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { operand, type ValueLike, wrapped } from "./operands.ts";

function startsOf(op: string, x: Value, starts: readonly ValueLike[]): Value[] {
  if (starts.length !== x.ndim)
    throw userError(
      "ARGUMENT_INVALID",
      `${op}: ${starts.length} starts for the ${x.ndim} axes of ${shapeText(x.shape)}`,
      "give one start for each axis",
    );
  return starts.map((start, axis) => {
    const at = wrapped(op, start, x.shape[axis] as number);
    if (at.ndim === 0) return at;
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the start of axis ${axis} has shape ${shapeText(at.shape)}, but starts are scalars`,
      "give one number or scalar for each axis",
    );
  });
}

/**
 * A part of fixed size that begins where traced numbers say; moved so that it fits. Negative starts count from the
 * end.
 *
 * @example
 * ```ts
 * np.dynamicSlice(tokens, [i, 0], [1, 16]);
 * ```
 */
export function dynamicSlice(x: ValueLike, starts: readonly ValueLike[], sizes: Shape): Value {
  const value = operand("dynamicSlice", x);
  return dynamic.dynamicSlice(value, startsOf("dynamicSlice", value, starts), sizes);
}

/** The value with a part written over, which begins where traced numbers say; moved so that it fits. */
export function dynamicUpdateSlice(x: ValueLike, update: ValueLike, starts: readonly ValueLike[]): Value {
  const value = operand("dynamicUpdateSlice", x);
  const part = convert(operand("dynamicUpdateSlice", update, "the update"), value.dtype);
  return dynamic.dynamicUpdateSlice(value, part, startsOf("dynamicUpdateSlice", value, starts));
}

/** Options of {@link dynamicIndexInDim}. */
export interface DynamicIndexOptions {
  /** The axis (default: the first). */
  readonly axis?: number | undefined;
  /** Keeps the axis with length 1. Default: true. */
  readonly keepdims?: boolean | undefined;
}

/** The one place along an axis that a traced number names. */
export function dynamicIndexInDim(x: ValueLike, index: ValueLike, options: DynamicIndexOptions = {}): Value {
  const value = operand("dynamicIndexInDim", x);
  const axis = checkAxis("dynamicIndexInDim", options.axis ?? 0, value.ndim);
  const starts = range(value.ndim).map((i) => (i === axis ? index : 0));
  const sizes = value.shape.map((n, i) => (i === axis ? 1 : n));
  const part = dynamic.dynamicSlice(value, startsOf("dynamicIndexInDim", value, starts), sizes);
  return options.keepdims === false ? reshape(part, sizes.toSpliced(axis, 1)) : part;
}
