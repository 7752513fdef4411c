import { iota } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { add, and, div, equal, less, lessEqual, notEqual, or, select, sub } from "../ops/elementwise.ts";
import { reduceOr, reduceSum } from "../ops/reduce.ts";
import { checkAxis } from "../ops/rules.ts";
import { broadcastInDim, reshape, reverse, transpose } from "../ops/shape.ts";
import { slice, sliceAlong } from "../ops/slice.ts";
import { sort as sortOp } from "../ops/sort.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { axesOf, countOver, keeping, type ReduceOptions, range } from "./arguments.ts";
import { filled, floating, operand, promoted, type ValueLike } from "./operands.ts";

/** Options of sorting functions. */
export interface SortOptions {
  /** The axis to sort along (default: the last). */
  readonly axis?: number | undefined;
  /** From the largest to the smallest; NaN then comes first. */
  readonly descending?: boolean | undefined;
}

/** Sorted values and the indices they had; equals keep their order either way. */
function ordered(op: string, x: ValueLike, { axis = -1, descending = false }: SortOptions) {
  const given = operand(op, x);
  const at = checkAxis(op, axis, given.ndim);
  const value = given.dtype === "bool" ? convert(given, "i32") : given;
  const n = value.shape[at] as number;
  const turn = (v: Value) => (descending ? reverse(v, [at]) : v);
  const places = iota("i32", value.shape, at);
  const [values, from] = sortOp([turn(value), places], at).map(turn) as [Value, Value];
  const indices = descending ? sub(filled(from, n - 1), from) : from;
  return { values: convert(values, given.dtype), indices, at };
}

/**
 * The elements in ascending order along an axis; NaN comes last.
 *
 * @example
 * ```ts
 * np.sort(x, { axis: 0, descending: true });
 * ```
 */
export function sort(x: ValueLike, options: SortOptions = {}): Value {
  const value = operand("sort", x);
  const at = checkAxis("sort", options.axis ?? -1, value.ndim);
  const keys = value.dtype === "bool" ? convert(value, "i32") : value;
  const sorted = convert(sortOp([keys], at)[0] as Value, value.dtype);
  return options.descending ? reverse(sorted, [at]) : sorted;
}

/** The indices (i32) that sort a value along an axis; equals keep their order. */
export const argsort = (x: ValueLike, options: SortOptions = {}): Value =>
  ordered("argsort", x, options).indices;

/** Options of {@link topK}. */
export interface TopKOptions {
  /** The axis (default: the last). */
  readonly axis?: number | undefined;
}

/**
 * The k largest elements along an axis in descending order, and their indices; the first of equals first.
 *
 * @example
 * ```ts
 * const [best, at] = np.topK(logits, 5);
 * ```
 */
export function topK(
  x: ValueLike,
  k: number,
  { axis = -1 }: TopKOptions = {},
): [values: Value, indices: Value] {
  const { values, indices, at } = ordered("topK", x, { axis, descending: true });
  const n = values.shape[at] as number;
  if (!Number.isInteger(k) || k < 0 || k > n)
    throw userError(
      "ARGUMENT_INVALID",
      `topK: ${k} of the ${n} elements along axis ${at} of ${shapeText(values.shape)}`,
      `ask for 0 to ${n}`,
    );
  const first = (v: Value) => sliceAlong(v, at, 0, k);
  return [first(values), first(indices)];
}

/** Options of {@link searchsorted}. */
export interface SearchOptions {
  /** Before (left, the default) or behind (right) elements equal to it. */
  readonly side?: "left" | "right" | undefined;
}

/**
 * Where elements would have to be put into an ascending vector to keep it so, as i32; NaN stands behind all numbers.
 * Compares with every element.
 */
export function searchsorted(sorted: ValueLike, x: ValueLike, { side = "left" }: SearchOptions = {}): Value {
  const [line, value] = promoted("searchsorted", [sorted, x]) as [Value, Value];
  if (line.ndim !== 1)
    throw userError(
      "SHAPE_MISMATCH",
      `searchsorted: argument 0 has shape ${shapeText(line.shape)}, but must be a vector`,
      "search one sorted vector at a time, or use vmap",
    );
  const shape = [...value.shape, line.size];
  const mine = broadcastInDim(value, shape, range(value.ndim));
  const theirs = broadcastInDim(line, shape, [value.ndim]);
  const smaller = side === "left" ? less(theirs, mine) : lessEqual(theirs, mine);
  const before = isFloat(mine.dtype) ? or(smaller, beforeNan(mine, theirs, side)) : smaller;
  // Counted in f32, exact up to 2^24: jax-js fails on some sums of integers that come from comparing floats.
  return convert(reduceSum(convert(before, "f32"), [value.ndim]), "i32");
}

/** Numbers stand before NaN, and behind other NaNs as well where the side is the right one. */
function beforeNan(mine: Value, theirs: Value, side: "left" | "right"): Value {
  const isNan = notEqual(mine, mine);
  return side === "left" ? and(isNan, equal(theirs, theirs)) : isNan;
}

/** The middle element in order over axes, the mean of the two middle ones where their number is even; NaN where there is one. */
export function median(x: ValueLike, options: ReduceOptions = {}): Value {
  const value = floating("median", x);
  const axes = axesOf("median", options.axis, value.ndim);
  const others = range(value.ndim).filter((i) => !axes.includes(i));
  const lead = others.map((i) => value.shape[i] as number);
  const line = reshape(transpose(value, [...others, ...axes]), [...lead, countOver(value, axes)]);
  const n = line.shape[lead.length] as number;
  if (n === 0)
    throw userError(
      "REDUCTION_EMPTY",
      `median: ${shapeText(value.shape)} has nothing along these axes`,
      "reduce axes of length 1 or more",
    );
  const sorted = sortOp([line], lead.length)[0] as Value;
  const middle = (at: number) => reshape(slice(sorted, [...lead.map(() => 0), at], [...lead, at + 1]), lead);
  const [low, high] = [middle((n - 1) >> 1), middle(n >> 1)];
  const mean = n % 2 === 1 ? low : div(add(low, high), filled(low, 2));
  const nan = reduceOr(notEqual(line, line), [lead.length]);
  return keeping(select(nan, filled(mean, Number.NaN), mean), value, axes, options);
}
