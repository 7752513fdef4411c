import { describe, expect, it } from "vitest";
import { compile, np, put, random, spec, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import { sequential } from "../combine.ts";
import { dense } from "../dense.ts";
import type { Params } from "../model.ts";
import { gru, gruCell, lstm, lstmCell } from "./index.ts";

const input = (...shape: number[]): Float32Array =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(1 + i * 1.7));

/** Numbers of both, to some digits. */
function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, within = 1e-5): void {
  expect(actual.length).toBe(expected.length);
  const worst = Array.from(actual, (x, i) => Math.abs(x - (expected[i] as number))).reduce(
    (a, b) => Math.max(a, b),
    0,
  );
  expect(worst).toBeLessThanOrEqual(within);
}

describe.each(sweepEngines())("recurrent models on %s", (engine) => {
  const x = put(input(2, 6, 3), { shape: [2, 6, 3], engine });

  it("go on from the state they gave, as if the sequence had not been cut", async () => {
    const model = lstm(4, { layers: 2 });
    const params = model.init(0, spec([2, 6, 3]), { engine });
    const whole = compile((p: Params, v: Value) => model.unroll(p, { x: v }).y, { engine });
    const parts = compile(
      (p: Params, v: Value) => {
        const first = model.unroll(p, { x: np.slice(v, ":", "0:2") });
        const second = model.unroll(p, { x: np.slice(v, ":", "2:6"), state: first.state });
        return np.concatenate([first.y, second.y], { axis: 1 });
      },
      { engine },
    );
    expectClose(await parts(params, x).read(), await whole(params, x).read(), 1e-6);
  });

  it.each([
    ["gru", gru(4, { layers: 2 })],
    ["lstm", lstm(4, { layers: 2 })],
  ] as const)("%s gives step by step what it gives over time, resets included", async (_name, model) => {
    const params = model.init(0, spec([2, 6, 3]), { engine });
    const reset = put([0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0].map(Boolean), {
      shape: [2, 6],
      dtype: "bool",
      engine,
    });
    const whole = compile((p: Params, v: Value, r: Value) => model.unroll(p, { x: v, reset: r }).y, {
      engine,
    });
    const steps = compile(
      (p: Params, v: Value, r: Value) => {
        // Both models' states are alike to this test.
        const one = model as typeof model & { step: typeof lstmModel.step };
        let state = one.initialState(2) as ReturnType<typeof lstmModel.initialState>;
        const ys = [0, 1, 2, 3, 4, 5].map((t) => {
          const next = one.step(p, { x: np.slice(v, ":", t), state, reset: np.slice(r, ":", t) });
          state = next.state;
          return next.y;
        });
        return np.stack(ys, { axis: 1 });
      },
      { engine },
    );
    expectClose(await steps(params, x, reset).read(), await whole(params, x, reset).read(), 1e-6);
  });

  it("forget what was before a reset, even what is not a number", async () => {
    const model = gru(4);
    const params = model.init(0, spec([1, 2, 3]), { engine });
    const run = compile(
      (p: Params, v: Value, h: Value, r: Value) => model.unroll(p, { x: v, state: [{ h }], reset: r }).y,
      { engine },
    );
    const v = put(input(1, 2, 3), { shape: [1, 2, 3], engine });
    const state = (fill: number) => put(new Float32Array(4).fill(fill), { shape: [1, 4], engine });
    const at = put([true, false], { shape: [1, 2], dtype: "bool", engine });
    expectClose(
      await run(params, v, state(Number.NaN), at).read(),
      await run(params, v, state(0), at).read(),
      0,
    );
  });

  it("drop between layers while training only", async () => {
    const model = gru(8, { layers: 2, dropout: 0.5 });
    const params = model.init(0, spec([2, 6, 3]), { engine });
    const run = compile(
      (p: Params, v: Value) => ({
        plain: model.apply(p, v),
        one: model.apply(p, v, { train: true, key: random.key(1) }),
        other: model.apply(p, v, { train: true, key: random.key(2) }),
      }),
      { engine },
    );
    const { plain, one, other } = run(params, x);
    const [a, b, c] = [await plain.read(), await one.read(), await other.read()];
    expect(a).not.toEqual(b);
    expect(b).not.toEqual(c);
  });

  it("stand among other layers", async () => {
    const model = sequential([lstm(4), dense(2)]);
    const params = model.init(0, spec([2, 6, 3]), { engine });
    const y = compile((p: Params, v: Value) => model.apply(p, v), { engine })(params, x);
    expect(y.shape).toEqual([2, 6, 2]);
    expect(Object.keys(params.lstm0 as object)).toEqual(["layer0"]);
  });
});

