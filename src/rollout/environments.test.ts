import { describe, expect, it } from "vitest";
import { type EspalierError, treeMap } from "../core/index.ts";
import { compile, put, read, type Tensor, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import {
  buildPolicy,
  type Environment,
  makeEnvironment,
  maskActions,
  type Policy,
  type PolicySpec,
  playEpisodes,
  type ResetOptions,
} from "../rl/index.ts";
import { Trainer } from "../trainer/index.ts";
import { environmentRollouts, learnedFrom, policyTask } from "./environments.ts";
import type { NamedArrays, RolloutGenerator, ShapedArray } from "./rollout.ts";
import { inProcessTransport } from "./transport.ts";
import { arraysOf } from "./weights.ts";
import { RolloutWorker } from "./worker.ts";

const engine = "wasm";
const small: PolicySpec = { encoder: { kind: "mlp", hidden: [8] } };
const remembering: PolicySpec = { ...small, memory: { kind: "gru", width: 4 } };
const { signal } = new AbortController();
const key = (n: number): Uint32Array => Uint32Array.of(7, n);

/** A generator with weights. */
function ready(
  env: string,
  spec: PolicySpec,
  options: Partial<Parameters<typeof environmentRollouts>[0]> = {},
) {
  const policy = buildPolicy(spec, makeEnvironment(env));
  const params = policy.init(3, { engine });
  const generator = environmentRollouts({ env, policy: spec, count: 3, steps: 16, engine, ...options });
  void generator.setParams(params);
  return { policy, params, generator };
}

const roll = (generator: RolloutGenerator, n: number, lesson = generator.lessons[0] as string) =>
  generator.rollout({ lesson, key: key(n), signal });

const array = (arrays: NamedArrays, name: string): ShapedArray => arrays[name] as ShapedArray;

/** The numbers of a row of a field. */
function row(arrays: NamedArrays, name: string, i: number): readonly number[] {
  const { data, shape } = array(arrays, name);
  const width = data.length / (shape[0] as number);
  return Array.from(data.subarray(i * width, (i + 1) * width));
}

const rows = (arrays: NamedArrays, of: (i: number) => readonly number[]): readonly number[] =>
  Array.from({ length: array(arrays, "reset").shape[0] as number }, (_, i) => of(i)).flat();

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  const worst = Math.max(...Array.from(actual, (x, i) => Math.abs(x - (expected[i] as number))));
  expect(actual.length).toBe(expected.length);
  expect(worst).toBeLessThan(2e-4);
}

const targets = { gamma: 0.9, lambda: 0.8, rhoBar: 1, cBar: 1 };

/** The pass that losses share, over a whole rollout and one row that only fills up. */
async function learned(policy: Policy, params: Params<Tensor>, arrays: NamedArrays) {
  const count = array(arrays, "reset").shape[0] as number;
  const units = Object.entries(arrays).map(([name, { data, shape }]) => {
    const padded = new Float32Array(data.length + data.length / count);
    padded.set(data);
    return [name, put(padded, { engine, shape: [count + 1, ...shape.slice(1)] })] as const;
  });
  const valid = put(new Float32Array(count + 1).fill(1, 0, count), { engine });
  const pass = compile((params: Params, units: Readonly<Record<string, Value>>) => {
    const { experience, outputs } = learnedFrom(policy, params, units, targets);
    const { advantage, return: target, valid } = experience;
    return { advantage, target, valid, logProb: outputs.logProb, value: outputs.value };
  });
  return read(pass(params, { ...Object.fromEntries(units), valid }));
}

