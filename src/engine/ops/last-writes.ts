import type { Op } from "../trace/op.ts";
import { defineOp, lacking } from "../trace/op.ts";
import { tensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { emit1 } from "../trace/value.ts";
import { inMemory, jaxName, jaxScalar } from "../wasm/dtype.ts";
import { hloType } from "../xla/writer.ts";
import { addRows } from "./add-rows.ts";
import { iota, splat } from "./constant.ts";
import { and, equal, less, select } from "./elementwise.ts";
import { gatherText, rowNumbers } from "./gather.ts";
import { reduceOr } from "./reduce.ts";
import { scatterText } from "./scatter.ts";
import { broadcastInDim } from "./shape.ts";

interface LastWritesParams {
  /** Number of rows that the indices point into. */
  readonly rows: number;
}

const lastWritesOp: Op<LastWritesParams> = defineOp<LastWritesParams>({
  name: "lastWrites",
  type: ([indices]) => [indices],
  derivative: lacking("an index has no derivative"),
  batch: ([indices], params) => [emit1(lastWritesOp, [indices.value], params)],
  // Each index leaves its position in its row, the highest stays; an index that finds its own position was the last.
  stablehlo: (w, [indices], { inputs, params }) => {
    const { type } = inputs[0];
    if (type.size === 0) return [indices];
    const batchDims = type.shape.length - 1;
    const rowsType = tensorType("i32", [...type.shape.slice(0, -1), params.rows]);
    const position = w.put(`stablehlo.iota dim = ${batchDims} : ${hloType(type)}`);
    const none = w.splat(-1, rowsType);
    const highest = scatterText(w, [none, indices, position], rowsType, type, batchDims, "maximum");
    const found = gatherText(w, highest, indices, rowsType, type, batchDims);
    const mask = tensorType("bool", type.shape);
    const isLast = w.put(
      `stablehlo.compare EQ, ${found}, ${position}, SIGNED : (${hloType(type)}, ${hloType(type)}) -> ${hloType(mask)}`,
    );
    const dropped = w.splat(-1, type);
    return [w.put(`stablehlo.select ${isLast}, ${indices}, ${dropped} : ${hloType(mask)}, ${hloType(type)}`)];
  },
  // No scatter by maximum there: sort, look at the next one, and carry the verdict back to where the index stood.
  wasm: (j, [indices], { inputs }) => {
    const { shape, size } = inputs[0];
    const count = shape[shape.length - 1] as number;
    const flat = indices.reshape([size / count, count]);
    const order = rowNumbers(j, inMemory(j, flat.ref).argsort(-1), [size / count, count], 1).reshape([size]);
    const sorted = j.numpy.take(flat.ref.reshape([size]), order.ref, 0).reshape([size / count, count]);
    const following = sorted.ref.slice([], [1, count]);
    const changes = sorted
      .slice([], [0, count - 1])
      .notEqual(following)
      .astype(jaxName("i32"));
    const ends = j.numpy.full([size / count, 1], 1, { dtype: jaxName("i32") });
    const verdicts = j.numpy.concatenate([changes, ends], 1).reshape([size]);
    const isLast = addRows(j, flat.ref.reshape([size]), order, verdicts).reshape([...shape]);
    const dropped = jaxScalar(j, -1, "i32");
    return [j.numpy.where(isLast.greater(jaxScalar(j, 0, "i32")), flat.reshape([...shape]), dropped)];
  },
});

/**
 * Indices [B..., I] into `rows` rows, with -1 in place of every one that a later equal one overrules. Engines may
 * write in any order, so that no two writes to one row may be left where the last is to stay.
 */
export function lastWrites(indices: Value, rows: number): Value {
  const count = indices.shape[indices.ndim - 1] as number;
  if (count <= 1) return indices;
  // The row visits every row there is; comparing few indices with each other costs less.
  return count * count <= rows ? compareAll(indices) : emit1(lastWritesOp, [indices], { rows });
}

function compareAll(indices: Value): Value {
  const axis = indices.ndim - 1;
  const square = [...indices.shape, indices.shape[axis] as number];
  const batches = square.slice(0, axis).map((_, d) => d);
  const mine = broadcastInDim(indices, square, [...batches, axis]);
  const other = broadcastInDim(indices, square, [...batches, axis + 1]);
  const later = less(iota("i32", square, axis), iota("i32", square, axis + 1));
  const overruled = reduceOr(and(equal(mine, other), later), [axis + 1]);
  return select(overruled, splat(-1, "i32", indices.shape), indices);
}
