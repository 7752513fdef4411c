import { describe, expect, it } from "vitest";
import { compile, grad, nn, np, put, random, spec, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import type { Params } from "../model.ts";
import { attend } from "./attend.ts";
import { quickGelu } from "./block.ts";
import { multiHeadAttention, rotary, sinusoidal } from "./index.ts";

const numbers = (...shape: number[]): Float32Array =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(1 + i * 1.7));

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, within = 1e-5): void {
  expect(actual.length).toBe(expected.length);
  const worst = Array.from(actual, (x, i) => Math.abs(x - (expected[i] as number))).reduce(
    (a, b) => Math.max(a, b),
    0,
  );
  expect(worst).toBeLessThanOrEqual(within);
}

const fails = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "did not fail";
};

describe.each(sweepEngines())("attention on %s", (engine) => {
  const tensor = (...shape: number[]) => put(numbers(...shape), { shape, engine });
  const q = tensor(2, 3, 4, 6);
  const k = tensor(2, 5, 2, 6);

  it("gives the engine's plain attention, for grouped queries and masks, and its gradients", async () => {
    const mask = put(
      Array.from({ length: 30 }, (_, i) => i % 3 !== 1),
      { shape: [2, 1, 3, 5], dtype: "bool", engine },
    );
    const run = compile(
      (q: Value, k: Value, mask: Value) => {
        const ours = (q: Value, k: Value) => attend("test", q, k, np.sin(k), { mask, causal: false });
        const plain = (q: Value, k: Value) => nn.dotProductAttention(q, k, np.sin(k), { mask });
        return [ours, plain].map((fn) => {
          const sum = (q: Value, k: Value) => np.sum(np.sin(fn(q, k)));
          return [fn(q, k), ...grad(sum, { argnums: [0, 1] })(q, k)];
        });
      },
      { engine },
    );
    const [ours, plain] = run(q, k, mask);
    for (let i = 0; i < 3; i++)
      expectClose((await ours?.[i]?.read()) as Float32Array, (await plain?.[i]?.read()) as Float32Array);
  });

  it("has the second derivative of plain attention", async () => {
    const run = compile(
      (q: Value, k: Value) => {
        const ours = (q: Value) => attend("test", q, k, np.sin(k), { causal: true });
        const plain = (q: Value) => nn.dotProductAttention(q, k, np.sin(k), { causal: true });
        return [ours, plain].map((fn) => {
          const slope = grad((q: Value) => np.sum(np.sin(fn(q))));
          return grad((q: Value) => np.sum(np.square(slope(q))))(q);
        });
      },
      { engine },
    );
    const [ours, plain] = run(q, k);
    expectClose((await ours?.read()) as Float32Array, (await plain?.read()) as Float32Array);
  });

  it("gives zeros and no gradient to a query that sees nothing", async () => {
    const mask = put([true, false, true], { shape: [3, 1], dtype: "bool", engine });
    const run = compile(
      (q: Value, k: Value, mask: Value) => {
        const fn = (q: Value) => attend("test", q, k, k, { mask, causal: false });
        return { y: fn(q), slope: grad((q: Value) => np.sum(np.sin(fn(q))))(q) };
      },
      { engine },
    );
    const { y, slope } = run(q, k, mask);
    for (const values of [await y.read(), await slope.read()]) {
      expect(Array.from(values).every(Number.isFinite)).toBe(true);
      expect(Array.from(values).slice(24, 48)).toEqual(new Array(24).fill(0));
      expect(Array.from(values).slice(0, 24)).not.toEqual(new Array(24).fill(0));
    }
  });

  it("token by token equals the whole causal pass", async () => {
    const layer = multiHeadAttention({ heads: 4, keyValueHeads: 2, width: 8, causal: true, rotary: true });
    const params = layer.init(0, spec([2, 5, 8]), { engine });
    const x = tensor(2, 5, 8);
    const whole = compile((p: Params, v: Value) => layer.apply(p, v), { engine });
    const start = compile(() => layer.initCache(2, 7), { engine });
    const step = compile(
      (p: Params, v: Value, cache: { k: Value; v: Value }, at: Value) => layer.applyCached(p, v, cache, at),
      { engine },
    );
    let cache = start();
    const rows: number[][] = [[], []];
    // Two places first, then one at a time.
    for (const [from, to] of [
      [0, 2],
      [2, 3],
      [3, 4],
      [4, 5],
    ] as const) {
      const part = compile((v: Value) => np.slice(v, ":", [from, to]), { engine })(x);
      const next = step(params, part, cache, put(from, { dtype: "i32", engine }));
      cache = next.cache;
      const y = await next.y.read();
      rows.forEach((row, b) =>
        row.push(...Array.from(y).slice((b * y.length) / 2, ((b + 1) * y.length) / 2)),
      );
    }
    expectClose(rows.flat(), await whole(params, x).read());
    expect(step.programs).toBe(2);
  });

  it("drops weights while training only, and keeps their sum on the average", async () => {
    const layer = multiHeadAttention({ heads: 2, dropout: 0.5 });
    const params = layer.init(0, spec([2, 5, 8]), { engine });
    const run = compile(
      (p: Params, v: Value) => {
        const dropped = (p: Params) => layer.apply(p, v, { train: true, key: random.key(3) });
        return {
          plain: layer.apply(p, v),
          dropped: dropped(p),
          slope: grad((p: Params) => np.sum(dropped(p)))(p),
        };
      },
      { engine },
    );
    const { plain, dropped, slope } = run(params, tensor(2, 5, 8));
    expect(await plain.read()).not.toEqual(await dropped.read());
    const q = (slope as unknown as { q: { w: { read(): Promise<Float32Array> } } }).q;
    expect((await q.w.read()).every(Number.isFinite)).toBe(true);
    expect(
      fails(() =>
        compile((p: Params, v: Value) => layer.apply(p, v, { train: true }), { engine })(
          params,
          tensor(2, 5, 8),
        ),
      ),
    ).toContain("key");
  });

  it("rotary products depend on the distance only", async () => {
    const run = compile(
      (q: Value, k: Value) => {
        const at = (i: number, j: number) =>
          np.sum(np.multiply(rotary(q, { positions: i }), rotary(k, { positions: j })));
        return [at(3, 1), at(12, 10), at(1, 3)];
      },
      { engine },
    );
    const [near, far, back] = run(
      tensor(1, 1, 1, 6),
      put(numbers(7).slice(1), { shape: [1, 1, 1, 6], engine }),
    );
    expect(await far?.item()).toBeCloseTo((await near?.item()) as number, 4);
    expect(Math.abs(((await back?.item()) as number) - ((await near?.item()) as number))).toBeGreaterThan(
      1e-2,
    );
  });

  it("sinusoidal positions are sines and cosines in turn", async () => {
    const table = await compile(() => sinusoidal(3, 4, { positions: 5 }), { engine })().read();
    const expected = [5, 6, 7].flatMap((p) => [
      Math.sin(p),
      Math.cos(p),
      Math.sin(p / 100),
      Math.cos(p / 100),
    ]);
    expectClose(table, expected);
  });

  it("the quick gelu is gelu, with its derivatives, far out too", async () => {
    const points = put(Float32Array.from([-1000, -20, -3, -0.5, 0, 0.5, 3, 20, 1000]), { engine });
    const run = compile(
      (x: Value) =>
        [quickGelu, (x: Value) => nn.gelu(x)].map((fn) => {
          const slope = grad((x: Value) => np.sum(fn(x)));
          return [fn(x), slope(x), grad((x: Value) => np.sum(np.multiply(slope(x), np.cos(x))))(x)];
        }),
      { engine },
    );
    const [ours, plain] = run(points);
    for (let i = 0; i < 3; i++)
      expectClose(
        (await ours?.[i]?.read()) as Float32Array,
        (await plain?.[i]?.read()) as Float32Array,
        2e-6,
      );
  });
});

