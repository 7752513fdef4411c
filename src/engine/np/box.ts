import { splat } from "../ops/constant.ts";
import { dynamicUpdateSlice } from "../ops/dynamic.ts";
import { add, select } from "../ops/elementwise.ts";
import { reverse } from "../ops/shape.ts";
import { pad, slice } from "../ops/slice.ts";
import type { Shape } from "../trace/type.ts";
import { sameDims } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import type { Part } from "./index-parts.ts";

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
export function boxOf(parts: readonly Part[], shape: Shape): Box {
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
