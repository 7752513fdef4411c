import { describe, expect, it } from "vitest";
import { describeInSample } from "../../sweep.test-support.ts";
import { compile } from "../run/compile.ts";
import { sweepEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import { isLacking, opTable, several } from "../trace/op.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { literalArray, splat, zerosLike } from "./constant.ts";
import { isFiniteValue, mul, select } from "./elementwise.ts";
import { type PoolParams, pool } from "./pool.ts";
import { reduceSum } from "./reduce.ts";

const wave = (shape: Shape, f: (i: number) => number) =>
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => f(i));
const project = (v: Value, f: (i: number) => number) =>
  reduceSum(
    mul(v, literalArray([...wave(v.shape, f)], "f32", v.shape)),
    v.shape.map((_, i) => i),
  );

/**
 * From jax 0.10.2, lax.reduce_window in f32: with x = sin(1.7 i + 0.5) and the loss sum(cos(i) y^3), where a maximum of
 * padding alone counts as 0, the sums over cos(0.7 i) of the result, of the gradient, and of the derivative of the
 * gradient along sin(i) (for maxima by finite differences in f64).
 */
const cases: readonly (Omit<PoolParams, "kind"> & {
  readonly name: string;
  readonly x: Shape;
  readonly shape: Shape;
  readonly max: readonly number[];
  readonly sum: readonly number[];
})[] = [
  {
    name: "2 by 2, stride 2",
    x: [2, 4, 6, 3],
    window: [1, 2, 2, 1],
    strides: [1, 2, 2, 1],
    padding: [
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ],
    shape: [2, 2, 3, 3],
    max: [0.0850547, 4.766, 0.444399],
    sum: [-0.130552, 2.05615, -8.0574],
  },
  {
    name: "3 by 2, stride 2 by 1, uneven padding",
    x: [2, 5, 6, 2],
    window: [1, 3, 2, 1],
    strides: [1, 2, 1, 1],
    padding: [
      [0, 0],
      [1, 2],
      [1, 0],
      [0, 0],
    ],
    shape: [2, 3, 6, 2],
    max: [0.654112, -25.9273, -4.11046],
    sum: [3.41716, 3.98459, 9.15542],
  },
  {
    name: "a stride larger than the window",
    x: [1, 11, 2],
    window: [1, 2, 1],
    strides: [1, 4, 1],
    padding: [
      [0, 0],
      [1, 0],
      [0, 0],
    ],
    shape: [1, 3, 2],
    max: [0.0880569, 0.155118, -0.279575],
    sum: [1.5513, 1.32588, 3.23444],
  },
  {
    name: "3-d, channels first",
    x: [1, 2, 4, 5, 4],
    window: [1, 1, 2, 3, 2],
    strides: [1, 1, 1, 2, 2],
    padding: [
      [0, 0],
      [0, 0],
      [1, 1],
      [0, 1],
      [0, 0],
    ],
    shape: [1, 2, 5, 2, 2],
    max: [-0.00246084, 12.1893, 3.70037],
    sum: [2.14826, 48.6088, 81.727],
  },
  {
    name: "a window too long for slices",
    x: [1, 40, 2],
    window: [1, 18, 1],
    strides: [1, 5, 1],
    padding: [
      [0, 0],
      [3, 2],
      [0, 0],
    ],
    shape: [1, 6, 2],
    max: [1.93273, 0.327356, 2.58035],
    sum: [0.04018, 0.278977, -1.31325],
  },
  {
    name: "padding longer than the window",
    x: [1, 4, 1],
    window: [1, 2, 1],
    strides: [1, 1, 1],
    padding: [
      [0, 0],
      [3, 0],
      [0, 0],
    ],
    shape: [1, 6, 1],
    max: [-0.497309, -2.92337, -5.05498],
    sum: [0.552747, -9.50386, -11.3463],
  },
];