/** V-trace as the paper has it, with lambda: from the last step of a row to the first. */
function vtrace(
  arrays: NamedArrays,
  logProb: ArrayLike<number>,
  values: ArrayLike<number>,
  ends: readonly number[],
) {
  const [count, times] = array(arrays, "reset").shape as [number, number];
  const found = new Float64Array(count * (times - 1));
  for (let i = 0; i < count; i++) {
    const [reset, reward, terminated, truncated, behaviour] = [
      "reset",
      "reward",
      "terminated",
      "truncated",
      "logProb",
    ].map((name) => row(arrays, name, i)) as [number[], number[], number[], number[], number[]];
    let next = 0;
    for (let t = times - 2; t >= 0; t--) {
      const at = i * (times - 1) + t;
      const ratio = Math.min(1, Math.exp((logProb[at] as number) - (behaviour[t] as number)));
      const after = t === times - 2 ? (ends[i] as number) : (values[at + 1] as number);
      const error =
        (reward[t] as number) + 0.9 * (1 - (terminated[t] as number)) * after - (values[at] as number);
      const goesOn = terminated[t] || truncated[t] ? 0 : 1;
      next = reset[t + 1] ? 0 : ratio * error + 0.9 * 0.8 * ratio * goesOn * next;
      found[at] = next;
    }
  }
  return found;
}

describe("environmentRollouts", () => {
  it("gives rows of steps that fit together, and the scores of the episodes that ended in them", async () => {
    const { generator } = ready("CartPole-v1", small, { steps: 64 });
    const first = await roll(generator, 0);
    const second = await roll(generator, 1);
    const shapes = Object.entries(first.arrays).map(([name, { shape }]) => [name, shape]);
    expect(Object.fromEntries(shapes)).toEqual({
      observation: [3, 65, 4],
      reset: [3, 65],
      action: [3, 64, 1],
      logProb: [3, 64],
      value: [3, 64],
      parameters: [3, 64, 2],
      reward: [3, 64],
      terminated: [3, 64],
      truncated: [3, 64],
    });
    for (let i = 0; i < 3; i++) {
      const resets = row(first.arrays, "reset", i);
      // The step after the one that ends an episode begins the next, and no reward belongs to it.
      expect(resets.slice(2)).toEqual(row(first.arrays, "terminated", i).slice(0, -1));
      expect(row(first.arrays, "reward", i)).toEqual(resets.slice(1).map((begun) => 1 - begun));
      // The next rollout goes on where this one ended.
      expect(row(second.arrays, "observation", i).slice(0, 4)).toEqual(
        row(first.arrays, "observation", i).slice(-4),
      );
    }
    const ended = rows(first.arrays, (i) => row(first.arrays, "terminated", i)).filter(
      (end) => end === 1,
    ).length;
    expect(ended).toBeGreaterThan(3);
    expect(first).toMatchObject({ episodes: ended, positive: 1 });
    expect(first.metrics).toEqual({ "episode.length": first.return });
  });

  it("goes on from its state with the same numbers: episodes, memory and all lessons", async () => {
    const { generator, params } = ready("GridWorld-v0", remembering);
    const [easy, hard] = generator.lessons as readonly [string, string];
    await roll(generator, 0, hard);
    await roll(generator, 1, easy);
    const state = await generator.state?.getState();
    const other = ready("GridWorld-v0", remembering).generator;
    await roll(other, 9, easy);
    await other.state?.setState(state ?? null);
    void other.setParams(params);
    for (const [n, lesson] of [easy, hard, easy].entries())
      expect(await roll(other, n + 2, lesson)).toEqual(await roll(generator, n + 2, lesson));
    expect(() => other.state?.setState({ nowhere: 1 })).toThrow("nowhere");
  });

  it("plays the lessons that it is given, and evaluates the same episodes for the same key", async () => {
    const begun = new Set<number | undefined>();
    const env = () => {
      const inner = makeEnvironment("GridWorld-v0");
      const reset = inner.reset.bind(inner);
      return Object.assign(inner, {
        reset: (options?: ResetOptions) => {
          begun.add(options?.lesson);
          return reset(options);
        },
      });
    };
    const { generator } = ready("GridWorld-v0", small, { env, lessons: ["far", "maze"] });
    expect(generator.lessons).toEqual(["far", "maze"]);
    const evaluate = (lesson: string, n: number) =>
      generator.evaluate({ lesson, key: key(n), signal, examples: 3 });
    const scores = await evaluate("far", 0);
    expect(scores).toMatchObject({ episodes: 3, metrics: { "episode.length": expect.any(Number) } });
    begun.clear();
    await roll(generator, 0, "maze");
    expect([...begun].filter((lesson) => lesson !== undefined)).toEqual([6]);
    expect(await evaluate("far", 0)).toEqual(scores);
    await expect(roll(generator, 0, "nowhere")).rejects.toMatchObject({ code: "LESSON_UNKNOWN" });
    expect(codeOf(() => ready("GridWorld-v0", small, { lessons: ["nowhere"] }))).toBe("LESSON_UNKNOWN");
    expect(codeOf(() => ready("GridWorld-v0", small, { lessons: ["far", "far"] }))).toBe("OPTION_INVALID");
  });

  it("never takes actions that a mask forbids, and gives the masks to training", async () => {
    const env = () => maskActions(makeEnvironment("CartPole-v1"), () => [0, 1]);
    const { policy, params, generator } = ready("CartPole-v1", small, { env });
    const { arrays } = await roll(generator, 0);
    expect(array(arrays, "mask").shape).toEqual([3, 17, 2]);
    const valid = rows(arrays, (i) => row(arrays, "reset", i).slice(1));
    expect(array(arrays, "action").data.filter((_, i) => valid[i] === 0)).toEqual(
      new Float32Array(valid.filter((begun) => begun === 0).length).fill(1),
    );
    const { logProb } = await learned(policy, params, arrays);
    expectClose(logProb.subarray(0, valid.length), array(arrays, "logProb").data);
  });

  it("refuses to play without weights, and weights of another model, whose place the old ones keep", async () => {
    const { generator, params } = ready("CartPole-v1", small);
    const bare = environmentRollouts({ env: "CartPole-v1", policy: small, engine });
    await expect(roll(bare, 0)).rejects.toMatchObject({ code: "WEIGHTS_MISSING" });
    const wide = buildPolicy({ encoder: { kind: "mlp", hidden: [9] } }, makeEnvironment("CartPole-v1"));
    expect(codeOf(() => generator.setParams(wide.init(0, { engine })))).toBe("WEIGHTS_INVALID");
    const other = ready("CartPole-v1", small).generator;
    void other.setParams(params);
    expect(await roll(generator, 0)).toEqual(await roll(other, 0));
  });
});

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as EspalierError).code;
  }
  return "none";
}

