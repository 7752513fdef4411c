import { iota, splat } from "../ops/constant.ts";
import { equal, max, min, mul, select } from "../ops/elementwise.ts";
import { reduceMax, reduceMin, reduceOr, reduceProd } from "../ops/reduce.ts";
import { broadcastInDim, reshape } from "../ops/shape.ts";
import type { DType } from "../trace/dtype.ts";
import { isFloat, limits } from "../trace/dtype.ts";
import { sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./axes.ts";

/** Combines updates of one row with the row and with each other. */
interface Combination {
  readonly two: (a: Value, b: Value) => Value;
  readonly many: (x: Value, axes: readonly number[]) => Value;
  readonly neutral: (dtype: DType) => number;
}

const combinations: Readonly<Record<"multiply" | "max" | "min", Combination>> = {
  multiply: { two: mul, many: reduceProd, neutral: () => 1 },
  max: {
    two: max,
    many: reduceMax,
    neutral: (dtype) => (isFloat(dtype) ? Number.NEGATIVE_INFINITY : limits(dtype).min),
  },
  min: {
    two: min,
    many: reduceMin,
    neutral: (dtype) => (isFloat(dtype) ? Number.POSITIVE_INFINITY : limits(dtype).max),
  },
};

/**
 * Rows [N, S...] multiplied by, or compared with, the updates [I..., S...] that indices [I...] send to them; indices
 * out of range are dropped. Every index is compared with every row: engines fuse that into one reduction, and
 * repeated indices all count.
 */
export function combineRows(
  kind: "multiply" | "max" | "min",
  rows: Value,
  indices: Value,
  updates: Value,
): Value {
  const { two, many, neutral } = combinations[kind];
  const count = sizeOf(indices.shape);
  const shape = [count, ...rows.shape];
  const others = range(rows.ndim - 1, 2);
  const ids = broadcastInDim(reshape(indices, [count]), shape.slice(0, 2), [0]);
  const hits = equal(ids, iota("i32", shape.slice(0, 2), 1));
  const each = broadcastInDim(reshape(updates, [count, ...rows.shape.slice(1)]), shape, [0, ...others]);
  const mine = select(
    broadcastInDim(hits, shape, [0, 1]),
    each,
    splat(neutral(rows.dtype), rows.dtype, shape),
  );
  const hit = broadcastInDim(reduceOr(hits, [0]), rows.shape, [0]);
  return select(hit, two(rows, many(mine, [0])), rows);
}
