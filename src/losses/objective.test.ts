import { describe, expect, it } from "vitest";
import { compile, hostRandom, np, random, type Tensor, type Value, valueAndGrad } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import { cycle, linear, noCounters } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import { objective } from "./index.ts";
import type { Loss } from "./loss.ts";
import { counters, fit, inEpoch, line, type Points, ramp, small, start } from "./losses.test-support.ts";

const numbers = async (values: Readonly<Record<string, Tensor>>): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(values).map(async ([name, value]) => [name, await value.item()] as const),
    ),
  );

describe.each(testEngines())("an objective on %s", (engine) => {
  const { params, batch } = start(engine);

  it("is the weighted sum of its terms, and so is its gradient", async () => {
    const { evaluate, names } = objective({ forward: line, losses: [fit, small] });
    const step = compile(
      (p: nn.Params, b: Points) =>
        valueAndGrad((q: nn.Params) => {
          const { loss, metrics } = evaluate(names)(q, b, {});
          return [loss, metrics];
        })(p),
      { engine },
    );
    const [[loss, metrics], grads] = step(params, batch);
    // Distances [-0.5, 0.5, -2] and outputs [0.5, 2.5, -1], by hand.
    expect(await loss.item()).toBeCloseTo(1.5 + 0.5 * (4 / 3), 6);
    expect(await numbers(metrics)).toEqual({
      loss: expect.closeTo(1.5 + 0.5 * (4 / 3), 6),
      "fit.loss": expect.closeTo(1.5, 6),
      "small.loss": expect.closeTo(4 / 3, 6),
      "small.largest": 2.5,
    });
    const [first, second] = await (grads.w as Tensor).read();
    expect(first).toBeCloseTo(-1 / 3 + 2.5 / 6, 6);
    expect(second).toBeCloseTo(-3 - 1 / 6, 6);
  });

  it("runs the forward pass once, however many terms look at it", () => {
    let passes = 0;
    const { evaluate, names } = objective({
      forward: (p, b: Points) => {
        passes++;
        return line(p, b);
      },
      losses: [fit, small, { ...small, name: "smaller" }],
    });
    const step = compile((p: nn.Params, b: Points) => evaluate(names)(p, b, {}), { engine });
    const text = step.lower(params, batch);
    expect(passes).toBe(1);
    if (engine === "xla") expect(text.match(/dot_general/g)).toHaveLength(1);
  });

  it("reports and sums only what is active", async () => {
    const { evaluate } = objective({ forward: line, losses: [fit, small] });
    const step = compile((p: nn.Params, b: Points) => evaluate(["small"])(p, b, {}), { engine });
    const { loss, metrics } = step(params, batch);
    expect(await loss.item()).toBeCloseTo(2 / 3, 6);
    expect(Object.keys(metrics).sort()).toEqual(["loss", "small.largest", "small.loss"]);
  });

  it("compiles once for each set, and nothing when a set comes back", async () => {
    const aims = objective({
      forward: line,
      losses: [fit, { ...small, active: { train: cycle({ epochs: 4, active: [1, 2] }) } }],
    });
    const compiled: { readonly programs: number }[] = [];
    const stepFor = aims.perSet((evaluate) => {
      const step = compile((p: nn.Params, b: Points) => evaluate(p, b, {}).loss, { engine });
      compiled.push(step);
      return step;
    });
    const losses: number[] = [];
    for (let epoch = 0; epoch < 9; epoch++) {
      const step = stepFor(aims.active("train", inEpoch(epoch)));
      losses.push(await step(params, batch).item());
    }
    const [both, one] = [expect.closeTo(1.5 + 2 / 3, 5), expect.closeTo(1.5, 6)];
    expect(losses).toEqual([both, both, one, one, both, both, one, one, both]);
    expect(compiled.map((step) => step.programs)).toEqual([1, 1]);
    expect(aims.sets).toEqual([["fit", "small"], ["fit"]]);
  });

  it("takes weights from ramps without compiling anew", async () => {
    const weight = linear({ from: 1, to: 0, over: { updates: 10 } });
    const aims = objective({ forward: line, losses: [fit, { ...small, weight }] });
    expect(Object.keys(aims.ramps)).toEqual(["weight.small"]);
    const evaluate = aims.evaluate(aims.names);
    const step = compile(
      (p: nn.Params, b: Points, ramps: Readonly<Record<string, Value>>) => evaluate(p, b, ramps).loss,
      { engine },
    );
    for (const updates of [0, 5, 10]) {
      const value = aims.ramps["weight.small"]?.at(counters({ updates })) ?? Number.NaN;
      const loss = step(params, batch, { learningRate: 0.1, "weight.small": value });
      expect(await loss.item()).toBeCloseTo(1.5 + (1 - updates / 10) * (4 / 3), 5);
    }
    expect(step.programs).toBe(1);
  });

  it("hands values on, from terms that come first and count only where they are active", async () => {
    const seen: string[] = [];
    const residual: Loss<Points, Value> = {
      name: "residual",
      gives: ["distance"],
      term: ({ outputs, batch: { y } }) => {
        seen.push("residual");
        const distance = outputs.sub(y);
        return { loss: np.mean(np.square(distance)), values: { distance } };
      },
    };
    const bias: Loss<Points, Value> = {
      name: "bias",
      reads: ["distance"],
      term: ({ read: value }) => {
        seen.push("bias");
        return { loss: np.mean(value("distance")) };
      },
    };
    const aims = objective({ forward: line, losses: [bias, residual] });
    expect(aims.names).toEqual(["residual", "bias"]);
    const stepFor = aims.perSet((evaluate) =>
      compile((p: nn.Params, b: Points) => evaluate(p, b, {}).metrics, { engine }),
    );
    expect(await numbers(stepFor(aims.names)(params, batch))).toEqual({
      loss: expect.closeTo(1.5 - 2 / 3, 6),
      "residual.loss": expect.closeTo(1.5, 6),
      "bias.loss": expect.closeTo(-2 / 3, 6),
    });
    expect(seen).toEqual(["residual", "bias"]);
    // "residual" is not active: it gives its value, but neither adds to the loss nor reports.
    expect(await numbers(stepFor(["bias"])(params, batch))).toEqual({
      loss: expect.closeTo(-2 / 3, 6),
      "bias.loss": expect.closeTo(-2 / 3, 6),
    });
  });

  it("gives each term random numbers that do not depend on which others are active", async () => {
    const noisy = (name: string): Loss<Points, Value> => ({
      name,
      term: ({ key }) => ({ loss: random.uniform(key) }),
    });
    const { evaluate } = objective({ forward: line, losses: [noisy("a"), noisy("b"), noisy("c")] });
    const drawn = async (names: readonly string[]) => {
      const step = compile(
        (p: nn.Params, b: Points, key: Value) => evaluate(names)(p, b, {}, { train: true, key }).metrics,
        { engine },
      );
      return numbers(step(params, batch, Uint32Array.of(1, 2)));
    };
    const all = await drawn(["a", "b", "c"]);
    expect(new Set([all["a.loss"], all["b.loss"], all["c.loss"]]).size).toBe(3);
    // The first words of sha256("a"): they must never change, or old runs could not be repeated.
    const own = hostRandom.hostFoldIn(hostRandom.hostFoldIn(Uint32Array.of(1, 2), 0x128197ca), 0xcabd1bca);
    expect(all["a.loss"]).toBe(hostRandom.hostUniform(own, 1)[0]);
    expect((await drawn(["c"]))["c.loss"]).toBe(all["c.loss"]);
    expect((await drawn(["b", "a"]))["b.loss"]).toBe(all["b.loss"]);
  });

  it("tells forward pass and terms whether this is training", async () => {
    const model = nn.sequential([nn.dropout(0.5)]);
    const flag: Loss<Points, Value> = {
      name: "flag",
      term: ({ train, outputs }) => ({ loss: np.sum(outputs), metrics: { train: np.array(train ? 1 : 0) } }),
    };
    const { evaluate, names } = objective({
      forward: (_params, b: Points, options) => model.apply({}, b.x, options),
      losses: [flag],
    });
    const run = (options: nn.ApplyOptions) =>
      compile((b: Points) => evaluate(names)({}, b, {}, options).metrics, { engine })(batch);
    expect(await numbers(run({}))).toMatchObject({ "flag.train": 0, loss: 6.5 });
    const training = compile(
      (b: Points, key: Value) => evaluate(names)({}, b, {}, { train: true, key }).metrics,
      { engine },
    );
    const dropped = await numbers(training(batch, Uint32Array.of(0, 1)));
    expect(dropped["flag.train"]).toBe(1);
    expect(dropped.loss).not.toBe(6.5);
  });

  it("has a loss of 0 and no gradient where none is active and that is allowed", async () => {
    const aims = objective({
      forward: line,
      losses: [{ ...fit, active: { train: cycle({ epochs: 2, active: [2] }) } }],
      allowNone: true,
    });
    const none = aims.active("train", noCounters);
    expect(none).toEqual([]);
    const step = compile(
      (p: nn.Params, b: Points) => valueAndGrad((q: nn.Params) => aims.evaluate(none)(q, b, {}).loss)(p),
      { engine },
    );
    const [loss, grads] = step(params, batch);
    expect(await loss.item()).toBe(0);
    expect(await (grads.w as Tensor).read()).toEqual(Float32Array.of(0, 0));
  });
});

