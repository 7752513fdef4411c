import { describe, expect, it } from "vitest";
import { np, put, type Tensor, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import type { Params } from "../nn/index.ts";
import { sgd } from "../optim/index.ts";
import { KeyCounts } from "./keys.ts";
import { Learner, type LearnerOptions } from "./learner.ts";
import { compileUpdate, TensorState } from "./tensor-state.ts";

describe.each(testEngines())("a learner on %s", (engine) => {
  const init: LearnerOptions["init"] = (key) => ({
    w: put(Float32Array.of(key[0] as number, 2), { engine }),
    b: put(Float32Array.of(3), { engine }),
  });
  const learnerOf = (more: Partial<LearnerOptions> = {}) =>
    new Learner({ task: "test", optimizer: sgd({ learningRate: 0.5 }), init, ...more });
  const weights = async ({ params }: Learner) => [
    ...(await ((params.getState() as Params<Tensor>).w as Tensor).read()),
  ];
  const run = { seed: 7, deterministic: false };

  it("draws its parameters again from the run's seed, and gives the streams for the rest", async () => {
    const learner = learnerOf();
    const before = await weights(learner);
    const streams = learner.begin(run, false);
    expect(streams?.seed).toBe(7);
    expect(await weights(learner)).not.toEqual(before);
    expect(await weights(learner)).toEqual(await weights(learnerOf({ seed: 7 })));
  });

  it("stays as it is where it has a seed, was restored, or has done something", async () => {
    const own = learnerOf({ seed: 1 });
    const restored = learnerOf();
    restored.params.setState(learnerOf().params.getState());
    for (const [learner, done] of [
      [own, false],
      [restored, false],
      [learnerOf(), true],
    ] as const) {
      const before = await weights(learner);
      expect(learner.begin(run, done)).toBeUndefined();
      expect(await weights(learner)).toEqual(before);
    }
  });

  it("keeps parameters that it was given, and gives streams for the rest", async () => {
    const params = init(Uint32Array.of(5, 0), {});
    const learner = learnerOf({ params });
    expect(learner.begin(run, false)?.seed).toBe(7);
    expect(await weights(learner)).toEqual([5, 2]);
  });

  it("takes a step with the ramps' numbers, inside a program that replaces its states", async () => {
    const learner = learnerOf({ params: { w: put([1, 2], { engine }) } });
    const numbers = learner.rampNumbers(1);
    const step = compileUpdate({ updates: learner.states }, (now, { ramps }: { ramps: Value | null }) => {
      const rate = learner.rates.at(ramps, np.zeros([], { dtype: "i32" }));
      const next = learner.applyGradients(now, rate, { loss: np.ones([]) }, { w: np.ones([2]) });
      return [{ params: next.params, state: next.state, first: now.first }, { finite: next.finite }];
    });
    const { finite } = step({ ramps: numbers.tensor({ learningRate: Float32Array.of(0.25) }, 1) });
    expect(await weights(learner)).toEqual([0.75, 1.75]);
    expect(await finite.item()).toBe(1);
  });

  it.each([false, true])("reads states without replacing or donating them; donated: %s", async (donated) => {
    const { device } = learnerOf();
    const of = (n: number) => new TensorState<Value>("n", put(n, { engine }), { device, donated });
    const [sum, by] = [of(1), of(10)];
    const add = compileUpdate({ updates: { sum }, reads: { by } }, (now, { times }: { times: Value }) => [
      { sum: now.sum.add(now.by.mul(times)) },
      null,
    ]);
    const [before] = sum.now;
    add({ times: 2 });
    expect(before?.isDisposed).toBe(true);
    add({ times: 3 });
    expect(await (sum.getState() as Tensor).item()).toBe(51);
    expect(await (by.getState() as Tensor).item()).toBe(10);
  });

  it("saves and restores keys and counts, and refuses other states", async () => {
    const of = () =>
      new KeyCounts({ keys: { keys: Uint32Array.of(1, 2, 3, 4) }, counts: ["updates"], where: { engine } });
    const [before, after] = [of(), of()];
    before.restart({ keys: Uint32Array.of(5, 6, 7, 8) });
    before.counts.updates = 9;
    after.tensor("keys");
    after.setState(before.getState());
    expect(after.getState()).toEqual({ keys: Uint32Array.of(5, 6, 7, 8), updates: 9 });
    expect(after.tensor("keys").shape).toEqual([2, 2]);
    expect([...(await after.tensor("keys").read())]).toEqual([5, 6, 7, 8]);
    for (const bad of [
      {},
      { keys: Uint32Array.of(1, 2), updates: 1 },
      { keys: Uint32Array.of(1, 2, 3, 4), updates: -1 },
    ])
      expect(() => after.setState(bad)).toThrow(/keys, updates.*/s);
  });
});