describe.each(sweepEngines().filter((name) => name === "xla"))(
  "attention on %s, in 16-bit floats",
  (engine) => {
    const q = put(numbers(2, 3, 4, 6), { shape: [2, 3, 4, 6], engine });
    const k = put(numbers(2, 5, 2, 6), { shape: [2, 5, 2, 6], engine });

    it("keeps the digits of 16-bit floats", async () => {
      const factor = put(new Float32Array(2 * 4 * 3 * 5).fill(1), { shape: [2, 4, 3, 5], engine });
      const run = compile(
        (q: Value, k: Value, factor: Value) => {
          const at = (dtype: "f32" | "bf16", by?: Value) =>
            attend("test", q.astype(dtype), k.astype(dtype), k.astype(dtype), { causal: true, factor: by });
          return [at("f32"), at("bf16").astype("f32"), at("bf16", factor).astype("f32"), at("bf16", factor)];
        },
        { engine },
      );
      const [exact, plain, dropped, typed] = run(q, k, factor);
      expect(typed?.dtype).toBe("bf16");
      for (const y of [plain, dropped])
        expectClose((await y?.read()) as Float32Array, (await exact?.read()) as Float32Array, 2e-2);
    });
  },
);

describeInSample("attention", () => {
  it("names both shapes where inputs do not fit", () => {
    const layer = multiHeadAttention({ heads: 2 });
    const params = layer.init(0, spec([2, 5, 8]), { engine: "wasm" });
    const run = compile((p: Params, v: Value) => layer.apply(p, v), { engine: "wasm" });
    const message = fails(() => run(params, put(numbers(2, 5, 6), { shape: [2, 5, 6], engine: "wasm" })));
    expect(message).toContain("[2, 5, 6] has 6 features, but q.w is [8, 8]");
    expect(fails(() => layer.init(0, spec([5, 8])))).toContain("[batch, time, features]");
  });

  it("refuses masks that do not repeat", () => {
    const layer = multiHeadAttention({ heads: 2 });
    const params = layer.init(0, spec([2, 5, 8]), { engine: "wasm" });
    const run = compile((p: Params, x: Value, mask: Value) => layer.apply(p, { x, mask }), {
      engine: "wasm",
    });
    const x = put(numbers(2, 5, 8), { shape: [2, 5, 8], engine: "wasm" });
    const mask = put(new Array(8).fill(true), { shape: [2, 4], dtype: "bool", engine: "wasm" });
    expect(fails(() => run(params, x, mask))).toContain("bool[2, 2, 5, 5]");
  });

  it("refuses options that make no sense", () => {
    expect(fails(() => multiHeadAttention({ heads: 2, head: 1 } as never))).toContain('did you mean "heads"');
    expect(fails(() => multiHeadAttention({ heads: 0 }))).toContain("heads is 0");
    expect(fails(() => multiHeadAttention({ heads: 4, keyValueHeads: 3 }))).toContain("keyValueHeads");
    expect(fails(() => multiHeadAttention({ heads: 3, width: 8 }))).toContain("3 equal heads");
    expect(fails(() => multiHeadAttention({ heads: 2, width: 6, rotary: true }))).toContain("3 wide");
  });
});
