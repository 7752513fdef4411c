import { userError } from "../trace/location.ts";
import { defineOp, type Jax, type JaxArray, lacking, type Op } from "../trace/op.ts";
import { type Shape, sameDims, shapeText, sizeOf, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { inMemory, jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import { type HloWriter, hloType } from "../xla/writer.ts";
import { addRows } from "./add-rows.ts";
import { iota, splat, zerosLike } from "./constant.ts";
import { and, equal, greaterEqual, less, select } from "./elementwise.ts";
import { gather, gatherText, type IndexParams, rowNumbers, rowsShape, upTo } from "./gather.ts";
import { reduceOr } from "./reduce.ts";
import { batchedValue, checkDType } from "./rules.ts";
import { broadcastInDim, reshape } from "./shape.ts";

function checkRows(
  op: string,
  [operand, indices, updates]: readonly [TensorType, TensorType, TensorType, ...TensorType[]],
  { batchDims }: IndexParams,
): readonly TensorType[] {
  const shape = rowsShape(op, operand, indices, batchDims);
  if (!sameDims(updates.shape, shape))
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the updates have shape ${shapeText(updates.shape)}, but indices ${shapeText(indices.shape)} into ${shapeText(operand.shape)} name rows of shape ${shapeText(shape)}`,
      `broadcast or reshape the updates to ${shapeText(shape)}`,
    );
  if (updates.dtype !== operand.dtype)
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: the operand is ${operand.text} and the updates are ${updates.text}`,
      `convert the updates: updates.astype("${operand.dtype}")`,
    );
  return [operand];
}

/** The cotangents of updates: those of the rows they went to, none where they were dropped. */
function updateCotangents(ct: Value, indices: Value, batchDims: number): Value {
  const rows = gather(ct, indices, batchDims);
  const length = ct.shape[batchDims] as number;
  const limit = (n: number) => splat(n, "i32", indices.shape);
  const inside = and(greaterEqual(indices, limit(0)), less(indices, limit(length)));
  return select(broadcastInDim(inside, rows.shape, upTo(indices.ndim)), rows, zerosLike(rows));
}

const scatterAddOp: Op<IndexParams> = defineOp<IndexParams>({
  name: "scatterAdd",
  type: (types, params) => {
    checkDType("scatterAdd", "the operand", types[0], "number");
    return checkRows("scatterAdd", types, params);
  },
  derivative: ({ inputs, params }, [ct]) =>
    ct ? [ct, undefined, updateCotangents(ct, inputs[1], params.batchDims)] : [],
  batch: ([operand, indices, updates], { batchDims }, size) => [
    scatterAdd(
      batchedValue(operand, size),
      batchedValue(indices, size),
      batchedValue(updates, size),
      batchDims + 1,
    ),
  ],
  stablehlo: (w, names, { inputs, params }) => [
    scatterText(w, names, inputs[0].type, inputs[1].type, params.batchDims, "add"),
  ],
  wasm: (j, [operand, indices, updates], { inputs, params }) => {
    const { shape, dtype } = inputs[0];
    const flat = flatShape(shape, params.batchDims);
    const at = positions(j, indices, shape, params.batchDims);
    const rows = updates.reshape([inputs[1].size, ...flat.slice(1)]);
    const sums = addRows(j, operand.ref.reshape(flat), at, rows).reshape([...shape]);
    return [wrapU8(j, operand.add(sums), dtype)];
  },
});

const scatterSetOp: Op<IndexParams> = defineOp<IndexParams>({
  name: "scatterSet",
  type: (types, params) => checkRows("scatterSet", types, params),
  derivative: ({ inputs: [, indices, updates], params: { batchDims } }, [ct]) => {
    if (!ct) return [];
    const kept = emit1(scatterSetOp, [ct, indices, zerosLike(updates)], { batchDims });
    return [kept, undefined, updateCotangents(ct, indices, batchDims)];
  },
  batch: (inputs, { batchDims }, size) => [
    emit1(
      scatterSetOp,
      inputs.map((input) => batchedValue(input, size)),
      { batchDims: batchDims + 1 },
    ),
  ],
  stablehlo: (w, names, { inputs, params }) => [
    scatterText(w, names, inputs[0].type, inputs[1].type, params.batchDims, "set"),
  ],
  wasm: (j, [operand, indices, updates], { inputs, params: { batchDims } }) => {
    const { shape } = inputs[0];
    const flat = flatShape(shape, batchDims);
    const count = inputs[1].size;
    // Scatter the number of each update, counted from 1, then fetch the updates from where they are wanted.
    const like = operand.ref.reshape([flat[0] as number, flat[1] as number]).slice([], 0);
    const numbers = j.numpy.arange(1, count + 1, 1, { dtype: jaxName("i32") });
    const writer = addRows(j, like.astype(jaxName("i32")), positions(j, indices, shape, batchDims), numbers);
    const written = writer.ref.greater(jaxScalar(j, 0, "i32")).reshape([flat[0] as number, 1]);
    const from = j.numpy.maximum(writer.sub(jaxScalar(j, 1, "i32")), jaxScalar(j, 0, "i32"));
    const rows = j.numpy.take(updates.reshape([count, flat[1] as number]), from, 0);
    return [j.numpy.where(written, rows, operand.reshape(flat)).reshape([...shape])];
  },
});

/** Rows and their length, once batch and indexed axes are one axis and the others another. */
const flatShape = (shape: Shape, batchDims: number): [number, number] => [
  sizeOf(shape.slice(0, batchDims + 1)),
  sizeOf(shape.slice(batchDims + 1)),
];

/** Rows of the flat operand that the updates go to; -1 for dropped ones. */
function positions(j: Jax, indices: JaxArray, operand: Shape, batchDims: number): JaxArray {
  const zero = jaxScalar(j, 0, "i32");
  const length = jaxScalar(j, operand[batchDims] as number, "i32");
  const inside = j.numpy.logicalAnd(indices.ref.greaterEqual(zero), indices.ref.less(length));
  const rows = rowNumbers(j, indices, operand, batchDims);
  return j.numpy.where(inside, rows, jaxScalar(j, -1, "i32")).reshape([-1]);
}

type Combine = "add" | "maximum" | "set";

/** Writes a scatter and gives the name of its result. */
export function scatterText(
  w: HloWriter,
  names: readonly [operand: string, indices: string, updates: string, ...string[]],
  type: TensorType,
  indexType: TensorType,
  batchDims: number,
  combine: Combine,
): string {
  const updateType = tensorType(type.dtype, rowsShape("scatter", type, indexType, batchDims));
  const rank = indexType.shape.length;
  const numbers = [
    `update_window_dims = [${upTo(updateType.shape.length).slice(rank).join(", ")}]`,
    `inserted_window_dims = [${batchDims}]`,
    `input_batching_dims = [${upTo(batchDims).join(", ")}]`,
    `scatter_indices_batching_dims = [${upTo(batchDims).join(", ")}]`,
    `scatter_dims_to_operand_dims = [${batchDims}]`,
    `index_vector_dim = ${rank}`,
  ].join(", ");
  const { dtype } = type;
  const attributes = `scatter_dimension_numbers = #stablehlo.scatter<${numbers}>, indices_are_sorted = false, unique_indices = false`;
  const types = `(${[type, indexType, updateType].map(hloType).join(", ")}) -> ${hloType(type)}`;
  return w.put(
    w.withBody(
      "scatter",
      names,
      [dtype, dtype],
      (inner, args) => [
        [combine === "set" ? args[1] : inner.each(combine, args, { dtype, shape: [] }), dtype],
      ],
      `{${attributes}} : ${types}`,
    ),
  );
}

/**
 * Adds updates [B..., I..., S...] to the rows of [B..., N, S...] that indices [B..., I...] name. What goes to the same
 * row adds up; indices out of range, negative ones too, are dropped.
 */
export function scatterAdd(operand: Value, indices: Value, updates: Value, batchDims = 0): Value {
  checkRows("scatterAdd", [operand.type, indices.type, updates.type], { batchDims });
  if (updates.size === 0 || operand.size === 0) return operand;
  return emit1(scatterAddOp, [operand, indices, updates], { batchDims });
}

/**
 * Puts updates [B..., I..., S...] in place of the rows of [B..., N, S...] that indices [B..., I...] name. Of several for
 * the same row the last stays; indices out of range, negative ones too, are dropped. `distinct` says that no two
 * indices in range are equal, which saves finding the last.
 */
export function scatterSet(
  operand: Value,
  indices: Value,
  updates: Value,
  batchDims = 0,
  { distinct = false }: { readonly distinct?: boolean } = {},
): Value {
  checkRows("scatterSet", [operand.type, indices.type, updates.type], { batchDims });
  if (updates.size === 0 || operand.size === 0) return operand;
  if (distinct) return emit1(scatterSetOp, [operand, indices, updates], { batchDims });
  const batches = indices.shape.slice(0, batchDims);
  const count = sizeOf(indices.shape.slice(batchDims));
  const one = reshape(indices, [...batches, count]);
  const rows = reshape(updates, [...batches, count, ...operand.shape.slice(batchDims + 1)]);
  const last = lastWrites(one, operand.shape[batchDims] as number);
  return emit1(scatterSetOp, [operand, last, rows], { batchDims });
}

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
    const isLast = w.compare("EQ", found, position, type);
    const dropped = w.splat(-1, type);
    const mask = hloType({ dtype: "bool", shape: type.shape });
    return [w.put(`stablehlo.select ${isLast}, ${indices}, ${dropped} : ${mask}, ${hloType(type)}`)];
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
