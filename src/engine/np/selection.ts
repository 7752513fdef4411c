import { splat } from "../ops/constant.ts";
import { dynamicSlice, dynamicUpdateSlice } from "../ops/dynamic.ts";
import { add, and, greaterEqual, less, max, min, mul, select } from "../ops/elementwise.ts";
import { gather } from "../ops/gather.ts";
import {
  broadcastInDim,
  broadcastTo,
  concatenate,
  inversePermutation,
  reshape,
  reverse,
  transpose,
} from "../ops/shape.ts";
import { pad, slice, sliceAlong } from "../ops/slice.ts";
import { userError } from "../trace/location.ts";
import { type Shape, sameDims, shapeText, sizeOf } from "../trace/type.ts";
import { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { broadcastShapes, filled, type ValueLike, wrapped } from "./operands.ts";

/** From, up to but without, and step; null or left out: the end of the axis, and 1. */
export type Range =
  | readonly []
  | readonly [from: number | null]
  | readonly [from: number | null, to: number | null]
  | readonly [from: number | null, to: number | null, step: number | null];

/**
 * Selects along one axis: a number (the axis goes), a range as text (`"1:3"`, `":-1"`, `"::2"`) or as a list
 * (`[1, 3]`), traced indices, `null` (a new axis), `"..."` (all axes not named).
 */
export type Index = number | string | Range | null | Exclude<ValueLike, boolean>;

/** An index made plain: which elements of which axis. */
export type IndexPart =
  | { readonly kind: "new" }
  | { readonly kind: "number"; readonly axis: number; readonly from: number }
  | {
      readonly kind: "range";
      readonly axis: number;
      readonly from: number;
      readonly count: number;
      readonly step: number;
    }
  | { readonly kind: "traced"; readonly axis: number; readonly at: Value };

const text = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/;

function parseRange(op: string, index: string): Range {
  const found = text.exec(index);
  if (!found)
    throw userError(
      "INDEX_INVALID",
      `${op}: "${index}" is no range`,
      'write ranges as in Python: "1:3", ":-1", "::2", ":", or "..." for all other axes',
    );
  const number = (digits: string | undefined) => (digits === undefined ? null : Number(digits));
  return [number(found[1]), number(found[2]), number(found[3])];
}

function rangePart(op: string, given: Range, axis: number, n: number): IndexPart {
  const [from = null, to = null, by = null] = given;
  const step = by ?? 1;
  if (given.length > 3 || [from, to, step].some((x) => x !== null && !Number.isInteger(x)) || step === 0)
    throw userError(
      "INDEX_INVALID",
      `${op}: ${JSON.stringify(given)} is no range`,
      "give [from, to] or [from, to, step] in whole numbers, the step not 0",
    );
  const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
  const place = (x: number) => Math.min(Math.max(x < 0 ? x + n : x, low), high);
  const start = from === null ? (step > 0 ? 0 : n - 1) : place(from);
  const stop = to === null ? (step > 0 ? n : -1) : place(to);
  const count = Math.max(0, Math.ceil((stop - start) / step));
  return { kind: "range", axis, from: count === 0 ? 0 : start, count, step };
}

function numberPart(op: string, index: number, axis: number, shape: Shape): IndexPart {
  const n = shape[axis] as number;
  const from = index < 0 ? index + n : index;
  if (!Number.isInteger(index) || from < 0 || from >= n)
    throw userError(
      "INDEX_OUT_OF_RANGE",
      `${op}: index ${index} on axis ${axis} of ${shapeText(shape)}`,
      n === 0 ? "the axis is empty" : `use a whole number from ${-n} to ${n - 1}`,
    );
  return { kind: "number", axis, from };
}

/** The parts that indices select of a value of this shape, one for each axis and each new axis, in order. */
export function partsOf(op: string, indices: readonly Index[], shape: Shape): readonly IndexPart[] {
  const dots = indices.filter((index) => index === "...").length;
  const named = indices.filter((index) => index !== null && index !== "...").length;
  if (named > shape.length || dots > 1)
    throw userError(
      "INDEX_INVALID",
      dots > 1
        ? `${op}: "..." stands twice`
        : `${op}: ${named} indices for the ${shape.length} axes of ${shapeText(shape)}`,
      "give at most one index for each axis",
    );
  let axis = 0;
  const whole = (count: number): IndexPart[] =>
    Array.from({ length: count }, () => rangePart(op, [], axis, shape[axis++] as number));
  const parts = indices.flatMap((index): readonly IndexPart[] => {
    if (index === null) return [{ kind: "new" }];
    if (index === "...") return whole(shape.length - named);
    const at = axis++;
    const n = shape[at] as number;
    if (typeof index === "number") return [numberPart(op, index, at, shape)];
    if (typeof index === "string") return [rangePart(op, parseRange(op, index), at, n)];
    if (isRange(index)) return [rangePart(op, index, at, n)];
    return [{ kind: "traced", axis: at, at: wrapped(op, index, n) }];
  });
  return [...parts, ...whole(shape.length - axis)];
}

const isRange = (index: Index): index is Range => Array.isArray(index) && !(index instanceof Value);

interface Run {
  readonly from: number;
  readonly step: number;
  count: number;
}

/** Cuts places into the longest stretches that go up by 1, down by 1, or stay. */
function runsOf(places: readonly number[]): Run[] {
  const runs: Run[] = [];
  places.forEach((place, i) => {
    const run = runs[runs.length - 1];
    if (run && run.count === 1) {
      const step = place - run.from;
      if (Math.abs(step) <= 1) {
        runs[runs.length - 1] = { from: run.from, step, count: 2 };
        return;
      }
    }
    if (run && run.count > 1 && place - (places[i - 1] as number) === run.step) run.count++;
    else runs.push({ from: place, step: 1, count: 1 });
  });
  return runs;
}

/**
 * The elements at places known while tracing, along an axis. Stretches become slices, which engines read faster than
 * a list of indices and whose derivative is a pad.
 */
export function pick(x: Value, axis: number, places: readonly number[]): Value {
  if (places.length === 0) return splat(0, x.dtype, withLength(x, axis, 0));
  const part = ({ from, step, count }: Run): Value => {
    const [low, high] = step >= 0 ? [from, from + (step === 0 ? 1 : count)] : [from - count + 1, from + 1];
    const cut = sliceAlong(x, axis, low, high);
    if (step === 0) return broadcastInDim(cut, withLength(x, axis, count), range(x.ndim));
    return step > 0 ? cut : reverse(cut, [axis]);
  };
  return concatenate(runsOf(places).map(part), axis);
}

const withLength = (x: Value, axis: number, length: number): number[] =>
  x.shape.map((n, d) => (d === axis ? length : n));

/** Elements at regular places along each axis, known while tracing. */
export interface Box {
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly step: readonly number[];
  /** Sizes along each axis. */
  readonly shape: Shape;
  /** Axes taken from behind. */
  readonly reversed: readonly number[];
}

/** Selection by the ranges and numbers among the parts; axes with traced indices stay whole. */
export function boxOf(parts: readonly IndexPart[], shape: Shape): Box {
  const box = {
    low: shape.map(() => 0),
    high: [...shape],
    step: shape.map(() => 1),
    shape: [...shape],
    reversed: [] as number[],
  };
  for (const part of parts) {
    if (part.kind === "new" || part.kind === "traced") continue;
    const { axis, from } = part;
    const { count, step } = part.kind === "number" ? { count: 1, step: 1 } : part;
    const low = step > 0 ? from : from + Math.max(0, count - 1) * step;
    box.low[axis] = low;
    box.high[axis] = count === 0 ? low : low + (count - 1) * Math.abs(step) + 1;
    box.step[axis] = count > 1 ? Math.abs(step) : 1;
    box.shape[axis] = count;
    if (step < 0 && count > 1) box.reversed.push(axis);
  }
  return box;
}

export const isWhole = (box: Box, x: Value): boolean =>
  sameDims(box.shape, x.shape) && box.reversed.length === 0;

/** The elements of the box. */
export const cutBox = (x: Value, box: Box): Value =>
  reverse(slice(x, box.low, box.high, box.step), box.reversed);

/** Elements of the box at their places in the whole, `fill` elsewhere. */
function spread(part: Value, box: Box, whole: Value, fill: number): Value {
  return pad(
    reverse(part, box.reversed),
    fill,
    box.low,
    whole.shape.map((n, i) => n - (box.high[i] as number)),
    box.step.map((n) => n - 1),
  );
}

/** The whole with the box written over. */
export function writeBox(x: Value, box: Box, part: Value): Value {
  if (part.size === 0) return x;
  if (box.step.every((n) => n === 1)) {
    const starts = box.low.map((n) => splat(n, "i32"));
    return dynamicUpdateSlice(x, reverse(part, box.reversed), starts);
  }
  const inside = spread(splat(1, "bool", part.shape), box, x, 0);
  return select(inside, spread(part, box, x, 0), x);
}

/** The whole with a part added to the box. */
export const addToBox = (x: Value, box: Box, part: Value): Value =>
  part.size === 0 ? x : add(x, spread(part, box, x, 0));

/** Selection of a value by indices, and the order of the result's axes. */
export interface Selection {
  readonly box: Box;
  /** Axes with traced indices, and those indices repeated to one shape. */
  readonly axes: readonly number[];
  readonly at: readonly Value[];
  readonly indexShape: Shape;
  /** Axes that stay as ranges. */
  readonly kept: readonly number[];
  /** Number of them before the axes of the indices in the result. */
  readonly before: number;
  /** The result's shape. */
  readonly shape: Shape;
}

/** NumPy's rule: the axes of traced indices stand where these stood together, and in front where they stood apart. */
export function selectionOf(op: string, parts: readonly IndexPart[], whole: Shape): Selection {
  const box = boxOf(parts, whole);
  const traced = parts.filter((part) => part.kind === "traced");
  const indexShape = traced.reduce<Shape>((shape, part) => broadcastShapes(op, shape, part.at.shape), []);
  const picks = parts.map((part) => part.kind === "traced" || part.kind === "number");
  const first = picks.indexOf(true);
  const apart = traced.length > 0 && picks.slice(first, picks.lastIndexOf(true)).includes(false);
  const place = apart ? 0 : Math.max(0, first);
  const shape: number[] = [];
  parts.forEach((part, i) => {
    if (i === place) shape.push(...indexShape);
    if (part.kind === "new") shape.push(1);
    if (part.kind === "range") shape.push(part.count);
  });
  return {
    box,
    axes: traced.map((part) => part.axis),
    at: traced.map((part) => broadcastTo(part.at, indexShape)),
    indexShape,
    kept: parts.filter((part) => part.kind === "range").map((part) => part.axis),
    before: parts.slice(0, place).filter((part) => part.kind === "range").length,
    shape,
  };
}

/** The indexed axes in front as one, the others behind: [N, S...]. */
export function toRows({ axes }: Selection, cut: Value): Value {
  const others = range(cut.ndim).filter((i) => !axes.includes(i));
  const rows = sizeOf(axes.map((i) => cut.shape[i] as number));
  const moved = transpose(cut, [...axes, ...others]);
  return reshape(moved, [rows, ...others.map((i) => cut.shape[i] as number)]);
}

/** The reverse of {@link toRows}. */
export function fromRows({ axes }: Selection, rows: Value, shape: Shape): Value {
  const order = [...axes, ...range(shape.length).filter((i) => !axes.includes(i))];
  const moved = reshape(
    rows,
    order.map((i) => shape[i] as number),
  );
  return transpose(moved, inversePermutation(order));
}

/** The row that the indices of all axes name together; out of range clamped, or -1. */
export function rowIndices({ axes, at, box }: Selection, outside: "clamp" | "drop"): Value {
  const lengths = axes.map((axis) => box.shape[axis] as number);
  const first = at[0] as Value;
  let row = filled(first, 0);
  at.forEach((index, i) => {
    const n = lengths[i] as number;
    const inside = max(min(index, filled(index, n - 1)), filled(index, 0));
    row = i === 0 ? inside : add(mul(row, filled(row, n)), inside);
  });
  return outside === "clamp" ? row : select(insideAll(at, lengths), row, filled(row, -1));
}

/** True where the indices of every axis are in range. */
export function insideAll(at: readonly Value[], lengths: Shape): Value {
  return at
    .map((index, i) =>
      and(greaterEqual(index, filled(index, 0)), less(index, filled(index, lengths[i] as number))),
    )
    .reduce(and);
}

/** For one element per axis: the starts and sizes of a dynamic slice of the cut. */
export function windowOf({ axes, at, box }: Selection): { readonly starts: Value[]; readonly sizes: Shape } {
  return {
    starts: box.shape.map((_, i) => (axes.includes(i) ? (at[axes.indexOf(i)] as Value) : splat(0, "i32"))),
    sizes: box.shape.map((n, i) => (axes.includes(i) ? 1 : n)),
  };
}

/** The selected elements. */
export function readSelection(x: Value, selection: Selection): Value {
  const { axes, indexShape, kept, before, shape } = selection;
  const cut = cutBox(x, selection.box);
  if (axes.length === 0) return reshape(cut, shape);
  if (indexShape.length === 0) {
    const { starts, sizes } = windowOf(selection);
    return reshape(dynamicSlice(cut, starts, sizes), shape);
  }
  const taken = gather(toRows(selection, cut), rowIndices(selection, "clamp"));
  const plain = reshape(taken, [...indexShape, ...kept.map((i) => cut.shape[i] as number)]);
  return reshape(transpose(plain, resultOrder(indexShape.length, kept.length, before)), shape);
}

/** Index axes from the front to behind the first `before` others. */
export const resultOrder = (indexRank: number, others: number, before: number): number[] => [
  ...range(before, indexRank),
  ...range(indexRank),
  ...range(others - before, indexRank + before),
];
