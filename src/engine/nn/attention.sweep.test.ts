import { describe, expect, it } from "vitest";
import { describeInSample } from "../../sweep.test-support.ts";
import { literalArray, splat } from "../ops/constant.ts";
import { compile } from "../run/compile.ts";
import { sweepEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { type AttentionOptions, dotProductAttention } from "./attention.ts";
import { fingerprint, project } from "./fingerprint.test-support.ts";

const bools = (shape: Shape, f: (i: number) => boolean) =>
  literalArray(
    Array.from({ length: sizeOf(shape) }, (_, i) => Number(f(i))),
    "bool",
    shape,
  );

/** From jax 0.10.2: jax.nn.dot_product_attention. */
const cases: readonly {
  readonly name: string;
  readonly q: Shape;
  readonly k: Shape;
  readonly options: () => AttentionOptions;
  readonly prints: readonly number[];
}[] = [
  {
    name: "plain",
    q: [2, 3, 2, 4],
    k: [2, 5, 2, 4],
    options: () => ({}),
    prints: [-6.67076, 0.0346894, -0.982165, 1.62725],
  },
  {
    name: "causal with a scale",
    q: [2, 4, 2, 3],
    k: [2, 4, 2, 3],
    options: () => ({ causal: true, scale: 0.7 }),
    prints: [10.1718, 0.624973, -1.03045, 0.398756],
  },
  {
    name: "grouped queries with a bias",
    q: [2, 3, 4, 2],
    k: [2, 5, 2, 2],
    options: () => ({
      bias: literalArray(
        Array.from({ length: 60 }, (_, i) => Math.sin(i * 0.9 + 0.5)),
        "f32",
        [1, 4, 3, 5],
      ),
    }),
    prints: [0.00864192, -1.03119, -0.835848, -1.37426],
  },
  {
    name: "a mask",
    q: [2, 3, 2, 4],
    k: [2, 5, 2, 4],
    options: () => ({ mask: bools([2, 1, 3, 5], (i) => i % 3 !== 1) }),
    prints: [-5.85295, -1.21875, -2.78003, 0.953784],
  },
  {
    name: "a mask and causal",
    q: [2, 3, 2, 4],
    k: [2, 3, 2, 4],
    options: () => ({ causal: true, mask: bools([3, 3], (i) => i % 4 !== 2) }),
    prints: [16.3351, -0.336349, 0.0106912, 0.409979],
  },
];

describe.each(sweepEngines())("attention on %s", (engine) => {
  it.each(cases)("gives JAX's numbers and gradients: $name", async ({ q, k, options, prints }) => {
    const result = await fingerprint(
      engine,
      (...[a, b, c]) => dotProductAttention(a as Value, b as Value, c as Value, options()),
      [q, 0.3],
      [k, 0.5],
      [k, 0.7],
    );
    expect(result.shape).toEqual(q);
    result.prints.forEach((print, i) => {
      expect(print).toBeCloseTo(prints[i] as number, 3);
    });
  });

  it("gives a query that may see nothing zeros, and no gradient", async () => {
    const run = compile(
      (q: Value) => {
        const kv = splat(2, "f32", [1, 2, 1, 1]);
        const attend = (v: Value) => dotProductAttention(v, kv, kv, { mask: bools([2, 2], (i) => i > 1) });
        return [attend(q), grad((v: Value) => project(attend(v), () => 1))(q)];
      },
      { engine },
    );
    const [y, slope] = await read(run(put([[[[1]], [[1]]]], { engine })));
    expect([...(y ?? [])]).toEqual([0, 2]);
    expect([...(slope ?? [])]).toEqual([0, 0]);
  });
});

describeInSample("errors of attention", () => {
  it("names the shapes that do not fit", () => {
    const attempt = (q: Shape, k: Shape, v: Shape = k, options: object = {}) =>
      compile(
        () => dotProductAttention(splat(0, "f32", q), splat(0, "f32", k), splat(0, "f32", v), options),
        { engine: "wasm" },
      )();
    expect(() => attempt([3, 2, 4], [5, 2, 4])).toThrow(/\[batch, length, heads, dim\]/);
    expect(() => attempt([1, 3, 2, 4], [1, 5, 2, 3])).toThrow(
      /differ in dim: queries \[1, 3, 2, 4\], keys \[1, 5, 2, 3\]/,
    );
    expect(() => attempt([1, 3, 3, 4], [1, 5, 2, 4])).toThrow(/multiple of the keys' heads/);
    expect(() => attempt([1, 3, 2, 4], [1, 5, 2, 4], [1, 4, 2, 4])).toThrow(/keys and values differ/);
    expect(() => attempt([1, 3, 2, 4], [1, 5, 2, 4], undefined, { isCausal: true })).toThrow(
      /no option "isCausal"/,
    );
    expect(() => attempt([1, 3, 2, 4], [1, 5, 2, 4], undefined, { bias: Float32Array.of(1, 2) })).toThrow(
      /bias has shape \[2\], which does not repeat to \[1, 2, 3, 5\]/,
    );
    expect(() => attempt([1, 3, 2, 4], [1, 5, 2, 4], undefined, { mask: Float32Array.of(1, 0) })).toThrow(
      /takes booleans/,
    );
  });
});
