import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { checkpointHook } from "../../checkpoint/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { every } from "../../schedule/index.ts";
import { describeInSample } from "../../sweep.test-support.ts";
import { defineEnvironment } from "../environments/define.ts";
import type { Environment } from "../environments/environment.ts";
import { makeEnvironment } from "../environments/registry.ts";
import { ppo } from "../presets/ppo.ts";
import { box, dict, discrete, multiDiscrete, type SpaceValue } from "../spaces/space.ts";
import { loadActor } from "./actor.ts";

const directory = mkdtempSync(join(tmpdir(), "espalier-actor-"));
afterAll(() => rmSync(directory, { recursive: true }));

const small = {
  totalSteps: 256,
  environments: 4,
  rolloutSteps: 16,
  updateEpochs: 1,
  minibatches: 2,
  seed: 1,
};
const saving = (name: string) =>
  checkpointHook({ directory: join(directory, name), schedule: every({ epochs: 4 }) });

/** Sees a picture and a gear; its first choice is only allowed in the first gear. */
const makeCar = defineEnvironment({
  name: "Car",
  observation: dict({ seen: box({ shape: [2, 2] }), gear: discrete(3) }),
  action: multiDiscrete([2, 3]),
  timeLimit: 10,
  initial: (random) => ({ gear: random.integer(3), at: random.uniform(-1, 1) }),
  step: ({ gear, at }, action) => ({
    state: { gear: (gear + (action[1] as number)) % 3, at: at * 0.9 },
    reward: action[0] as number,
    terminated: false,
  }),
  observe: ({ gear, at }) => ({ seen: [at, -at, at * at, 1], gear }),
  actionMask: ({ gear }) => [gear === 0 ? 1 : 0, 1, 1, 1, 1],
});

/** Some observations as an environment gives them. */
function observed(environment: Environment, count: number): SpaceValue[] {
  return Array.from({ length: count }, (_, seed) => environment.reset({ seed }).observation as SpaceValue);
}

describe.each(sweepEngines())("an actor on %s", (engine) => {
  it("does in an environment what the evaluation does", async () => {
    const agent = ppo({ env: "CartPole-v1", compiled: false, engine, ...small, totalSteps: 2048 });
    await agent.train();
    const { episodes } = await agent.evaluate({ episodes: 3, seed: 5 });
    const actor = await agent.actor<number>();
    for (const { seed, length, return: earned } of episodes) {
      const environment = makeEnvironment("CartPole-v1");
      let { observation } = environment.reset({ seed });
      let [steps, total, over] = [0, 0, false];
      actor.reset();
      while (!over) {
        const step = environment.step(actor.act(observation as SpaceValue));
        total += step.reward as number;
        [observation, over, steps] = [step.observation, step.terminated || step.truncated, steps + 1];
      }
      expect([steps, total]).toEqual([length, earned]);
    }
  });

  it("is found in a checkpoint, without its environment, and stays as it is while training goes on", async () => {
    const env = () => makeCar() as Environment;
    const agent = ppo({ env, engine, ...small, normalizeObservations: true });
    await agent.train({ hooks: [saving(`car-${engine}`)] });
    const actor = await agent.actor<Int32Array>();
    const path = join(directory, `car-${engine}`);
    const loaded = await loadActor<Int32Array>(path, { engine });
    const byUrl = await loadActor<Int32Array>(pathToFileURL(path), { engine });
    const before = agent.task;
    await agent.train({ steps: 512 });
    expect(agent.task).not.toBe(before);
    for (const seen of observed(makeCar() as Environment, 8)) {
      const action = actor.act(seen);
      expect(action).toBeInstanceOf(Int32Array);
      expect(loaded.act(seen)).toEqual(action);
      expect(byUrl.act(seen)).toEqual(action);
    }
  });

  it("never does what a mask forbids", async () => {
    const agent = ppo({ env: () => makeCar() as Environment, engine, ...small, totalSteps: 64 });
    await agent.train();
    const actor = await agent.actor<Int32Array>({ deterministic: false, count: 2 });
    const [seen] = observed(makeCar() as Environment, 1) as [SpaceValue];
    for (let i = 0; i < 20; i++) {
      const [first, second] = actor.actAll([seen, seen], [[1, 0, 0, 0, 1], undefined]);
      expect([...(first as Int32Array)]).toEqual([0, 2]);
      expect((second as Int32Array).length).toBe(2);
    }
    // Each of the two choices needs one that is allowed.
    for (const [mask, from] of [
      [[0, 0, 1, 1, 1], 0],
      [[1, 0, 0, 0, 0], 2],
    ] as const)
      expect(() => actor.actAll([seen, seen], [undefined, mask])).toThrow(`allows nothing from ${from} on`);
  });

  it("remembers for each that acts, until it is reset", async () => {
    const policy = { encoder: { kind: "mlp", hidden: [8] }, memory: { kind: "gru", width: 8 } } as const;
    const agent = ppo({ env: "Pendulum-v1", engine, ...small, policy });
    await agent.train();
    const seen = observed(makeEnvironment("Pendulum-v1"), 3);
    const [one, three] = [await agent.actor<Float32Array>(), await agent.actor<Float32Array>({ count: 3 })];
    const alone = seen.map((observation) => {
      one.reset();
      return [one.act(observation), one.act(observation)];
    });
    const together = [three.actAll(seen), three.actAll(seen)];
    alone.forEach((pair, i) => {
      expect(pair[0]).not.toEqual(pair[1]); // It has seen this before.
      for (const t of [0, 1] as const)
        expect(Math.abs((pair[t]?.[0] as number) - (together[t]?.[i]?.[0] as number))).toBeLessThan(1e-5);
    });
    three.reset(1);
    const after = three.actAll(seen);
    expect(after[1]).toEqual(together[0]?.[1]);
    expect(after[0]).not.toEqual(together[0]?.[0]);
  });

  it("draws by its seed, where it is to draw", async () => {
    const agent = ppo({ env: "CartPole-v1", compiled: false, engine, ...small, totalSteps: 64 });
    await agent.train();
    const [seen] = observed(makeEnvironment("CartPole-v1"), 1) as [SpaceValue];
    const drawn = async (seed: number) => {
      const actor = await agent.actor<number>({ deterministic: false, seed });
      return Array.from({ length: 40 }, () => actor.act(seen));
    };
    const first = await drawn(1);
    expect(await drawn(1)).toEqual(first);
    expect(await drawn(2)).not.toEqual(first);
    expect(new Set(first)).toEqual(new Set([0, 1]));
  });
});