describe("what losses remember", () => {
  /** Counts for more each time its hook runs. */
  function growing() {
    let scale = 1;
    const state = {
      getState: (): StateTree => ({ scale }),
      setState: (tree: StateTree) => {
        scale = (tree as { readonly scale: number }).scale;
      },
    };
    const hook = {
      name: "growing.grow",
      onEpochEnd: () => {
        scale *= 2;
      },
    };
    const loss: Loss<Points, Value> = {
      ...fit,
      name: "growing",
      weight: ramp(() => scale),
      state,
      hooks: [hook],
    };
    return { loss, hook };
  }

  it("is a component under the loss's name, and comes back with it", async () => {
    const { loss, hook } = growing();
    const aims = objective({ forward: line, losses: [fit, loss] });
    expect(aims.hooks).toEqual([hook]);
    expect(Object.keys(aims.components)).toEqual(["loss.growing"]);
    hook.onEpochEnd();
    const saved = await aims.components["loss.growing"]?.getState();
    const again = objective({ forward: line, losses: [fit, growing().loss] });
    expect(again.ramps["weight.growing"]?.at(noCounters)).toBe(1);
    await again.components["loss.growing"]?.setState(saved as StateTree);
    expect(again.ramps["weight.growing"]?.at(noCounters)).toBe(2);
  });

  it("has schedules that remember among it, shared ones once", () => {
    const state = { getState: () => 0, setState: () => undefined };
    const train = { ...cycle({ epochs: 2, active: [1] }), state };
    const aims = objective({
      forward: line,
      losses: [
        { ...fit, active: { train } },
        { ...small, active: { rollout: train, train } },
      ],
    });
    expect(aims.components).toEqual({ "schedule.fit.train": state });
  });
});
