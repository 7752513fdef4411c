import { literalArray } from "../ops/constant.ts";
import { mul } from "../ops/elementwise.ts";
import { reduceSum } from "../ops/reduce.ts";
import type { EngineName } from "../run/backend.ts";
import { compile } from "../run/compile.ts";
import { put, read } from "../run/put.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";

const wave = (shape: Shape, f: (i: number) => number) =>
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => f(i));

/** The sum of f(i) times element i. */
export const project = (v: Value, f: (i: number) => number): Value =>
  reduceSum(
    mul(v, literalArray([...wave(v.shape, f)], v.dtype, v.shape)),
    v.shape.map((_, i) => i),
  );

/**
 * The shape of the result, and sums over cos(0.7 i) of the result and of its gradients by every argument for the loss
 * sum(cos(i) y), where element i of an argument is sin(its frequency * i + 0.5).
 */
export async function fingerprint(
  engine: EngineName,
  fn: (...args: Value[]) => Value,
  ...args: readonly (readonly [shape: Shape, frequency: number])[]
): Promise<{ readonly shape: Shape; readonly prints: readonly number[] }> {
  const run = compile(
    (...given: Value[]) => {
      const slopes = grad((...values: Value[]) => project(fn(...values), Math.cos), {
        argnums: args.map((_, i) => i),
      })(...given) as readonly Value[];
      const y = fn(...given);
      return { y, prints: [y, ...slopes].map((v) => project(v, (i) => Math.cos(i * 0.7))) };
    },
    { engine },
  );
  const { y, prints } = run(
    ...args.map(([shape, frequency]) =>
      put(
        wave(shape, (i) => Math.sin(frequency * i + 0.5)),
        { shape, engine },
      ),
    ),
  );
  return { shape: y.shape, prints: (await read(prints)).map((print) => print[0] as number) };
}
