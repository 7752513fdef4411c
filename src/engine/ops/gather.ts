import { userError } from "../trace/location.ts";
import { defineOp, type Jax, type JaxArray } from "../trace/op.ts";
import { type Shape, sameDims, shapeText, sizeOf, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName, jaxScalar } from "../wasm/dtype.ts";
import { type HloWriter, hloType, i64s } from "../xla/writer.ts";
import { splat, zerosLike } from "./constant.ts";
import { max, min } from "./elementwise.ts";
import { batchedValue, checkAxis } from "./rules.ts";
import { scatterAdd } from "./scatter.ts";
import { inversePermutation, transpose } from "./shape.ts";

/** Number of leading axes that operand and indices share as batch axes. */
export interface IndexParams {
  readonly batchDims: number;
}

export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** The shape of the rows that indices name: [B..., N, S...] and [B..., I...] give [B..., I..., S...]. */
export function rowsShape(op: string, operand: TensorType, indices: TensorType, batchDims: number): Shape {
  if (indices.dtype !== "i32")
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: the indices are ${indices.text}, but ${op} takes i32 indices`,
      'convert first: indices.astype("i32")',
    );
  const fits =
    operand.shape.length > batchDims &&
    indices.shape.length >= batchDims &&
    sameDims(operand.shape.slice(0, batchDims), indices.shape.slice(0, batchDims));
  if (!fits)
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: the first ${batchDims} axes of ${shapeText(operand.shape)} and of the indices, ${shapeText(indices.shape)}, are not alike`,
      "make the leading axes agree, with at least one more axis to index into",
    );
  return [...indices.shape, ...operand.shape.slice(batchDims + 1)];
}

const gatherOp = defineOp<IndexParams>({
  name: "gather",
  type: ([operand, indices], { batchDims }) => {
    const shape = rowsShape("gather", operand, indices, batchDims);
    if (operand.shape[batchDims] === 0 && sizeOf(shape) > 0)
      throw userError(
        "INDEX_OUT_OF_RANGE",
        `gather: axis ${batchDims} of ${shapeText(operand.shape)} is empty, so that no index is in range`,
        "index only into axes that have elements",
      );
    return [tensorType(operand.dtype, shape)];
  },
  derivative: ({ inputs: [operand, indices], params: { batchDims } }, [ct]) => {
    if (!ct) return [];
    const taken = clampValue(indices, (operand.shape[batchDims] as number) - 1);
    return [scatterAdd(zerosLike(operand), taken, ct, batchDims), undefined];
  },
  batch: ([operand, indices], { batchDims }, size) => {
    if (operand.batched) return [gather(operand.value, batchedValue(indices, size), batchDims + 1)];
    // The mapped axis is one more index axis: behind those that run along, and back to the front afterwards.
    const back = [...upTo(batchDims).map((d) => d + 1), 0];
    const front = (x: Value): number[] => [...back, ...upTo(x.ndim).slice(batchDims + 1)];
    const rows = gather(operand.value, transpose(indices.value, front(indices.value)), batchDims);
    return [transpose(rows, inversePermutation(front(rows)))];
  },
  stablehlo: (w, [operand, indices], { inputs, params }) => [
    gatherText(w, operand, indices, inputs[0].type, inputs[1].type, params.batchDims),
  ],
  wasm: (j, [operand, indices], { inputs, params: { batchDims } }) => {
    const { shape } = inputs[0];
    const length = shape[batchDims] as number;
    const inside = clampArray(j, indices, length - 1);
    const flat = operand.reshape([sizeOf(shape.slice(0, batchDims + 1)), ...shape.slice(batchDims + 1)]);
    return [j.numpy.take(flat, rowNumbers(j, inside, shape, batchDims), 0)];
  },
});

/** Writes a gather and gives the name of its result. */
export function gatherText(
  w: HloWriter,
  operand: string,
  indices: string,
  type: TensorType,
  indexType: TensorType,
  batchDims: number,
): string {
  const result = tensorType(type.dtype, rowsShape("gather", type, indexType, batchDims));
  const rank = indexType.shape.length;
  const numbers = [
    `offset_dims = ${shapeText(upTo(result.shape.length).slice(rank))}`,
    `collapsed_slice_dims = [${batchDims}]`,
    `operand_batching_dims = ${shapeText(upTo(batchDims))}`,
    `start_indices_batching_dims = ${shapeText(upTo(batchDims))}`,
    `start_index_map = [${batchDims}]`,
    `index_vector_dim = ${rank}`,
  ].join(", ");
  const sizes = type.shape.map((n, d) => (d <= batchDims ? 1 : n));
  return w.put(
    `"stablehlo.gather"(${operand}, ${indices}) {dimension_numbers = #stablehlo.gather<${numbers}>, indices_are_sorted = false, slice_sizes = ${i64s(sizes)}} : (${hloType(type)}, ${hloType(indexType)}) -> ${hloType(result)}`,
  );
}

/** Indices moved into [0, highest]. */
const clampValue = (indices: Value, highest: number): Value =>
  max(min(indices, splat(highest, "i32", indices.shape)), splat(0, "i32", indices.shape));

export const clampArray = (j: Jax, indices: JaxArray, highest: number): JaxArray =>
  j.numpy.maximum(j.numpy.minimum(indices, jaxScalar(j, highest, "i32")), jaxScalar(j, 0, "i32"));

/** Position of the indexed rows once batch and indexed axes of the operand are one axis. */
export function rowNumbers(j: Jax, indices: JaxArray, operand: Shape, batchDims: number): JaxArray {
  if (batchDims === 0) return indices;
  const batches = sizeOf(operand.slice(0, batchDims));
  const first = j.numpy
    .arange(0, batches, 1, { dtype: jaxName("i32") })
    .mul(jaxScalar(j, operand[batchDims] as number, "i32"));
  return indices.add(first.reshape(indices.shape.map((n, d) => (d < batchDims ? n : 1))));
}

/**
 * The rows of [B..., N, S...] that indices [B..., I...] name: [B..., I..., S...]. The leading `batchDims` axes (B) run
 * along. Indices out of range take the nearest row there is.
 */
export function gather(operand: Value, indices: Value, batchDims = 0): Value {
  const shape = rowsShape("gather", operand.type, indices.type, batchDims);
  if (sizeOf(shape) === 0) return splat(0, operand.dtype, shape);
  return emit1(gatherOp, [operand, indices], { batchDims });
}

/** The order of axes in which one of them is the last. */
export const lastAxisPermutation = (rank: number, axis: number): number[] => [
  ...upTo(rank).filter((d) => d !== axis),
  axis,
];

/** Elements picked along one axis by indices of the same rank, whose other axes agree with those of `x`. */
export function takeAlongAxis(x: Value, indices: Value, axis: number): Value {
  const at = checkAxis("takeAlongAxis", axis, x.ndim);
  const perm = lastAxisPermutation(x.ndim, at);
  const taken = gather(transpose(x, perm), transpose(indices, perm), x.ndim - 1);
  return transpose(taken, inversePermutation(perm));
}