const lstmModel = lstm(4);

describeInSample("recurrent models", () => {
  const fails = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      return (error as Error).message;
    }
    return "did not fail";
  };

  it("name their place and both shapes where the input has other features", () => {
    const model = sequential({ memory: lstm(4), out: dense(2) });
    const params = model.init(0, spec([2, 6, 3]), { engine: "wasm" });
    const run = compile((p: Params, v: Value) => model.apply(p, v), { engine: "wasm" });
    const message = fails(() => run(params, put(input(2, 6, 5), { shape: [2, 6, 5], engine: "wasm" })));
    expect(message).toContain('"memory.layer0"');
    expect(message).toContain("[6, 2, 5]");
    expect(message).toContain("[3, 16]");
  });

  it("say which axes they take", () => {
    expect(fails(() => lstm(4).init(0, spec([2, 3])))).toContain("[batch, time, features]");
    expect(fails(() => gruCell(4).init(0, { x: spec([2, 3, 4]) }))).toContain("[batch, features]");
  });

  it("refuse options and sizes that make no sense", () => {
    expect(fails(() => lstm(4, { layer: 2 } as object))).toContain('did you mean "layers"');
    expect(fails(() => gru(-1))).toContain("-1");
    expect(fails(() => lstm(4, { layers: 0 }))).toContain("layers is 0");
  });

  it("refuse states and resets of other shapes", () => {
    const model = gru(4);
    const params = model.init(0, spec([2, 6, 3]), { engine: "wasm" });
    const x = put(input(2, 6, 3), { shape: [2, 6, 3], engine: "wasm" });
    const run = compile((p: Params, v: Value, h: Value) => model.unroll(p, { x: v, state: [{ h }] }).y, {
      engine: "wasm",
    });
    const state = put(input(3, 4), { shape: [3, 4], engine: "wasm" });
    expect(fails(() => run(params, x, state))).toContain("the state's h is [3, 4], but should be [2, 4]");
    const resets = compile((p: Params, v: Value, r: Value) => model.unroll(p, { x: v, reset: r }).y, {
      engine: "wasm",
    });
    expect(fails(() => resets(params, x, put([true, false], { engine: "wasm" })))).toContain("bool[2, 6]");
  });

  it("start the forget gate with a bias of 1, or as told", async () => {
    const biases = async (forgetBias?: number): Promise<number[]> => {
      const cell = lstmCell(2, forgetBias === undefined ? {} : { forgetBias });
      const drawn = cell.init(0, { x: spec([1, 2]) }, { engine: "wasm" }) as unknown as {
        readonly input: { readonly b: { read(): Promise<ArrayLike<number>> } };
      };
      return Array.from(await drawn.input.b.read());
    };
    expect(await biases()).toEqual([0, 0, 1, 1, 0, 0, 0, 0]);
    expect(await biases(3)).toEqual([0, 0, 3, 3, 0, 0, 0, 0]);
  });

  it("draw orthogonal weights for each gate of the state", async () => {
    const { hidden } = lstmCell(3).init(0, { x: spec([1, 2]) }, { engine: "wasm" }) as unknown as {
      readonly hidden: { readonly w: { read(): Promise<ArrayLike<number>> } };
    };
    const w = await hidden.w.read();
    for (let gate = 0; gate < 4; gate++) {
      const row = (r: number) => [0, 1, 2].map((c) => w[r * 12 + gate * 3 + c] as number);
      const dot = (a: number[], b: number[]) => a.reduce((sum, v, i) => sum + v * (b[i] as number), 0);
      expect(dot(row(0), row(0))).toBeCloseTo(1, 5);
      expect(dot(row(0), row(1))).toBeCloseTo(0, 5);
    }
  });
});
