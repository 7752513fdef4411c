import { convert } from "../ops/convert.ts";
import { type DotDims, dotGeneral } from "../ops/dot.ts";
import { mul } from "../ops/elementwise.ts";
import { checkAxis } from "../ops/rules.ts";
import { broadcastTo, reshape } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import { sameDims, shapeText } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./arguments.ts";
import { broadcastShapes, promoted, type ValueLike } from "./operands.ts";

/** Sums of products under the name the user called; booleans ask whether any pair holds on both sides. */
function contracted(op: string, x: Value, y: Value, dims: DotDims): Value {
  dims.lhsContract.forEach((a, i) => {
    const b = dims.rhsContract[i] as number;
    if (x.shape[a] !== y.shape[b])
      throw userError(
        "SHAPE_MISMATCH",
        `${op}: axis ${a} of ${shapeText(x.shape)} has length ${x.shape[a]}, but axis ${b} of ${shapeText(y.shape)} has length ${y.shape[b]}`,
        "the axes that are multiplied must be equally long: transpose one side, or fix its size",
      );
  });
  if (x.dtype !== "bool") return dotGeneral(x, y, dims);
  return convert(dotGeneral(convert(x, "i32"), convert(y, "i32"), dims), "bool");
}

const plain = (lhsContract: readonly number[], rhsContract: readonly number[]): DotDims => ({
  lhsContract,
  rhsContract,
  lhsBatch: [],
  rhsBatch: [],
});

function two(op: string, x: ValueLike, y: ValueLike): readonly [Value, Value] {
  return promoted(op, [x, y]) as [Value, Value];
}

function notScalar(op: string, ...values: readonly Value[]): void {
  values.forEach((value, i) => {
    if (value.ndim === 0)
      throw userError("SHAPE_MISMATCH", `${op}: argument ${i} is a scalar`, "use np.multiply for scalars");
  });
}

/**
 * The matrix product, as in NumPy: the last axis of x with the last but one of y; leading axes broadcast; a vector
 * counts as one row on the left and one column on the right, and its axis goes.
 *
 * @example
 * ```ts
 * np.matmul(x, w); // [batch, inputs] and [inputs, outputs] give [batch, outputs]
 * ```
 */
export const matmul = (x: ValueLike, y: ValueLike): Value => matrixProduct("matmul", ...two("matmul", x, y));

function matrixProduct(op: string, x: Value, y: Value): Value {
  notScalar(op, x, y);
  if (y.ndim <= 2) return contracted(op, x, y, plain([x.ndim - 1], [Math.max(0, y.ndim - 2)]));
  if (x.ndim === 1) return contracted(op, x, y, plain([0], [y.ndim - 2]));
  const lead = (value: Value) => value.shape.slice(0, -2);
  const batches = sameDims(lead(x), lead(y)) ? lead(x) : broadcastShapes(op, lead(x), lead(y));
  const along = range(batches.length);
  const spread = (value: Value) => broadcastTo(value, [...batches, ...value.shape.slice(-2)]);
  const n = batches.length;
  return contracted(op, spread(x), spread(y), {
    lhsContract: [n + 1],
    rhsContract: [n],
    lhsBatch: along,
    rhsBatch: along,
  });
}

/** The product of vectors and matrices; scalars multiply. With more axes: the last of x with the last but one of y. */
export function dot(x: ValueLike, y: ValueLike): Value {
  const [a, b] = two("dot", x, y);
  if (a.ndim === 0 || b.ndim === 0) return scaled(a, b);
  return contracted("dot", a, b, plain([a.ndim - 1], [Math.max(0, b.ndim - 2)]));
}

function scaled(a: Value, b: Value): Value {
  const shape = a.ndim === 0 ? b.shape : a.shape;
  return mul(broadcastTo(a, shape), broadcastTo(b, shape));
}

/** Sums of products over the last axis of both. */
export function inner(x: ValueLike, y: ValueLike): Value {
  const [a, b] = two("inner", x, y);
  if (a.ndim === 0 || b.ndim === 0) return scaled(a, b);
  return contracted("inner", a, b, plain([a.ndim - 1], [b.ndim - 1]));
}

/** All products of an element of x with one of y: [n, m] of two vectors; more axes count as one. */
export function outer(x: ValueLike, y: ValueLike): Value {
  const [a, b] = two("outer", x, y);
  const shape = [a.size, b.size];
  return mul(broadcastTo(reshape(a, [a.size, 1]), shape), broadcastTo(reshape(b, [b.size]), shape));
}

/** The sum of all products of elements at the same place. */
export function vdot(x: ValueLike, y: ValueLike): Value {
  const [a, b] = two("vdot", x, y);
  return contracted("vdot", reshape(a, [a.size]), reshape(b, [b.size]), plain([0], [0]));
}

/** Number of axes to sum over, the last of one with the first of the other; or the axes of each. */
export type ContractAxes = number | readonly [readonly number[], readonly number[]];

/**
 * Sums of products over chosen axes.
 *
 * @example
 * ```ts
 * np.tensordot(x, y, 1);              // the last axis of x with the first of y
 * np.tensordot(x, y, [[0, 2], [1, 0]]);
 * ```
 */
export function tensordot(x: ValueLike, y: ValueLike, axes: ContractAxes = 2): Value {
  const [a, b] = two("tensordot", x, y);
  if (typeof axes === "number" && axes > Math.min(a.ndim, b.ndim))
    throw userError(
      "ARGUMENT_INVALID",
      `tensordot: ${axes} axes of ${shapeText(a.shape)} and ${shapeText(b.shape)}`,
      "sum over no more axes than both have",
    );
  const [left, right] = typeof axes === "number" ? [range(axes, a.ndim - axes), range(axes)] : axes;
  if (left.length !== right.length)
    throw userError(
      "ARGUMENT_INVALID",
      `tensordot: ${left.length} axes of one side and ${right.length} of the other`,
      "name as many axes on both sides",
    );
  return contracted(
    "tensordot",
    a,
    b,
    plain(
      left.map((axis) => checkAxis("tensordot", axis, a.ndim)),
      right.map((axis) => checkAxis("tensordot", axis, b.ndim)),
    ),
  );
}

/** Every element of x times the whole of y, put together in x's place. */
export function kron(x: ValueLike, y: ValueLike): Value {
  const [a, b] = two("kron", x, y);
  const rank = Math.max(a.ndim, b.ndim);
  const dims = (value: Value) => [...range(rank - value.ndim).fill(1), ...value.shape];
  const [n, m] = [dims(a), dims(b)];
  const shape = n.flatMap((length, i) => [length, m[i] as number]);
  const one = reshape(
    a,
    n.flatMap((length) => [length, 1]),
  );
  const other = reshape(
    b,
    m.flatMap((length) => [1, length]),
  );
  return reshape(
    mul(broadcastTo(one, shape), broadcastTo(other, shape)),
    n.map((length, i) => length * (m[i] as number)),
  );
}