describe("policyTask's pass over units", () => {
  it.each([
    ["without memory", small],
    ["with memory", remembering],
  ])("finds for the same weights what the rollout recorded, %s", async (_, spec) => {
    const { generator, policy, params } = ready("CartPole-v1", spec);
    await roll(generator, 0);
    const { arrays } = await roll(generator, 1);
    const found = await learned(policy, params, arrays);
    const acted = rows(arrays, (i) =>
      row(arrays, "reset", i)
        .slice(1)
        .map((begun) => 1 - begun),
    );
    expectClose(found.logProb.subarray(0, acted.length), array(arrays, "logProb").data);
    expectClose(found.value.subarray(0, acted.length), array(arrays, "value").data);
    expect(Array.from(found.valid)).toEqual([...acted, ...new Array(16).fill(0)]);
  });

  it("has the advantages and targets of V-trace for weights that have moved on", async () => {
    const { generator, policy, params } = ready("CartPole-v1", small, { steps: 48 });
    const { arrays } = await roll(generator, 0);
    const moved = treeMap(
      (one: Tensor) =>
        put(
          (one.readSync() as Float32Array).map((x, i) => x + 0.2 * Math.sin(i)),
          { engine, shape: one.shape },
        ),
      params,
    );
    const found = await learned(policy, moved, arrays);
    const values = compile(
      (params: Params, observation: Value) =>
        policy.unroll(params, { observation, state: {}, reset: observation.sum({ axis: 2 }).equal(0) }).value,
    )(moved, put(array(arrays, "observation").data, { engine, shape: [3, 49, 4] }));
    const all = await values.read();
    const expected = vtrace(
      arrays,
      found.logProb,
      found.value,
      [0, 1, 2].map((i) => all[49 * i + 48] as number),
    );
    expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(1);
    expectClose(found.advantage.subarray(0, expected.length), expected);
    expectClose(
      found.target.subarray(0, expected.length),
      expected.map((x, i) => x + (found.value[i] as number)),
    );
  });
});