describe.each(sweepEngines())("pool on %s", (engine) => {
  it.each(
    cases.flatMap((c) => [
      { ...c, kind: "max" as const },
      { ...c, kind: "sum" as const },
    ]),
  )(
    "gives JAX's $kind, gradient and second derivative: $name",
    async ({ kind, window, strides, padding, ...c }) => {
      const pooled = (x: Value) => {
        const y = pool(x, { kind, window, strides, padding });
        return select(isFiniteValue(y), y, zerosLike(y));
      };
      const slope = grad((x: Value) => {
        const y = pooled(x);
        return project(mul(y, mul(y, y)), Math.cos);
      });
      const bend = grad((x: Value) => project(slope(x), Math.sin));
      const run = compile(
        (x: Value) => {
          const y = pooled(x);
          return { y, prints: [y, slope(x), bend(x)].map((v) => project(v, (i) => Math.cos(i * 0.7))) };
        },
        { engine },
      );
      const { y, prints } = run(
        put(
          wave(c.x, (i) => Math.sin(i * 1.7 + 0.5)),
          { shape: c.x, engine },
        ),
      );
      expect(y.shape).toEqual(c.shape);
      (await read(prints)).forEach((print, i) => {
        expect(print[0]).toBeCloseTo(c[kind][i] as number, 3);
      });
    },
  );

  const square = [1, 3, 3, 1, 3, 0, 0, 2, 5, 5, 2, 2, 5, 5, 2, 2];
  it.each([
    // torch.nn.functional.max_pool2d with loss sum((1 + i) y)
    { window: 2, stride: 2, border: 0, torch: [0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0] },
    { window: 3, stride: 1, border: 1, torch: [0, 6, 12, 0, 0, 0, 0, 12, 57, 33, 16, 0, 0, 0, 0, 0] },
  ])("gives the first of equal maxima the gradient, as torch: window $window", async (c) => {
    const params: PoolParams = {
      kind: "max",
      window: [c.window, c.window],
      strides: [c.stride, c.stride],
      padding: [
        [c.border, c.border],
        [c.border, c.border],
      ],
    };
    const slope = compile((x: Value) => grad((v: Value) => project(pool(v, params), (i) => i + 1))(x), {
      engine,
    });
    expect([...(await slope(put(square, { engine, shape: [4, 4] })).read())]).toEqual(c.torch);
  });

  const last = (kind: "max" | "sum", window: number, stride = 1): PoolParams => ({
    kind,
    window: [window],
    strides: [stride],
    padding: [[1, 0]],
  });

  it("passes on NaN", async () => {
    const run = compile((x: Value) => pool(x, last("max", 2)), { engine });
    expect([...(await run(put([1, Number.NaN, 2, 3], { engine })).read())]).toEqual([
      1,
      Number.NaN,
      Number.NaN,
      3,
    ]);
  });

  it("pools integers, whose padding is the smallest there is", async () => {
    const run = compile(
      (x: Value, bytes: Value) => [
        pool(x, last("max", 2)),
        pool(x, last("sum", 2, 2)),
        pool(bytes, last("sum", 2)),
      ],
      { engine },
    );
    const results = await read(
      run(put(Int32Array.of(-5, -7, -2147483647), { engine }), put(Uint8Array.of(200, 100, 1), { engine })),
    );
    expect(results.map((y) => [...y])).toEqual([
      [-5, -5, -7],
      [-5, 2147483642],
      [200, 44, 101],
    ]);
  });

  it("finds padding around a repeated number", async () => {
    const run = compile(
      () => [pool(splat(2, "f32", [3]), last("sum", 2)), pool(splat(-2, "f32", [3]), last("max", 2))],
      {
        engine,
      },
    );
    expect((await read(run())).map((y) => [...y])).toEqual([
      [2, 4, 4],
      [-2, -2, -2],
    ]);
  });

  it("maps over a leading axis", async () => {
    const rule = opTable.get("pool")?.batch;
    if (!rule || isLacking(rule)) throw new Error("pool cannot be batched");
    const run = compile(
      (x: Value) => rule(several([{ value: x, batched: true }]), last("max", 2), 2)[0] as Value,
      { engine },
    );
    const y = run(
      put(
        [
          [1, 3, 2],
          [6, 5, 4],
        ],
        { engine },
      ),
    );
    expect(y.shape).toEqual([2, 3]);
    expect([...(await y.read())]).toEqual([1, 3, 3, 6, 6, 5]);
  });

  it("gives the neutral element where there is nothing, and nothing where no window fits", async () => {
    const run = compile(
      () => [pool(splat(1, "f32", [0]), last("max", 1)), pool(splat(1, "f32", [2]), last("sum", 4))],
      { engine },
    );
    const [nothing, none] = run();
    expect([...((await nothing?.read()) ?? [])]).toEqual([Number.NEGATIVE_INFINITY]);
    expect(none?.shape).toEqual([0]);
  });
});

describeInSample("errors of pool", () => {
  it("says what does not fit", () => {
    const attempt = (change: Partial<PoolParams>) =>
      compile(
        () =>
          pool(splat(1, "f32", [4, 4]), {
            kind: "max",
            window: [1, 2],
            strides: [1, 2],
            padding: [
              [0, 0],
              [0, 0],
            ],
            ...change,
          }),
        { engine: "wasm" },
      )();
    expect(() => attempt({ window: [2] })).toThrow(/window has 1 entries for the 2 axes of \[4, 4\]/);
    expect(() => attempt({ strides: [1, 0] })).toThrow(/whole numbers from 1 on/);
    expect(() =>
      attempt({
        padding: [
          [0, 0],
          [-1, 0],
        ],
      }),
    ).toThrow(/whole numbers from 0 on/);
  });
});
