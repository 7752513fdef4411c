import { didYouMean } from "../../core/index.ts";
import { type DType, dtypes, isFloat, isInteger } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Batched } from "../trace/op.ts";
import { sameDims, shapeText, type TensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { broadcastInDim } from "./shape.ts";

export type DTypeRule = "any" | "float" | "number" | "integer" | "signed" | "bits" | "bool";

const accepts: Readonly<Record<DTypeRule, (dtype: DType) => boolean>> = {
  any: () => true,
  float: isFloat,
  number: (dtype) => dtype !== "bool",
  integer: isInteger,
  signed: (dtype) => isFloat(dtype) || dtype === "i32",
  bits: (dtype) => isInteger(dtype) || dtype === "bool",
  bool: (dtype) => dtype === "bool",
};

const wanted: Readonly<Record<DTypeRule, string>> = {
  any: "anything",
  float: "floating-point values",
  number: "numbers, not booleans",
  integer: "integers",
  signed: "signed numbers",
  bits: "integers or booleans",
  bool: "booleans",
};

const remedy: Readonly<Record<DTypeRule, string>> = {
  any: "",
  float: 'convert first: x.astype("f32")',
  number: 'convert first: x.astype("f32") or x.astype("i32")',
  integer: 'convert first: x.astype("i32")',
  signed: 'convert first: x.astype("f32") or x.astype("i32")',
  bits: 'convert first: x.astype("i32") or compare to get booleans',
  bool: 'compare first: x.greater(0), or x.astype("bool")',
};

/** The element type, or an error of `op` where there is no such one. */
export function checkDTypeName(op: string, dtype: DType): DType {
  if (dtypes.includes(dtype)) return dtype;
  throw userError(
    "DTYPE_UNKNOWN",
    `${op}: there is no element type "${dtype}"${didYouMean(String(dtype), dtypes)}`,
    `use one of ${dtypes.join(", ")}`,
  );
}

/** Checks the element type of an argument. */
export function checkDType(op: string, argument: string, type: TensorType, rule: DTypeRule): void {
  if (!accepts[rule](type.dtype))
    throw userError(
      "DTYPE_MISMATCH",
      `${op}: ${argument} is ${type.text}, but ${op} takes ${wanted[rule]}`,
      remedy[rule],
    );
}

/** Checks that arguments of an elementwise op are alike in shape and element type. */
export function checkSame(op: string, types: readonly TensorType[]): void {
  const [first, ...rest] = types as [TensorType, ...TensorType[]];
  rest.forEach((type, i) => {
    if (!sameDims(first.shape, type.shape))
      throw userError(
        "SHAPE_MISMATCH",
        `${op}: argument 0 has shape ${shapeText(first.shape)} and argument ${i + 1} has shape ${shapeText(type.shape)}`,
        "broadcast, reshape or slice one of them so that the shapes agree",
      );
    if (first.dtype !== type.dtype)
      throw userError(
        "DTYPE_MISMATCH",
        `${op}: argument 0 is ${first.text} and argument ${i + 1} is ${type.text}`,
        `convert one of them: x.astype("${first.dtype}")`,
      );
  });
}

/** Checks an axis and counts negative ones from the end. */
export function checkAxis(op: string, axis: number, rank: number): number {
  const at = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || at < 0 || at >= rank)
    throw userError(
      "AXIS_OUT_OF_RANGE",
      `${op}: axis ${axis} of a value with ${rank} ${rank === 1 ? "axis" : "axes"}`,
      rank === 0 ? "a scalar has no axes: leave the axis out" : `use an axis from ${-rank} to ${rank - 1}`,
    );
  return at;
}

/** Gives a value the mapped axis in front, by repeating it where it has none. */
export function batchedValue(input: Batched, size: number): Value {
  if (input.batched) return input.value;
  const { shape } = input.value;
  return broadcastInDim(
    input.value,
    [size, ...shape],
    shape.map((_, i) => i + 1),
  );
}
