import { describe, expect, it } from "vitest";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { adam } from "../../optim/index.ts";
import { inSample } from "../../sweep.test-support.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { entropyLoss, policyLoss, valueLoss } from "../losses/actor-critic.ts";
import { environments, smallTask, trained, type Where } from "./on-policy.test-support.ts";
import type { OnPolicyOptions } from "./options.ts";
import { choosing, forbidding, looking, type World, worlds } from "./worlds.test-support.ts";

const both = ["compiled", "ordinary"] as const;

/** Trains, and gives the mean return of the episodes of each rollout, and all losses. */
async function returnsOf(
  where: Where,
  engine: "wasm" | "xla",
  epochs: number,
  more: Partial<OnPolicyOptions>,
  config = {},
) {
  const [returns, losses]: [number[], number[]] = [[], []];
  const hook: TrainerHook = {
    name: "returns",
    onBatchesEnd: async ({ values }: TrainerContext) => {
      const { "episode.return": found = [], loss = [] } = (await values?.read()) ?? {};
      returns.push(...found);
      losses.push(...loss);
    },
  };
  const task = smallTask(where, engine, {
    losses: [policyLoss(), valueLoss(), entropyLoss()],
    ...{ optimizer: adam(), learningRate: 0.02, rolloutSteps: 20, gamma: 0.5, ...more },
  });
  const done = await trained(task, { epochs, ...config }, [hook]);
  expect(losses.length).toBeGreaterThan(0);
  expect(losses.every(Number.isFinite)).toBe(true);
  return { returns, ...done };
}

const late = (numbers: readonly number[]): number => numbers.slice(-5).reduce((a, b) => a + b, 0) / 5;

describe.each(inSample ? both : [])("with %s environments", (where) => {
  it("what is forbidden is never done, and is learned around", async () => {
    const { returns } = await returnsOf(where, "wasm", 4, { env: worlds(where, forbidding, 4) });
    // Six steps of 1 each; a forbidden one would have failed, or cost 100.
    expect(returns).toEqual([6, 6, 6, 6]);
  });

  it("two agents of one world are two rows", async () => {
    const { counters, returns } = await returnsOf(where, "wasm", 2, {
      env: environments(where, "GridWorldTeam-v0", 3),
      rolloutSteps: 64,
    });
    expect(counters.samples).toBe(2 * 64 * 3 * 2);
    expect(returns).toHaveLength(2);
  });

  it("continuous actions are drawn and bounded", async () => {
    const { returns } = await returnsOf(where, "wasm", 2, {
      ...{ env: environments(where, "Pendulum-v1", 2), rolloutSteps: 256, minibatches: 1 },
      ...{ normalize: { observations: true, rewards: true }, learningRate: 1e-3 },
    });
    expect(returns.every((x) => x < 0 && x > -2000)).toBe(true);
  });
});

describe.each(inSample ? [] : both)("with %s environments", (where) => {
  it("dicts are seen and several choices made at once", async () => {
    const { returns } = await returnsOf(where, "wasm", 40, { env: worlds(where, choosing, 4) });
    // By chance (1 / 2 + 1 / 3) of each step's 2.
    expect(returns[0]).toBeLessThan(5.5);
    expect(late(returns)).toBeGreaterThan(7);
  });
});

describe.each(sweepEngines())("pictures on %s", (engine) => {
  const cnn = { encoder: { kind: "cnn", channels: [4], hidden: [8], scale: 255 } } as const;
  const looks = (where: Where, epochs: number, config = {}) =>
    returnsOf(
      where,
      engine,
      epochs,
      { env: worlds(where, looking satisfies World, 4), policy: cnn, learningRate: 0.01 },
      config,
    );

  it.each(inSample ? [] : both)("are learned from with %s environments", async (where) => {
    const { returns } = await looks(where, 20);
    expect(late(returns)).toBeGreaterThan(3.5);
  });

  it.each(both)("however the work is cut, with %s environments", async (where) => {
    const [whole, cut] = [await looks(where, 3), await looks(where, 3, { fuse: false })];
    expect(cut.hashes).toEqual(whole.hashes);
    expect(cut.counters).toEqual(whole.counters);
  });
});
