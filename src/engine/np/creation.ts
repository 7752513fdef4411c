import { iota as counted, literalArray, splat } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import * as ops from "../ops/elementwise.ts";
import { checkAxis, checkDTypeName } from "../ops/rules.ts";
import { broadcastInDim, broadcastTo, reshape } from "../ops/shape.ts";
import { flattenNested } from "../run/host.ts";
import { Tensor } from "../run/tensor.ts";
import { type DType, isFloat, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { currentTrace, Value } from "../trace/value.ts";
import { type ShapeLike, shapeOf } from "./arguments.ts";
import { stacked } from "./joining.ts";
import { numberAs, operand, promoted, type ValueLike } from "./operands.ts";

/** The circle's circumference over its diameter. */
export const pi = Math.PI;
/** The base of natural logarithms. */
export const e = Math.E;
/** Infinity. */
export const inf = Number.POSITIVE_INFINITY;
/** Not a number. */
export const nan = Number.NaN;
/** A new axis, in indices: `np.slice(x, np.newaxis)`. */
export const newaxis = null;

/** Options of functions that make values. */
export interface DTypeOptions {
  readonly dtype?: DType | undefined;
}

/**
 * Zeros. Default dtype: f32.
 *
 * @example
 * ```ts
 * np.zeros([2, 3]);
 * ```
 */
export const zeros = (shape: ShapeLike, { dtype = "f32" }: DTypeOptions = {}): Value =>
  splat(0, checkDTypeName("zeros", dtype), shapeOf("zeros", shape));

/** Ones. Default dtype: f32. */
export const ones = (shape: ShapeLike, { dtype = "f32" }: DTypeOptions = {}): Value =>
  splat(1, checkDTypeName("ones", dtype), shapeOf("ones", shape));

/** One number, or one value broadcast, over a whole shape. */
export function full(shape: ShapeLike, fill: ValueLike, options: DTypeOptions = {}): Value {
  const dims = shapeOf("full", shape);
  if (typeof fill === "number")
    return numberAs("full", fill, checkDTypeName("full", options.dtype ?? "f32"), dims);
  const value = operand("full", fill, "the value");
  return broadcastTo(convert(value, options.dtype ?? value.dtype), dims);
}

/** Zeros of another value's shape and element type. */
export const zerosLike = (x: ValueLike, options: DTypeOptions = {}): Value =>
  like("zerosLike", x, 0, options);

/** Ones of another value's shape and element type. */
export const onesLike = (x: ValueLike, options: DTypeOptions = {}): Value => like("onesLike", x, 1, options);

/** One number over another value's shape. */
export const fullLike = (x: ValueLike, fill: number, options: DTypeOptions = {}): Value =>
  like("fullLike", x, fill, options);

function like(op: string, x: ValueLike, fill: number, options: DTypeOptions): Value {
  const value = operand(op, x);
  return numberAs(op, fill, checkDTypeName(op, options.dtype ?? value.dtype), value.shape);
}

/**
 * Numbers from start (default: 0) up to but without stop. i32 where all are whole, else f32.
 *
 * @example
 * ```ts
 * np.arange(4);                      // 0, 1, 2, 3
 * np.arange(1, 2, 0.25);             // 1, 1.25, 1.5, 1.75
 * np.arange(4, { dtype: "f32" });
 * ```
 */
export function arange(stop: number, options?: DTypeOptions): Value;
export function arange(start: number, stop: number, options?: DTypeOptions): Value;
export function arange(start: number, stop: number, step: number, options?: DTypeOptions): Value;
export function arange(...args: readonly (number | DTypeOptions | undefined)[]): Value {
  currentTrace("arange");
  const numbers = args.filter((arg) => typeof arg === "number");
  const { dtype } = (args.find((arg) => typeof arg === "object") ?? {}) as DTypeOptions;
  const [start, stop, step = 1] = (numbers.length === 1 ? [0, ...numbers] : numbers) as [
    number,
    number,
    number?,
  ];
  if (!numbers.every(Number.isFinite) || step === 0)
    throw userError(
      "ARGUMENT_INVALID",
      `arange: from ${start} to ${stop} by ${step}`,
      "give finite numbers and a step other than 0",
    );
  const n = Math.max(0, Math.ceil((stop - start) / step));
  const type =
    (dtype && checkDTypeName("arange", dtype)) ?? (numbers.every(Number.isInteger) ? "i32" : "f32");
  if (start === 0 && step === 1) return counted(type, [n]);
  if (Number.isInteger(start) && Number.isInteger(step) && type === "i32")
    return ops.add(splat(start, type, [n]), ops.mul(splat(step, type, [n]), counted(type, [n])));
  // Rounded once from JavaScript's doubles, so that no step's error adds up.
  return literalArray(
    Array.from({ length: n }, (_, i) => start + i * step),
    type,
    [n],
  );
}

/** Options of {@link linspace}. */
export interface LinspaceOptions extends DTypeOptions {
  /** Includes stop as the last number. Default: true. */
  readonly endpoint?: boolean | undefined;
}

/** Evenly spaced numbers from start to stop. */
export function linspace(start: number, stop: number, num = 50, options: LinspaceOptions = {}): Value {
  if (typeof num !== "number")
    throw userError(
      "ARGUMENT_INVALID",
      `linspace: how many numbers is asked third, and this is a ${typeof num}`,
      "write np.linspace(0, 1, 11, { endpoint: false })",
    );
  const [n] = shapeOf("linspace", num) as [number];
  const { endpoint = true, dtype = "f32" } = options;
  checkDTypeName("linspace", dtype);
  const parts = endpoint ? n - 1 : n;
  const at = (i: number) =>
    endpoint && i === n - 1 && n > 1 ? stop : start + (i * (stop - start)) / Math.max(parts, 1);
  return literalArray(
    Array.from({ length: n }, (_, i) => at(i)),
    dtype,
    [n],
  );
}

/** Options of {@link iota}. */
export interface IotaOptions extends DTypeOptions {
  readonly axis?: number | undefined;
}

/**
 * Each element's place along an axis (default: the first) of a shape. Default dtype: i32.
 *
 * @example
 * ```ts
 * np.iota([2, 3], { axis: 1 }); // [[0, 1, 2], [0, 1, 2]]
 * ```
 */
export function iota(shape: ShapeLike, { axis = 0, dtype = "i32" }: IotaOptions = {}): Value {
  checkDTypeName("iota", dtype);
  const dims = shapeOf("iota", shape);
  return convert(counted(isFloat(dtype) ? dtype : "i32", dims, checkAxis("iota", axis, dims.length)), dtype);
}

/** Options of {@link meshgrid}. */
export interface MeshgridOptions {
  /** "xy" (the default): the first value runs along the second axis, as in a picture. "ij": along the first. */
  readonly indexing?: "xy" | "ij" | undefined;
}

/** The coordinates of a grid from those of its axes: one value of the grid's shape for each. */
export function meshgrid<const T extends readonly ValueLike[]>(
  xs: T,
  { indexing = "xy" }: MeshgridOptions = {},
): { -readonly [K in keyof T]: Value } {
  const values = xs.map((x, i) => operand("meshgrid", x, `axis ${i}`));
  const place = (i: number) => (indexing === "xy" && i < 2 && values.length > 1 ? 1 - i : i);
  const lengths = values.map((value) => value.size);
  const shape = lengths.map((_, i) => lengths[place(i)] as number);
  return values.map((value, i) => broadcastInDim(reshape(value, [value.size]), shape, [place(i)])) as {
    -readonly [K in keyof T]: Value;
  };
}

/** Numbers, booleans and values, in arrays as deep as there are axes. */
export type NestedValues = ValueLike | readonly NestedValues[];

/**
 * Nested arrays as one value: by default f32 for numbers and bool for booleans. Traced values among them are stacked.
 *
 * @example
 * ```ts
 * np.array([[1, 2], [3, 4]]);                // f32[2,2]
 * np.array([1, 2], { dtype: "i32" });
 * np.array([x, np.multiply(x, 2)]);          // np.stack
 * ```
 */
export function array(data: NestedValues, options: DTypeOptions = {}): Value {
  currentTrace("array");
  if (!isList(data)) {
    if (typeof data === "number") return literal([data], [], options.dtype ?? "f32");
    const value = operand("array", data);
    return convert(value, options.dtype ?? value.dtype);
  }
  if (holdsValues(data)) {
    const value = stackedParts(data);
    return convert(value, options.dtype ?? value.dtype);
  }
  const { flat, shape, dtype } = flattenNested("array", data, (part) =>
    operand("array", part as ValueLike, "an element"),
  );
  return literal(flat, shape, options.dtype ?? dtype);
}

const isList = (data: NestedValues): data is readonly NestedValues[] => Array.isArray(data);

const holdsValues = (data: NestedValues): boolean =>
  isList(data)
    ? data.some(holdsValues)
    : data instanceof Value || data instanceof Tensor || ArrayBuffer.isView(data);

function stackedParts(data: readonly NestedValues[]): Value {
  const parts = data.map((part) => (isList(part) ? array(part) : part));
  return stacked("array", promoted("array", parts), 0);
}

function literal(flat: readonly number[], shape: readonly number[], dtype: DType): Value {
  const { min, max } = limits(dtype);
  const wrong = isFloat(dtype) || dtype === "bool" ? undefined : flat.find((x) => !(x >= min && x <= max));
  if (wrong !== undefined)
    throw userError(
      "NUMBER_OUT_OF_RANGE",
      `array: ${wrong} does not fit ${dtype}, which goes from ${min} to ${max}`,
      "give another dtype",
    );
  return literalArray(
    isFloat(dtype) ? flat : flat.map((x) => (dtype === "bool" ? Number(x !== 0) : Math.trunc(x))),
    dtype,
    shape,
  );
}