describe("policyTask", () => {
  const make = () =>
    policyTask({
      env: "CartPole-v1",
      policy: small,
      engine,
      generator: environmentRollouts({ env: "CartPole-v1", policy: small, engine, count: 4, steps: 8 }),
      worker: { defaultHooks: false },
      ...{ batchSize: 2, updates: 4, maxReuse: 2 },
    });

  it("learns from each row as often as it may, and nothing is left for the next epoch", async () => {
    const task = make();
    const before = await arraysOf(task.params);
    const { metrics } = await new Trainer({ task, config: { epochs: 3, seed: 1 } }).train();
    expect(task.counts).toMatchObject({ rollouts: 3, units: 12, stale: 0 });
    expect(metrics["policy.ratio"]).toBeCloseTo(1, 0);
    expect(await arraysOf(task.params)).not.toEqual(before);
    const played = await playEpisodes({
      player: task.player,
      state: (await task.snapshot(task.player.reads)).components,
      env: "CartPole-v1",
      episodes: 2,
      seed: 0,
    });
    expect(played).toHaveLength(2);
    await task.close();
  });

  it("lets its workers end where the run fails", async () => {
    const transport = inProcessTransport();
    const generator = environmentRollouts({ env: "CartPole-v1", policy: small, engine, steps: 8 });
    const worker = new RolloutWorker({ generator, link: transport.worker("worker-0"), defaultHooks: false });
    const running = worker.run();
    const task = policyTask({ env: "CartPole-v1", policy: small, engine, transport, updates: 1 });
    const failing = {
      name: "failing",
      onEpochEnd: () => {
        throw new Error("a hook failed");
      },
    };
    const trainer = new Trainer({ task, config: { epochs: 3 }, hooks: [failing] });
    await expect(trainer.train()).rejects.toThrow("a hook failed");
    expect(await running).toMatchObject({ outcome: "stopped", reason: "the transport was closed" });
  });

  it("names the policy and the environment in its settings, so that a checkpoint can be played", () => {
    expect(make().settings).toMatchObject({
      environment: "CartPole-v1",
      policy: small,
      spaces: { actionSpace: { kind: "discrete", n: 2 } },
      ...{ gamma: 0.98, lambda: 0.8, maxStaleness: 3 },
    });
  });

  it("refuses options that cannot be", () => {
    expect(codeOf(() => policyTask({ env: "CartPole-v1" }))).toBe("OPTION_INVALID");
    expect(codeOf(() => policyTask({ env: "CartPole-v2" }))).toBe("ENVIRONMENT_UNKNOWN");
    const misspelt = { env: "CartPole-v1", transport: inProcessTransport(), monitor: { gradient: true } };
    expect(codeOf(() => policyTask(misspelt))).toBe("OPTION_UNKNOWN");
    const env = "CartPole-v1";
    for (const wrong of [
      { params: JSON.parse('{ "w": 5 }') },
      { transport: { ...JSON.parse("{}"), take() {} } },
    ])
      expect(codeOf(() => policyTask({ env, transport: inProcessTransport(), ...wrong }))).toBe(
        "OPTION_INVALID",
      );
    const nothing = (): Environment => JSON.parse("null");
    expect(codeOf(() => environmentRollouts({ env: nothing }))).toBe("ENVIRONMENT_INVALID");
    expect(codeOf(() => environmentRollouts({ env: "CartPole-v1", steps: 0 }))).toBe("OPTION_INVALID");
    expect(
      codeOf(() =>
        policyTask({ env: "CartPole-v1", policy: buildPolicy(small, makeEnvironment("Acrobot-v1")) }),
      ),
    ).toBe("POLICY_MISMATCH");
  });
});
