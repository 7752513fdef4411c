import { literalArray, splat } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { add, less, min, select } from "../ops/elementwise.ts";
import { broadcastTo } from "../ops/shape.ts";
import { dtypeOf, type HostArray, isHostArray } from "../run/host.ts";
import { Tensor } from "../run/tensor.ts";
import { type DType, isFloat, isInteger, limits, promote } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import { currentTrace, placeholder, Value } from "../trace/value.ts";

/** Operands of `np`: traced values, tensors from outside (used as they are now), numbers, booleans. */
export type ValueLike = Value | Tensor | number | boolean | HostArray;

/**
 * An argument as a traced value. A plain number takes `like`'s element type where one is given and can hold it.
 * `what` names the argument in errors: `add: argument 1`.
 */
export function asValue(x: unknown, like?: DType, what?: string): Value {
  if (x instanceof Value) return x;
  if (typeof x === "number") return splat(x, like ?? "f32");
  if (typeof x === "boolean") return splat(x ? 1 : 0, "bool");
  const trace = currentTrace(what?.replace(/:.*/, "") ?? "np");
  if (x instanceof Tensor) {
    const known = trace.captured.get(x);
    if (known) return known;
    const value = placeholder(x.type, trace.root);
    trace.captured.set(x, value);
    return value;
  }
  if (isHostArray(x)) return literalArray([...x], dtypeOf(x, trace.lacks), [x.length]);
  throw userError(
    "ARGUMENT_INVALID",
    `${what ? `${what} is ${describe(x)}, which` : describe(x)} is not a value to compute with`,
    "pass traced values, tensors, numbers or booleans; turn nested arrays into values with np.array(...)",
  );
}

function describe(x: unknown): string {
  if (Array.isArray(x)) return "an array";
  if (typeof x === "object" && x !== null) return `a ${x.constructor?.name ?? "plain object"}`;
  return `${String(x)} (${typeof x})`;
}

/** The element type a function computes in, from the one its arguments promote to. */
export type Choose = (dtype: DType) => DType;

/** Integers and booleans count as f32: for functions whose results are not whole. */
export const toFloat: Choose = (dtype) => (isFloat(dtype) ? dtype : "f32");
/** Booleans count as i32: for arithmetic. */
export const toNumber: Choose = (dtype) => (dtype === "bool" ? "i32" : dtype);
/** Sums of 16-bit floats are kept in f32, which has room for their digits. */
export const toWide: Choose = (dtype) => (dtype === "f16" || dtype === "bf16" ? "f32" : dtype);

/** The element type a plain number needs beside values of `dtype`: theirs, unless it is fractional and they are not. */
export function besideNumber(dtype: DType, x: number): DType {
  if (isFloat(dtype)) return dtype;
  if (!Number.isInteger(x)) return "f32";
  return dtype === "bool" ? "i32" : dtype;
}

/** An error of `op` where the element type cannot hold the number. */
export function checkFits(op: string, x: number, dtype: DType): void {
  if (!isFloat(dtype) && dtype !== "bool" && !(x >= limits(dtype).min && x <= limits(dtype).max))
    throw userError(
      "NUMBER_OUT_OF_RANGE",
      `${op}: ${x} does not fit ${dtype}, which goes from ${limits(dtype).min} to ${limits(dtype).max}`,
      'convert the other side first: x.astype("i32") or x.astype("f32")',
    );
}

/** A plain number of an element type, repeated into a shape. */
export function numberAs(op: string, x: number, dtype: DType, shape: Shape = []): Value {
  checkFits(op, x, dtype);
  if (dtype === "bool") return splat(x === 0 ? 0 : 1, dtype, shape);
  return splat(isFloat(dtype) ? x : Math.trunc(x), dtype, shape);
}

/** One argument as a value, with the function's name in errors. */
export function operand(op: string, x: ValueLike, argument = "the argument"): Value {
  currentTrace(op);
  return asValue(x, undefined, `${op}: ${argument}`);
}

/** One argument as floating point. */
export function floating(op: string, x: ValueLike): Value {
  const value = operand(op, x);
  return convert(value, toFloat(value.dtype));
}