describeInSample("an actor says what is wrong", () => {
  const trained = async () => {
    const agent = ppo({ env: "CartPole-v1", compiled: false, engine: "wasm", ...small, totalSteps: 64 });
    await agent.train();
    return agent;
  };

  it("with what it is given", async () => {
    const agent = await trained();
    const actor = await agent.actor();
    const of = (code: string, text: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(text) });
    expect(() => actor.act([1, 2])).toThrow(of("OBSERVATION_INVALID", /2 numbers|does not fit/));
    expect(() => actor.act([1, 2, Number.NaN, 4])).toThrow(of("OBSERVATION_INVALID", /NaN at 2/));
    expect(() => actor.act([1, 2, 3, 4], [1])).toThrow(of("OBSERVATION_INVALID", /mask of length 1/));
    expect(() => actor.act([1, 2, 3, 4], [0, 0])).toThrow(
      of("OBSERVATION_INVALID", /allows nothing from 0 on/),
    );
    expect(() => actor.act(undefined as never)).toThrow(
      of("OBSERVATION_INVALID", /it is undefined, where 4 numbers/),
    );
    expect(() => actor.actAll(undefined as never)).toThrow(of("SHAPE_MISMATCH", /no observations for 1/));
    expect(() => actor.actAll([])).toThrow(of("SHAPE_MISMATCH", /0 observations for 1/));
    expect(() => actor.reset(1)).toThrow(of("INDEX_OUT_OF_RANGE", /no 1 among 1/));
    await expect(agent.actor({ count: 0 })).rejects.toThrow(/count/);
    await expect(agent.actor({ deterministc: true } as never)).rejects.toThrow(
      /did you mean "deterministic"/,
    );
    const several = await agent.actor({ count: 2 });
    expect(() => several.act([1, 2, 3, 4])).toThrow(of("SHAPE_MISMATCH", /1 observations for 2/));
  });

  it("before there is a policy, and where there is none", async () => {
    await expect(ppo({ env: "CartPole-v1" }).actor()).rejects.toThrow(
      expect.objectContaining({ code: "NOT_TRAINED" }),
    );
    await expect(loadActor(join(directory, "nowhere"))).rejects.toThrow(/nowhere/);
  });
});
