import { userError } from "../trace/location.ts";
import { defineOp, several } from "../trace/op.ts";
import { shapeText, type TensorType, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName, wrapU8 } from "../wasm/dtype.ts";
import { jaxDot } from "../wasm/functions.ts";
import { add } from "./elementwise.ts";
import { pieceOf } from "./piece-of.ts";
import { reduceSum } from "./reduce.ts";
import { batchedValue, checkDType } from "./rules.ts";
import { inversePermutation, reshape, transpose } from "./shape.ts";
import { sliceAlong } from "./slice.ts";

/** Axes of the two sides that are summed over (contract) and that are batch axes. */
export interface DotDims {
  readonly lhsContract: readonly number[];
  readonly rhsContract: readonly number[];
  readonly lhsBatch: readonly number[];
  readonly rhsBatch: readonly number[];
}

/** The axes that are neither summed over nor batch axes. */
export const freeAxesOf = (rank: number, ...used: (readonly number[])[]): number[] =>
  Array.from({ length: rank }, (_, i) => i).filter((i) => !used.some((axes) => axes.includes(i)));
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

const dotOp = defineOp<DotDims>({
  name: "dotGeneral",
  type: ([x, y], { lhsContract, rhsContract, lhsBatch, rhsBatch }) => {
    checkDType("matmul", "argument 0", x, "number");
    if (x.dtype !== y.dtype)
      throw userError(
        "DTYPE_MISMATCH",
        `matmul: argument 0 is ${x.text} and argument 1 is ${y.text}`,
        `convert one of them: x.astype("${x.dtype}")`,
      );
    const pairs = [...lhsContract, ...lhsBatch].map(
      (a, i) => [a, [...rhsContract, ...rhsBatch][i] as number] as const,
    );
    for (const [a, b] of pairs)
      if (x.shape[a] !== y.shape[b])
        throw userError(
          "SHAPE_MISMATCH",
          `matmul: axis ${a} of ${shapeText(x.shape)} has length ${x.shape[a]}, but axis ${b} of ${shapeText(y.shape)} has ${y.shape[b]}`,
          "the axes that are multiplied must be equally long; transpose one side, or fix the layer's size",
        );
    return [
      tensorType(x.dtype, [
        ...lhsBatch.map((a) => x.shape[a] as number),
        ...freeAxesOf(x.shape.length, lhsContract, lhsBatch).map((a) => x.shape[a] as number),
        ...freeAxesOf(y.shape.length, rhsContract, rhsBatch).map((a) => y.shape[a] as number),
      ]),
    ];
  },
  derivative: ({ inputs: [x, y], params }, [ct]) => {
    if (!ct) return [];
    const { lhsContract, rhsContract, lhsBatch, rhsBatch } = params;
    return [
      oneSide(ct, y, x, lhsContract, lhsBatch, rhsContract, rhsBatch, false),
      oneSide(ct, x, y, rhsContract, rhsBatch, lhsContract, lhsBatch, true),
    ];
  },
  batch: ([x, y], { lhsContract, rhsContract, lhsBatch, rhsBatch }, size) => {
    const up = (axes: readonly number[]): number[] => axes.map((a) => a + 1);
    if ((x.batched && y.batched) || lhsBatch.length > 0)
      return [
        dotGeneral(batchedValue(x, size), batchedValue(y, size), {
          lhsContract: up(lhsContract),
          rhsContract: up(rhsContract),
          lhsBatch: [0, ...up(lhsBatch)],
          rhsBatch: [0, ...up(rhsBatch)],
        }),
      ];
    const unbatched = { lhsBatch: [], rhsBatch: [] };
    if (x.batched) {
      // The mapped axis is one more free axis of the left side: it comes out in front.
      return [dotGeneral(x.value, y.value, { lhsContract: up(lhsContract), rhsContract, ...unbatched })];
    }
    const z = dotGeneral(x.value, y.value, { lhsContract, rhsContract: up(rhsContract), ...unbatched });
    const at = x.value.ndim - lhsContract.length;
    return [transpose(z, [at, ...range(0, at), ...range(at + 1, z.ndim)])];
  },
  stablehlo: (w, names, { inputs, outputs, params }) => {
    const { lhsContract, rhsContract, lhsBatch, rhsBatch } = params;
    const attributes = [
      ...(lhsBatch.length > 0 ? [`batching_dims = ${shapeText(lhsBatch)} x ${shapeText(rhsBatch)}`] : []),
      `contracting_dims = ${shapeText(lhsContract)} x ${shapeText(rhsContract)}`,
      "precision = [DEFAULT, DEFAULT]",
    ];
    return [w.apply("dot_general", names, inputs, outputs[0], `, ${attributes.join(", ")}`)];
  },
  wasm: (j, [x, y], { inputs, outputs, params }) => {
    if (inputs[0].size === 0 || inputs[1].size === 0) {
      x.dispose();
      y.dispose();
      return [j.numpy.zeros([...outputs[0].shape], { dtype: jaxName(outputs[0].dtype) })];
    }
    return [wrapU8(j, jaxDot(j, x, y, params), outputs[0].dtype)];
  },
});

