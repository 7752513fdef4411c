import type { EngineName } from "../run/backend.ts";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import type { Tensor } from "../run/tensor.ts";
import { type DType, isFloat } from "../trace/dtype.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { vmap } from "../transform/vmap.ts";
import { literalArray } from "./constant.ts";
import { mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import { concatenate, reshape } from "./shape.ts";
import { slice } from "./slice.ts";

/** An argument of a test: numbers with shape and element type. */
export interface Given {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: readonly number[];
}
export const given = (dtype: DType, shape: Shape, data: readonly number[]): Given => ({ dtype, shape, data });

/** Numbers without ties or pattern, from -2 to 2. */
export const wave = (shape: Shape, phase = 0): Given =>
  given(
    "f32",
    shape,
    Array.from({ length: sizeOf(shape) }, (_, i) => Math.fround(2 * Math.sin(1.7 * i + phase + 0.3))),
  );

const tensor = (engine: EngineName, { dtype, shape, data }: Given): Tensor =>
  put(data, { dtype, shape, engine });

type Several = Value | readonly Value[];

/** Runs on an engine and gives the numbers of all results. */
export function results(engine: EngineName, fn: (...args: Value[]) => Several, ...args: Given[]): number[][] {
  const outputs = compile((...values: Value[]) => [fn(...values)].flat(), { engine })(
    ...args.map((arg) => tensor(engine, arg)),
  );
  return outputs.map((output) => [...output.readSync()]);
}

/** The numbers of the only result. */
export const result = (engine: EngineName, fn: (...args: Value[]) => Value, ...args: Given[]): number[] =>
  results(engine, fn, ...args)[0] as number[];

/** Results of `fn` mapped over the leading axis of the arguments that `mapped` names, and of a loop over it. */
export function mappedAndLooped(
  engine: EngineName,
  fn: (...args: Value[]) => Several,
  mapped: readonly boolean[],
  ...args: Given[]
): { readonly mapped: number[][]; readonly looped: number[][] } {
  const size = args[mapped.indexOf(true)]?.shape[0] as number;
  const many = (...values: Value[]) => [fn(...values)].flat();
  const loop = (...values: Value[]) => {
    const rounds = Array.from({ length: size }, (_, k) =>
      many(...values.map((value, i) => (mapped[i] ? example(value, k) : value))),
    );
    return (rounds[0] as Value[]).map((_, r) =>
      concatenate(
        rounds.map((round) => inFront(round[r] as Value)),
        0,
      ),
    );
  };
  const inAxes = mapped.map((yes) => (yes ? 0 : null));
  return {
    mapped: results(engine, (...values) => vmap(many, { inAxes })(...values), ...args),
    looped: results(engine, loop, ...args),
  };
}

const inFront = (x: Value): Value => reshape(x, [1, ...x.shape]);
const example = (x: Value, k: number): Value => {
  const rest = x.shape.slice(1);
  return reshape(slice(x, [k, ...rest.map(() => 0)], [k + 1, ...rest]), rest);
};

/** Gradients by the rules and by differences of a weighted sum of the result, by each floating-point argument. */
export function gradients(
  engine: EngineName,
  fn: (...args: Value[]) => Value,
  step: number,
  ...args: Given[]
): { readonly byRule: number[][]; readonly byDifference: number[][] } {
  const loss = (...values: Value[]): Value => {
    const y = fn(...values);
    const weights = literalArray(wave(y.shape, 1).data, y.dtype, y.shape);
    return reduceSum(
      mul(y, weights),
      y.shape.map((_, d) => d),
    );
  };
  const floats = args.map((_, i) => i).filter((i) => isFloat((args[i] as Given).dtype));
  const byRule = results(
    engine,
    (...values) => grad(loss, { argnums: floats })(...values) as Value[],
    ...args,
  );
  const compiled = compile(loss, { engine });
  const tensors = args.map((arg) => tensor(engine, arg));
  const at = (position: number, element: number, by: number): number => {
    const arg = args[position] as Given;
    const moved = { ...arg, data: arg.data.map((x, i) => (i === element ? x + by : x)) };
    return compiled(
      ...tensors.map((t, i) => (i === position ? tensor(engine, moved) : t)),
    ).readSync()[0] as number;
  };
  const byDifference = floats.map((i) =>
    (args[i] as Given).data.map((_, k) => (at(i, k, step) - at(i, k, -step)) / (2 * step)),
  );
  return { byRule, byDifference };
}

/** The largest distance between two lists of results; infinite where they are not of one size. */
export function distance(a: readonly number[][], b: readonly number[][]): number {
  const sizes = (rows: readonly number[][]) => rows.map((row) => row.length).join();
  if (sizes(a) !== sizes(b)) return Number.POSITIVE_INFINITY;
  const [flat, other] = [a.flat(), b.flat()];
  return Math.max(0, ...flat.map((x, i) => Math.abs(x - (other[i] as number))));
}
