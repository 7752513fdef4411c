import type { EngineName, Value } from "../engine/index.ts";
import { compile, put, read } from "../engine/index.ts";
import type { Dense } from "./dense.ts";

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
