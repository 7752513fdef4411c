import { iota, splat } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { dynamicSlice, dynamicUpdateSlice } from "../ops/dynamic.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceMax, reduceMin, reduceOr, reduceProd } from "../ops/reduce.ts";
import { scatterAdd, scatterSet } from "../ops/scatter.ts";
import { broadcastInDim, broadcastTo, inversePermutation, reshape, transpose } from "../ops/shape.ts";
import { highest, isFloat, lowest } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { sameDims, shapeText, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { broadcastShapes, numberAs, operand, type ValueLike } from "./operands.ts";
import {
  addToBox,
  cutBox,
  fromRows,
  type Index,
  insideAll,
  isWhole,
  partsOf,
  readSelection,
  resultOrder,
  rowIndices,
  type Selection,
  selectionOf,
  toRows,
  windowOf,
  writeBox,
} from "./selection.ts";

/** Combines an element with an update. */
type Update = "set" | "add" | "multiply" | "max" | "min";

const combine: Readonly<Record<Update, (old: Value, update: Value) => Value>> = {
  set: (_old, update) => update,
  add: ops.add,
  multiply: ops.mul,
  max: ops.max,
  min: ops.min,
};

/** A place in a value: what {@link at} gives. */
export interface Place {
  /** The elements there; traced indices out of range take the nearest. */
  get(): Value;
  /** The value with these elements in their place. Where indices repeat, the last stays. */
  set(update: ValueLike): Value;
  /** The value with the update added there. Where indices repeat, all are added. */
  add(update: ValueLike): Value;
  /** The value multiplied there, by all updates where indices repeat. */
  multiply(update: ValueLike): Value;
  /** The value there or the update, whichever is larger. */
  max(update: ValueLike): Value;
  /** The value there or the update, whichever is smaller. */
  min(update: ValueLike): Value;
}

/**
 * A place in a value, to read it or to get a new value with it changed: the one given stays as it is. The index is a
 * number, a range as text, traced indices into the first axis, or a list of these for the leading axes. Negative
 * indices count from the end; updates at traced indices out of range are dropped.
 *
 * @example
 * ```ts
 * np.at(x, 0).set(1);                  // first row
 * np.at(counts, tokens).add(1);        // a histogram
 * np.at(x, [rows, columns]).get();     // pairs of traced indices
 * np.at(x, ["1:3", 0]).multiply(2);
 * ```
 */
export function at(x: ValueLike, index: Index | readonly Index[]): Place {
  const value = operand("at", x);
  const indices = (Array.isArray(index) ? index : [index]) as readonly Index[];
  const selection = selectionOf("at", partsOf("at", indices, value.shape), value.shape);
  const place = (kind: Update) => (update: ValueLike) => changed(value, selection, kind, update);
  return {
    get: () => readSelection(value, selection),
    set: place("set"),
    add: place("add"),
    multiply: place("multiply"),
    max: place("max"),
    min: place("min"),
  };
}

function updateFor(kind: Update, x: Value, selection: Selection, update: ValueLike): Value {
  const op = `at.${kind}`;
  const value = typeof update === "number" ? undefined : operand(op, update, "the update");
  const fractional = value ? isFloat(value.dtype) : !Number.isInteger(update);
  if ((fractional && !isFloat(x.dtype)) || (x.dtype === "bool" && kind !== "set"))
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: the update is ${value?.type.text ?? update} and the value is ${x.type.text}`,
      fractional
        ? 'convert the value first: x.astype("f32")'
        : "use np.logicalOr or np.logicalAnd for booleans",
    );
  if (!value) return numberAs(op, update as number, x.dtype, selection.shape);
  if (!sameDims(broadcastShapes(op, selection.shape, value.shape), selection.shape))
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the update has shape ${shapeText(value.shape)} and the place ${shapeText(selection.shape)}`,
      "give an update that broadcasts to the place's shape",
    );
  return broadcastTo(convert(value, x.dtype), selection.shape);
}

function changed(x: Value, selection: Selection, kind: Update, given: ValueLike): Value {
  const { axes, box, indexShape, kept, before } = selection;
  const update = updateFor(kind, x, selection, given);
  if (x.size === 0 || update.size === 0) return x;
  if (axes.length === 0) {
    const part = reshape(update, box.shape);
    if (kind === "add") return addToBox(x, box, part);
    return writeBox(x, box, kind === "set" ? part : combine[kind](cutBox(x, box), part));
  }
  const cut = cutBox(x, box);
  const back = (changedCut: Value) => (isWhole(box, x) ? changedCut : writeBox(x, box, changedCut));
  if (indexShape.length === 0) {
    // One place: read, change and write the window, which engines do without copying the rest.
    const { starts, sizes } = windowOf(selection);
    const old = dynamicSlice(cut, starts, sizes);
    const next = combine[kind](old, reshape(update, sizes));
    const lengths = axes.map((axis) => box.shape[axis] as number);
    const kept = ops.select(insideAll(selection.at, lengths), next, old);
    return back(dynamicUpdateSlice(cut, kept, starts));
  }
  const rows = toRows(selection, cut);
  const order = resultOrder(indexShape.length, kept.length, before);
  const plain = reshape(
    update,
    order.map((i) => [...indexShape, ...kept.map((a) => box.shape[a] as number)][i] as number),
  );
  const rowUpdates = reshape(transpose(plain, inversePermutation(order)), [
    ...indexShape,
    ...rows.shape.slice(1),
  ]);
  return back(
    fromRows(selection, scattered(kind, rows, rowIndices(selection, "drop"), rowUpdates), cut.shape),
  );
}

function scattered(kind: Update, rows: Value, indices: Value, updates: Value): Value {
  if (kind === "set") return scatterSet(rows, indices, updates);
  if (kind === "add") return scatterAdd(rows, indices, updates);
  return combineRows(kind, rows, indices, updates);
}

/** How updates of one row are put together, and what changes nothing there. */
const combinations = {
  multiply: { many: reduceProd, neutral: () => 1 },
  max: { many: reduceMax, neutral: lowest },
  min: { many: reduceMin, neutral: highest },
} as const;

/**
 * Rows [N, S...] multiplied by, or compared with, the updates [I..., S...] that indices [I...] send to them; indices
 * out of range are dropped. Every index is compared with every row: engines fuse that into one reduction, and
 * repeated indices all count.
 */
function combineRows(kind: keyof typeof combinations, rows: Value, indices: Value, updates: Value): Value {
  const { many, neutral } = combinations[kind];
  const count = sizeOf(indices.shape);
  const shape = [count, ...rows.shape];
  const others = range(rows.ndim - 1, 2);
  const ids = broadcastInDim(reshape(indices, [count]), shape.slice(0, 2), [0]);
  const hits = ops.equal(ids, iota("i32", shape.slice(0, 2), 1));
  const each = broadcastInDim(reshape(updates, [count, ...rows.shape.slice(1)]), shape, [0, ...others]);
  const mine = ops.select(
    broadcastInDim(hits, shape, [0, 1]),
    each,
    splat(neutral(rows.dtype), rows.dtype, shape),
  );
  const hit = broadcastInDim(reduceOr(hits, [0]), rows.shape, [0]);
  return ops.select(hit, combine[kind](rows, many(mine, [0])), rows);
}
