import { describe, expect, it } from "vitest";
import { flatten, leafPaths } from "../core/index.ts";
import { compile, np, put, type Tensor, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { firstDifference } from "../state/index.ts";
import * as optim from "./index.ts";
import { type Params, someGradients, somePlaces, training } from "./training.test-support.ts";

const pathsOf = (tree: unknown): string[] => leafPaths(flatten(tree, []));

describe.each(testEngines())("optimizers on %s", (engine) => {
  const start = somePlaces(engine);
  const grads = someGradients(engine);

  it("keep states with the parameters' paths, starting at zero", async () => {
    const state = training(optim.adam(), engine).init({ head: { w: put([[1, 2]], { engine }) }, scale: 3 });
    expect(pathsOf(state)).toEqual(["count", "m.head.w", "m.scale", "v.head.w", "v.scale"]);
    expect(
      await firstDifference(state.m as never, {
        head: { w: put([[0, 0]], { engine }) },
        scale: put(0, { engine }),
      }),
    ).toBeUndefined();
    const { state: next } = training(optim.adam(), engine).step(
      start,
      training(optim.adam(), engine).init(start),
      grads,
      {},
    );
    expect(pathsOf(next)).toEqual(pathsOf(training(optim.adam(), engine).init(start)));
  });

  it("take parameters in lists", () => {
    const optimizer = optim.groups({ "layers.0": optim.adam(), "*": optim.sgd({ momentum: 0.9 }) });
    const layers = [0, 1].map((i) => ({ w: put([i, 1], { engine }) }));
    const step = compile(
      (params: { layers: { w: Value }[] }, state: optim.OptimizerState) => {
        const { updates, state: next } = optimizer.update(params, state, params);
        return { params: optim.applyUpdates(params, updates), state: next };
      },
      { engine },
    );
    const state = compile(optimizer.init, { engine })({ layers });
    expect(pathsOf(state)).toEqual([
      "*.m.layers[1].w",
      "layers.0.count",
      "layers.0.m.layers[0].w",
      "layers.0.v.layers[0].w",
    ]);
    const next = step({ layers }, state);
    expect(pathsOf(next.state)).toEqual(pathsOf(state));
    expect(pathsOf(next.params)).toEqual(["layers[0].w", "layers[1].w"]);
  });

  it("compile once whatever the rates are", async () => {
    const { step, init } = training(optim.adamw(), engine);
    const moved = async (learningRate: number) => {
      const rates = { learningRate, beta1: 0.5 + learningRate, weightDecay: 0 };
      const { updates } = step(start, init(start), grads, rates);
      return Math.abs(await (updates as { head: { b: Tensor } }).head.b.item());
    };
    expect(await moved(0)).toBe(0);
    expect((await moved(0.1)) / (await moved(1e-3))).toBeCloseTo(100, 3);
    expect(step.programs).toBe(1);
  });

  it("use their own rates where none are given", async () => {
    const { step, init } = training(optim.sgd({ learningRate: 0.5 }), engine);
    const both = [
      step(start, init(start), grads, {}),
      step(start, init(start), grads, { learningRate: 0.5 }),
    ];
    expect(await firstDifference(both[0]?.params as never, both[1]?.params as never)).toBeUndefined();
  });

  it("report the norm before clipping", async () => {
    const { step, init } = training(optim.chain(optim.clipByGlobalNorm(0.5), optim.scale(1)), engine);
    const { state, updates } = step(start, init(start), grads, {});
    // 1 + 1 + 1 + 4 + 0.25 + 1 (body.w), 1 + 1 + 4 (body.b), 0.25 + 1 + 4 (head.w), 9 (head.b)
    expect(await optim.valueIn(state, "norm").item()).toBeCloseTo(Math.sqrt(28.5), 5);
    const norm = compile((tree: Params) => optim.globalNorm(tree), { engine });
    expect(await norm(updates).item()).toBeCloseTo(0.5, 6);
    const loose = step(start, init(start), grads, { maxNorm: 100 });
    expect(await norm(loose.updates).item()).toBeCloseTo(Math.sqrt(28.5), 5);
    expect(step.programs).toBe(2); // with and without the rate
  });

  it("freeze parameters bit for bit and keep nothing for them", async () => {
    const { step, init } = training(optim.freeze(["body", "**.b"], optim.adamw()), engine);
    const state = init(start);
    expect(pathsOf(state)).toEqual(["count", "m.head.w", "v.head.w"]);
    const { params } = step(start, state, grads, {});
    const withHead = (tree: Params<Tensor>) => ({ ...tree, head: { b: (tree.head as Params<Tensor>).b } });
    expect(await firstDifference(withHead(params) as never, withHead(start) as never)).toBeUndefined();
    expect((await firstDifference(params, start))?.path).toBe("head.w");
  });

  it("give groups their own rates, or one rate to all", async () => {
    const optimizer = optim.groups({ body: optim.sgd(), "*": optim.sgd({ learningRate: 0.1 }) });
    expect(optimizer.rates).toEqual({ body: { learningRate: 0.01 }, "*": { learningRate: 0.1 } });
    const { step, init } = training(optimizer, engine);
    const moved = async (rates: Parameters<typeof step>[3]) => {
      const { updates } = step(start, init(start), grads, rates);
      const { body, head } = updates as { body: { b: Tensor }; head: { b: Tensor } };
      return [(await body.b.read())[0], await head.b.item()].map((x) => Math.fround(x as number).toFixed(4));
    };
    expect(await moved({})).toEqual(["-0.0100", "-0.3000"]);
    expect(await moved({ learningRate: 1 })).toEqual(["-1.0000", "-3.0000"]);
    expect(await moved({ body: { learningRate: 2 } })).toEqual(["-2.0000", "-0.3000"]);
    expect(await moved({ body: { learningRate: 2 }, learningRate: 1 })).toEqual(["-2.0000", "-3.0000"]);
    expect(await moved(optimizer.rates)).toEqual(["-0.0100", "-0.3000"]);
  });

  it("share a rate's name in a chain, and add rates by name", async () => {
    const optimizer = optim.chain(
      optim.sgd({ learningRate: 1 }),
      optim.scaleByRate("warmup", 0.5),
      optim.scale(2),
      optim.scale(3),
    );
    expect(optimizer.rates).toEqual({ learningRate: 1, warmup: 0.5 });
    const { step, init } = training(optimizer, engine);
    const { updates } = step(start, init(start), grads, { warmup: 0.25 });
    expect(await (updates as { head: { b: Tensor } }).head.b.item()).toBe(-4.5);
  });

  it("name the second of a kind in a chain", () => {
    const optimizer = optim.chain(optim.clipByGlobalNorm(1), optim.clip(1), optim.clipByGlobalNorm(1));
    expect(pathsOf(training(optimizer, engine).init(start))).toEqual([
      "clipByGlobalNorm.norm",
      "clipByGlobalNorm2.norm",
    ]);
  });

  it("average parameters from the first ones on", async () => {
    const { step, init } = training(optim.chain(optim.sgd(), optim.ema({ decay: 0.75 })), engine);
    const state = init(start);
    expect(await firstDifference(optim.treeIn(state, "average"), start)).toBeUndefined();
    const next = step(start, state, grads, { learningRate: 1 });
    const { head } = optim.treeIn(next.state, "average") as { head: { b: Tensor } };
    expect(await head.b.item()).toBeCloseTo(0.75 * 0.3 + 0.25 * (0.3 - 3), 6);
  });

  it("orthogonalize by Muon what is a matrix, whatever its gradient's size", async () => {
    const { step, init } = training(optim.muon({ learningRate: 1 }), engine);
    expect(pathsOf(init(start))).toEqual([
      "count",
      "m.body.b",
      "m.body.w",
      "m.head.b",
      "m.head.w",
      "v.body.b",
      "v.head.b",
    ]);
    const { updates } = step(start, init(start), grads, {});
    const gram = compile((u: Value) => np.matmul(u, u.T), { engine })(
      (updates as { body: { w: Tensor } }).body.w,
    );
    const [a, b, c, d] = [...(await gram.read())] as [number, number, number, number];
    // Singular values come out between 0.7 and 1.2, here times the root of 3/2.
    const [mean, spread] = [(a + d) / 2, Math.hypot((a - d) / 2, (b + c) / 2)];
    expect(mean + spread).toBeLessThan(1.5 * 1.25 ** 2);
    expect(mean - spread).toBeGreaterThan(1.5 * 0.65 ** 2);
  });
});

describe.runIf(testEngines().includes("xla"))("on xla alone", () => {
  const engine = "xla";

  it("keep moments of bf16 parameters in f32, and parameters in bf16", () => {
    const { step, init } = training(
      optim.chain(optim.clipByGlobalNorm(1), optim.adamw(), optim.ema()),
      engine,
    );
    const params = { w: put([1, 2, 3], { engine, dtype: "bf16" }) };
    const state = init(params);
    const next = step(params, state, params, {});
    expect((next.params.w as Tensor).dtype).toBe("bf16");
    const kinds = (tree: unknown) => {
      const leaves: unknown[] = [];
      flatten(tree, leaves);
      return leaves.map((leaf) => (leaf as Tensor).dtype);
    };
    expect(kinds(state)).toEqual(["i32", "f32", "f32", "f32", "f32"]);
    expect(kinds(next.state)).toEqual(kinds(state));
  });

  it("compute bias corrections once for all parameters", () => {
    const { step, init } = training(optim.adam(), engine);
    const start = somePlaces(engine);
    const text = step.lower(start, init(start), someGradients(engine), {});
    expect(text.match(/exponential_minus_one/g)).toHaveLength(2);
    expect(text.match(/stablehlo\.divide/g)).toHaveLength(1 + 4);
  });

  it("leave out the gradients of what is frozen", () => {
    const { step, init } = training(optim.freeze("body", optim.sgd()), engine);
    const start = somePlaces(engine);
    const text = step.lower(start, init(start), someGradients(engine), {});
    expect(text).not.toMatch(/multiply.*2x3xf32/);
    expect(text).toMatch(/multiply.*3x1xf32/);
  });
});
