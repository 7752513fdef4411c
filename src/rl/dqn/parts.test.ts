import { describe, expect, it } from "vitest";
import { compile, hostRandom, put, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import type { Params } from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { firstDifference } from "../../state/index.ts";
import { Trainer } from "../../trainer/index.ts";
import { defineEnvironment } from "../environments/define.ts";
import { linearPolicy } from "../losses/linear-policy.test-support.ts";
import { discrete } from "../spaces/index.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import { explore } from "./collect.ts";
import { type TargetOptions, type Transitions, targetValues } from "./learn.ts";
import { dqnTask } from "./task.ts";

describe("exploring", () => {
  const masks = Uint8Array.of(...[0, 1, 1, 0], ...[1, 1, 1, 1]);
  const often = (epsilon: number, masked: boolean) => {
    const times = [0, 1].map(() => [0, 0, 0, 0]);
    let asked = 0;
    const actions = new Float32Array(2);
    for (let i = 0; i < 4000; i++) {
      const given = { key: hostRandom.hostKey(i), epsilon, choices: 4, masks: masked ? masks : undefined };
      explore(actions, given, () => {
        asked++;
        return [2, 2];
      });
      actions.forEach((a, row) => {
        (times[row] as number[])[a] = ((times[row] as number[])[a] as number) + 1;
      });
    }
    return { times, asked };
  };
  const expectAbout = (found: readonly number[] | undefined, shares: readonly number[]): void =>
    shares.forEach((share, i) => {
      expect(Math.abs((found?.[i] as number) / 4000 - share)).toBeLessThan(0.04);
    });

  it("takes a random action as often as epsilon says, and the best one otherwise", () => {
    const { times, asked } = often(0.4, false);
    for (const row of times) expectAbout(row, [0.1, 0.1, 0.7, 0.1]);
    expect(Math.abs(asked / 4000 - (1 - 0.4 ** 2))).toBeLessThan(0.04);
  });

  it("takes what is allowed only, each alike", () => {
    const { times } = often(1, true);
    expect([times[0]?.[0], times[0]?.[3]]).toEqual([0, 0]);
    expectAbout(times[0], [0, 0.5, 0.5, 0]);
    expectAbout(times[1], [0.25, 0.25, 0.25, 0.25]);
  });

  it("asks nobody where all is random, and draws nothing where nothing is", () => {
    expect(often(1, false).asked).toBe(0);
    expect(often(0, false).times).toEqual([0, 1].map(() => [0, 0, 4000, 0]));
  });
});

describe.each(testEngines())("targets on %s", (engine) => {
  const tensor = (x: readonly (readonly number[])[]) => put(x, { engine });
  const zeros = put([0, 0], { engine });
  const batch = {
    ...{ observation: tensor([[0], [0]]), action: tensor([[0], [1]]), reward: put([1, 2], { engine }) },
    ...{ nextObservation: tensor([[1], [1]]), terminated: put([0, 1], { engine }) },
  };
  // The learning network prefers the first action, of which the target network thinks less.
  const [learning, target] = [
    { w: tensor([[3, 1]]), b: zeros },
    { w: tensor([[4, 10]]), b: zeros },
  ];
  const of = async (spec: Partial<TargetOptions>, more: object = {}): Promise<number[]> => {
    const policy = linearPolicy(1, 2);
    const distribution = {
      ...policy.distribution,
      masked: (p: Value, mask: Value) => p.sub(mask.astype("f32").sub(1).mul(-1000)),
    };
    const targets = compile(
      (p: Params, t: Params, b: Transitions) =>
        targetValues({ policy: { ...policy, distribution }, gamma: 0.5, double: false, ...spec }, p, t, b),
      { engine },
    );
    return [...(await targets(learning as never, target as never, { ...batch, ...more } as never).read())];
  };

  it("are the reward and the best of what follows, unless nothing does", async () => {
    expect(await of({})).toEqual([1 + 0.5 * 10, 2]);
  });

  it("double: the learning network chooses, the target network values", async () => {
    expect(await of({ double: true })).toEqual([1 + 0.5 * 4, 2]);
  });

  it("take what is allowed only", async () => {
    const nextMask = tensor([
      [1, 0],
      [1, 1],
    ]);
    expect(await of({}, { nextMask })).toEqual([1 + 0.5 * 4, 2]);
  });

  it("the target network is the learning one after every so many updates, and stands still between", async () => {
    const makeMasked = defineEnvironment({
      name: "Masked",
      observation: discrete(3),
      action: discrete(3),
      timeLimit: 6,
      initial: (random) => ({ at: random.integer(3) }),
      step: ({ at }, action) => {
        if (action === at) throw new Error("this was forbidden");
        return { state: { at: action as number }, reward: 1, terminated: false };
      },
      observe: ({ at }) => at,
      actionMask: ({ at }) => Uint8Array.from([0, 1, 2], (i) => (i === at ? 0 : 1)),
    });
    const made = async (maxUpdates: number) => {
      const task = dqnTask({
        env: vectorEnvironment({ make: makeMasked, count: 2 }),
        policy: { encoder: { kind: "mlp", hidden: [8] }, towers: "shared" },
        optimizer: optim.sgd({ learningRate: 0.1 }),
        ...{ rolloutSteps: 2, updates: 2, cycles: 20, batchSize: 8, learningStarts: 8, epsilon: 0.5, engine },
        target: { every: 3 },
      });
      const config = { epochs: 1, maxUpdates, handleSignals: false };
      await new Trainer({ task, config, warn: () => {} }).train();
      const target = await task.components.target?.getState();
      const same = (await firstDifference(task.params, target as never)) === undefined;
      expect(same).toBe(maxUpdates % 3 === 0);
      return target;
    };
    const [third, fourth, fifth, sixth] = await Promise.all([3, 4, 5, 6].map(made));
    expect(await firstDifference(third as never, fourth as never)).toBeUndefined();
    expect(await firstDifference(third as never, fifth as never)).toBeUndefined();
    expect(await firstDifference(third as never, sixth as never)).toBeDefined();
  });
});
