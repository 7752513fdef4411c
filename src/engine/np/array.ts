import { literalArray } from "../ops/constant.ts";
import { convert } from "../ops/convert.ts";
import { Tensor } from "../run/tensor.ts";
import type { DType } from "../trace/dtype.ts";
import { isFloat, limits } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { shapeText } from "../trace/type.ts";
import { currentTrace, Value } from "../trace/value.ts";
import type { DTypeOptions } from "./creation.ts";
import { stacked } from "./joining.ts";
import { operand, promoted } from "./operands.ts";
import type { ValueLike } from "./value.ts";

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
  const shape: number[] = [];
  for (let at: NestedValues | undefined = data; at !== undefined && isList(at); at = at[0])
    shape.push(at.length);
  const flat: (number | boolean)[] = [];
  gather(data, shape, 0, flat);
  const truths = flat.length > 0 && flat.every((x) => typeof x === "boolean");
  return literal(flat.map(Number), shape, options.dtype ?? (truths ? "bool" : "f32"));
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

function gather(
  data: NestedValues,
  shape: readonly number[],
  depth: number,
  flat: (number | boolean)[],
): void {
  if (typeof data === "number" || typeof data === "boolean") {
    if (depth !== shape.length) throw ragged(shape);
    flat.push(data);
    return;
  }
  if (!isList(data)) {
    operand("array", data, "an element");
    return;
  }
  if (data.length !== shape[depth]) throw ragged(shape);
  for (const part of data) gather(part, shape, depth + 1, flat);
}

const ragged = (shape: readonly number[]) =>
  userError(
    "SHAPE_MISMATCH",
    `array: the nested arrays are not all of shape ${shapeText(shape)}`,
    "make every row equally long",
  );

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