/**
 * The cotangent of `mine` in a product with `other`: contract the product's cotangent with the other's free axes.
 * `swapped` says that `mine` was the right side.
 */
function oneSide(
  ct: Value,
  other: Value,
  mine: Value,
  myContract: readonly number[],
  myBatch: readonly number[],
  otherContract: readonly number[],
  otherBatch: readonly number[],
  swapped: boolean,
): Value {
  const batches = myBatch.length;
  const myFree = freeAxesOf(mine.ndim, myContract, myBatch);
  const otherFree = freeAxesOf(other.ndim, otherContract, otherBatch);
  const ctBatch = range(0, batches);
  const ctOther = swapped
    ? range(batches, batches + otherFree.length)
    : range(batches + myFree.length, batches + myFree.length + otherFree.length);
  // My contracted axes come out in the order in which the other side lists them.
  const sorted = [...otherContract].sort((a, b) => a - b);
  const contracted = sorted.map((axis) => myContract[otherContract.indexOf(axis)] as number);
  // The side is chosen so that a plain matrix product needs no transposing: for the right side x^T ct.
  const product = swapped
    ? dotGeneral(other, ct, {
        lhsContract: otherFree,
        rhsContract: ctOther,
        lhsBatch: otherBatch,
        rhsBatch: ctBatch,
      })
    : dotGeneral(ct, other, {
        lhsContract: ctOther,
        rhsContract: otherFree,
        lhsBatch: ctBatch,
        rhsBatch: otherBatch,
      });
  const axes = swapped ? [...myBatch, ...contracted, ...myFree] : [...myBatch, ...myFree, ...contracted];
  return transpose(product, inversePermutation(axes));
}

const product = (x: Value, y: Value, dims: DotDims): Value => emit1(dotOp, [x, y], dims);

/** Sums products over the contracted axes; the result's axes are batch, left free, right free. */
export function dotGeneral(x: Value, y: Value, dims: DotDims): Value {
  if (!mayNeedPieces(x, dims)) return product(x, y, dims);
  const [result] = dotOp.type(several([x.type, y.type]), dims) as readonly [TensorType];
  return inPieces(x, y, dims, result.size);
}

/** Thresholds for summing products in pieces: least terms, most results, terms of a piece. */
const manyTerms = 16384;
const fewResults = 16;
const piece = 512;

const termsOf = (x: Value, { lhsContract }: DotDims): number =>
  lhsContract.reduce((n, axis) => n * (x.shape[axis] as number), 1);

/** True if a product is long enough to be summed in pieces; 16-bit floats and integers never are. */
const mayNeedPieces = (x: Value, dims: DotDims): boolean =>
  termsOf(x, dims) >= manyTerms && (x.dtype === "f32" || x.dtype === "f64");

/**
 * A product over long axes. Where it has few results, engines add one term after the other, and the longer the sum,
 * the more digits of each are lost. So the longest axis is cut there: its pieces are one more batch axis, and what
 * they come to is added up. Matrix multiplications proper, with more results, stay as they are.
 */
function inPieces(x: Value, y: Value, dims: DotDims, results: number): Value {
  if (results > fewResults) return product(x, y, dims);
  const lengths = dims.lhsContract.map((axis) => x.shape[axis] as number);
  const length = Math.max(...lengths);
  const at = lengths.indexOf(length);
  const [a, b] = [dims.lhsContract[at] as number, dims.rhsContract[at] as number];
  const each = pieceOf(length, Math.max(1, Math.floor((piece * length) / termsOf(x, dims))));
  const whole = length - (length % each);
  if (whole < length) {
    const part = (from: number, to: number) =>
      [sliceAlong(x, a, from, to), sliceAlong(y, b, from, to)] as const;
    const [first, rest] = [part(0, whole), part(whole, length)];
    return add(inPieces(...first, dims, results), product(...rest, dims));
  }
  const split = (value: Value, axis: number) =>
    reshape(value, value.shape.toSpliced(axis, 1, length / each, each));
  const moved = (axes: readonly number[], axis: number) => axes.map((i) => (i >= axis ? i + 1 : i));
  const sums = product(split(x, a), split(y, b), {
    lhsContract: moved(dims.lhsContract, a),
    rhsContract: moved(dims.rhsContract, b),
    lhsBatch: [a, ...moved(dims.lhsBatch, a)],
    rhsBatch: [b, ...moved(dims.rhsBatch, b)],
  });
  return reduceSum(sums, [0]);
}
