import { splat } from "../ops/constant.ts";
import { dynamicSlice } from "../ops/dynamic.ts";
import { add, and, greaterEqual, less, max, min, mul, select } from "../ops/elementwise.ts";
import { gather } from "../ops/gather.ts";
import { broadcastTo, inversePermutation, reshape, transpose } from "../ops/shape.ts";
import type { Shape } from "../trace/type.ts";
import { sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./axes.ts";
import type { Box } from "./box.ts";
import { boxOf, cutBox } from "./box.ts";
import { broadcastShapes } from "./broadcast.ts";
import type { Part } from "./index-parts.ts";
import { filled } from "./operands.ts";

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
export function selectionOf(op: string, parts: readonly Part[], whole: Shape): Selection {
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
