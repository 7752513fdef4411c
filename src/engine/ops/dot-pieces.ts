import type { Value } from "../trace/value.ts";
import type { DotDims } from "./dot.ts";
import { add } from "./elementwise.ts";
import { pieceOf } from "./piece-of.ts";
import { reduceSum } from "./reduce.ts";
import { reshape } from "./shape.ts";
import { slice } from "./slice.ts";

export type Product = (x: Value, y: Value, dims: DotDims) => Value;

/** Thresholds for summing products in pieces: least terms, most results, terms of a piece. */
const manyTerms = 16384;
const fewResults = 16;
const piece = 512;

const termsOf = (x: Value, { lhsContract }: DotDims): number =>
  lhsContract.reduce((n, axis) => n * (x.shape[axis] as number), 1);

/** True if a product is long enough to be summed in pieces; 16-bit floats and integers never are. */
export const mayNeedPieces = (x: Value, dims: DotDims): boolean =>
  termsOf(x, dims) >= manyTerms && (x.dtype === "f32" || x.dtype === "f64");

/**
 * A product over long axes. Where it has few results, engines add one term after the other, and the longer the sum,
 * the more digits of each are lost. So the longest axis is cut there: its pieces are one more batch axis, and what
 * they come to is added up. Matrix multiplications proper, with more results, stay as they are.
 */
export function inPieces(product: Product, x: Value, y: Value, dims: DotDims, results: number): Value {
  if (results > fewResults) return product(x, y, dims);
  const lengths = dims.lhsContract.map((axis) => x.shape[axis] as number);
  const length = Math.max(...lengths);
  const at = lengths.indexOf(length);
  const [a, b] = [dims.lhsContract[at] as number, dims.rhsContract[at] as number];
  const each = pieceOf(length, Math.max(1, Math.floor((piece * length) / termsOf(x, dims))));
  const whole = length - (length % each);
  if (whole < length) {
    const part = (from: number, to: number) => [cut(x, a, from, to), cut(y, b, from, to)] as const;
    const [first, rest] = [part(0, whole), part(whole, length)];
    return add(inPieces(product, ...first, dims, results), product(...rest, dims));
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

function cut(value: Value, axis: number, from: number, to: number): Value {
  const starts = value.shape.map((_, i) => (i === axis ? from : 0));
  return slice(
    value,
    starts,
    value.shape.map((n, i) => (i === axis ? to : n)),
  );
}
