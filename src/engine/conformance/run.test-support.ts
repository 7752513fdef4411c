import {
  compile,
  type DType,
  type EngineName,
  emit,
  opTable,
  put,
  read,
  type Shape,
  type Value,
} from "../index.ts";
import type { Dense } from "./dense.test-support.ts";

export const putDense = (x: Dense, engine: EngineName) =>
  put(Float64Array.from(x.data), { shape: x.shape, dtype: x.dtype, engine });

/** A function of traced values, compiled once for an engine, over arrays of plain JavaScript. */
export function onEngine(
  engine: EngineName,
  fn: (inputs: readonly Value[]) => readonly Value[],
): (inputs: readonly Dense[]) => Promise<readonly Dense[]> {
  const compiled = compile((inputs: readonly Value[]) => fn(inputs), { engine, name: "conformance" });
  return async (inputs) => {
    const given = inputs.map((input) => putDense(input, engine));
    const tensors = compiled(given);
    const arrays = await read(tensors);
    const results = tensors.map(({ dtype, shape }, i) => ({
      dtype,
      shape,
      data: [...(arrays[i] as Float32Array)],
    }));
    for (const tensor of [...given, ...tensors]) tensor.dispose();
    return results;
  };
}

/** Applies a row of the op table. */
export function applyRow(name: string, inputs: readonly Value[], params: unknown = {}): readonly Value[] {
  const row = opTable.get(name);
  if (!row) throw new Error(`there is no row "${name}" in the op table`);
  return emit(row, inputs, params);
}

const first = (name: string, inputs: readonly Value[], params?: unknown): Value =>
  applyRow(name, inputs, params)[0] as Value;

export const add = (x: Value, y: Value): Value => first("add", [x, y]);
export const mul = (x: Value, y: Value): Value => first("mul", [x, y]);
export const sin = (x: Value): Value => first("sin", [x]);
export const tanh = (x: Value): Value => first("tanh", [x]);
export const less = (x: Value, y: Value): Value => first("compare", [x, y], { direction: "LT" });
export const greater = (x: Value, y: Value): Value => first("compare", [x, y], { direction: "GT" });
export const convert = (x: Value, dtype: DType): Value => first("convert", [x], { dtype });
export const constant = (data: number | readonly number[], dtype: DType, shape: Shape = []): Value =>
  first("constant", [], { dtype, shape, data });
/** A number like another value. */
export const like = (x: Value, data: number): Value => constant(data, x.dtype, x.shape);
/** The sum of all elements. */
export const total = (x: Value): Value =>
  x.ndim === 0 ? x : first("reduceSum", [x], { axes: x.shape.map((_, d) => d) });
/** One row of a table by a run-time index. */
export const rowOf = (table: Value, index: Value): Value => {
  const starts = table.shape.map((_, d) => (d === 0 ? index : constant(0, "i32")));
  const part = first("dynamicSlice", [table, ...starts], { sizes: [1, ...table.shape.slice(1)] });
  return first("reshape", [part], { shape: table.shape.slice(1) });
};
/** The product of a matrix and a vector. */
export const apply = (matrix: Value, vector: Value): Value =>
  first("dotGeneral", [matrix, vector], { lhsContract: [1], rhsContract: [0], lhsBatch: [], rhsBatch: [] });
