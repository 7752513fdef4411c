import { iota } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import { checkAxis } from "../ops/rules.ts";
import { broadcastInDim, reshape, transpose } from "../ops/shape.ts";
import { pad, slice } from "../ops/slice.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range, shapeOf } from "./arguments.ts";
import type { DTypeOptions } from "./creation.ts";
import { filled, operand, type ValueLike } from "./operands.ts";

/** Offset of the diagonal: 0 the main one, above it positive, below it negative. */
export interface DiagonalOptions {
  readonly k?: number | undefined;
}

/** Options of {@link eye} and {@link tri}. */
export interface MatrixOptions extends DiagonalOptions, DTypeOptions {
  /** Columns. Default: as many as rows. */
  readonly columns?: number | undefined;
}

type Compare = (row: Value, column: Value) => Value;

/** Row number + k against column number, over the last two axes of a shape. */
function mask(shape: Shape, k: number, compare: Compare): Value {
  const plane = shape.slice(-2);
  const rows = iota("i32", plane, 0);
  const holds = compare(ops.add(rows, filled(rows, k)), iota("i32", plane, 1));
  return broadcastInDim(holds, shape, [shape.length - 2, shape.length - 1]);
}

/** Ones on a diagonal, zeros elsewhere. */
export const eye = (n: number, { columns = n, k = 0, dtype = "f32" }: MatrixOptions = {}): Value =>
  convert(mask(shapeOf("eye", [n, columns]), k, ops.equal), dtype);

/** Ones on and below a diagonal, zeros above. */
export const tri = (n: number, { columns = n, k = 0, dtype = "f32" }: MatrixOptions = {}): Value =>
  convert(mask(shapeOf("tri", [n, columns]), k, ops.greaterEqual), dtype);

function triangle(op: string, x: ValueLike, k: number, compare: Compare): Value {
  const value = operand(op, x);
  if (value.ndim < 2)
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: ${shapeText(value.shape)} is no matrix`,
      "give a value of two axes or more; the last two are the matrix",
    );
  return ops.select(mask(value.shape, k, compare), value, filled(value, 0));
}

/** The matrices of the last two axes with zeros above a diagonal. */
export const tril = (x: ValueLike, { k = 0 }: DiagonalOptions = {}): Value =>
  triangle("tril", x, k, ops.greaterEqual);

/** The matrices of the last two axes with zeros below a diagonal. */
export const triu = (x: ValueLike, { k = 0 }: DiagonalOptions = {}): Value =>
  triangle("triu", x, k, ops.lessEqual);

/** Options of {@link diagonal} and {@link trace}. */
export interface PlaneOptions extends DiagonalOptions {
  /** The axes of the matrices' rows and columns. Default: the first two. */
  readonly axes?: readonly [row: number, column: number] | undefined;
}

/** The diagonals of matrices, along a new last axis. */
export const diagonal = (x: ValueLike, options: PlaneOptions = {}): Value =>
  diagonalOf("diagonal", operand("diagonal", x), options);

function diagonalOf(op: string, x: Value, { k = 0, axes = [0, 1] }: PlaneOptions): Value {
  const [row, column] = [checkAxis(op, axes[0], x.ndim), checkAxis(op, axes[1], x.ndim)];
  const others = range(x.ndim).filter((i) => i !== row && i !== column);
  if (others.length !== x.ndim - 2)
    throw userError("AXIS_REPEATED", `${op}: axis ${row} is named twice`, "name two axes");
  const last = transpose(x, [...others, row, column]);
  const [n, m] = last.shape.slice(-2) as [number, number];
  const lead = last.shape.slice(0, -2);
  const count = Math.max(0, Math.min(n + Math.min(k, 0), m - Math.max(k, 0)));
  const from = count === 0 ? 0 : k >= 0 ? k : -k * m;
  // In a row-major matrix the next element of a diagonal is always m + 1 further on.
  return slice(
    reshape(last, [...lead, n * m]),
    [...lead.map(() => 0), from],
    [...lead, count === 0 ? from : from + (count - 1) * (m + 1) + 1],
    [...lead.map(() => 1), m + 1],
  );
}

/** The sum of a diagonal. */
export function trace(x: ValueLike, options: PlaneOptions = {}): Value {
  const line = diagonalOf("trace", operand("trace", x), options);
  return reduceSum(line.dtype === "bool" ? convert(line, "i32") : line, [line.ndim - 1]);
}

/** The diagonal of a matrix; of a vector, the matrix that has it on its diagonal. */
export function diag(x: ValueLike, { k = 0 }: DiagonalOptions = {}): Value {
  const value = operand("diag", x);
  if (value.ndim === 2) return diagonalOf("diag", value, { k });
  if (value.ndim !== 1)
    throw userError(
      "SHAPE_MISMATCH",
      `diag: ${shapeText(value.shape)} is neither a vector nor a matrix`,
      "use np.diagonal for more than two axes",
    );
  const n = value.size + Math.abs(k);
  if (value.size === 0) return reshape(pad(value, 0, [0], [n * n], [0]), [n, n]);
  const low = k >= 0 ? k : -k * n;
  const covered = (value.size - 1) * (n + 1) + 1;
  return reshape(pad(value, 0, [low], [n * n - low - covered], [n]), [n, n]);
}