/** Several arguments as values of one element type, not broadcast. Numbers become scalars. */
export function promoted(op: string, xs: readonly ValueLike[], choose?: Choose): Value[] {
  const [dtype, given] = promotion(op, xs, choose);
  return given.map((x) => (typeof x === "number" ? numberAs(op, x, dtype) : convert(x, dtype)));
}

function promotion(
  op: string,
  xs: readonly ValueLike[],
  choose: Choose = (dtype) => dtype,
): readonly [DType, readonly (Value | number)[]] {
  currentTrace(op);
  let dtype: DType | undefined;
  const given = xs.map((x, i) => {
    if (typeof x === "number") return x;
    const value = asValue(x, undefined, `${op}: argument ${i}`);
    dtype = dtype === undefined ? value.dtype : promote(dtype, value.dtype);
    return value;
  });
  let common: DType = dtype ?? "f32";
  for (const x of given) if (typeof x === "number") common = besideNumber(common, x);
  return [choose(common), given];
}

/**
 * The arguments of an elementwise function as values of one element type and one shape: JAX's promotion, NumPy's
 * broadcasting, with `besides` as one more shape to broadcast to.
 */
export function operands(
  op: string,
  xs: readonly ValueLike[],
  choose?: Choose,
  besides: Shape = [],
): Value[] {
  const [dtype, given] = promotion(op, xs, choose);
  let shape = besides;
  for (const x of given) if (typeof x !== "number") shape = broadcastShapes(op, shape, x.shape);
  return given.map((x) =>
    typeof x === "number" ? numberAs(op, x, dtype, shape) : broadcastTo(convert(x, dtype), shape),
  );
}

/** {@link operands} for functions of two arguments. */
export function pair(op: string, x: ValueLike, y: ValueLike, choose?: Choose): readonly [Value, Value] {
  return operands(op, [x, y], choose) as [Value, Value];
}

/** A constant of the same type and shape. */
export const filled = (like: Value, number: number): Value => splat(number, like.dtype, like.shape);

/** Computes 16-bit floats in f32, for formulas that would lose their digits. */
export function wide(x: Value, f: (x: Value) => Value): Value {
  const dtype = toWide(x.dtype);
  return dtype === x.dtype ? f(x) : convert(f(convert(x, dtype)), x.dtype);
}

/** The shape two shapes are repeated to, counted from the last axis; an error of `op` where there is none. */
export function broadcastShapes(op: string, a: Shape, b: Shape): Shape {
  if (a === b || b.length === 0) return a;
  if (a.length === 0) return b;
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  const offset = long.length - short.length;
  return long.map((n, axis) => {
    const m = axis < offset ? 1 : (short[axis - offset] as number);
    if (n === m || m === 1) return n;
    if (n === 1) return m;
    const [inA, inB] = long === a ? [n, m] : [m, n];
    throw userError(
      "SHAPE_MISMATCH",
      `${op}: shapes ${shapeText(a)} and ${shapeText(b)} do not broadcast: axis ${axis} has length ${inA} in one and ${inB} in the other`,
      "axes must be equally long or 1, counted from the last: reshape, slice or np.expandDims one of them",
    );
  });
}

/** Integers as i32; those of u32 that it cannot hold as the largest that it can. */
export const toI32 = (x: Value): Value =>
  convert(x.dtype === "u32" ? min(x, filled(x, limits("i32").max)) : x, "i32");

/** Indices as i32, negative ones counted from the end of an axis of length n. */
export function wrapped(op: string, index: ValueLike, n: number): Value {
  if (typeof index === "number") return splat(index < 0 ? index + n : index, "i32");
  const value = operand(op, index, "the index");
  if (!isInteger(value.dtype))
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: the index is ${value.type.text}, but indices are integers`,
      value.dtype === "bool"
        ? "the number of true elements is not known while tracing: use np.where(mask, x, y)"
        : 'convert first: index.astype("i32")',
    );
  const at = toI32(value);
  if (value.dtype !== "i32") return at;
  return select(less(at, filled(at, 0)), add(at, filled(at, n)), at);
}
