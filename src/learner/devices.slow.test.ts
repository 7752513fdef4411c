import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, localStore } from "../checkpoint/index.ts";
import { treeLeaves } from "../core/index.ts";
import { characterTokenizer, fromArrays } from "../data/index.ts";
import { type HostArray, put, read, type Tensor } from "../engine/index.ts";
import { requirePlugin } from "../engine/xla/plugin/require-plugin.ts";
import { grpoLoss, referenceKlLoss, type TextLesson } from "../language/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { dqnTask } from "../rl/dqn/task.ts";
import { ppo } from "../rl/index.ts";
import { smallTask } from "../rl/on-policy/on-policy.test-support.ts";
import { vectorEnvironment } from "../rl/vector/vector-environment.ts";
import { languageTask, textRollouts } from "../rollout/index.ts";
import { every, never } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { accuracy, f1, supervisedTask, supervisedTrainer } from "../supervised/index.ts";
import type { SupervisedOptions } from "../supervised/options.ts";
import { type Task, Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import type { DevicesOption } from "./devices.ts";

const plugin = requirePlugin();

/** 70 examples: 4 batches of 16, and one of 6, which 4 devices cannot share. */
const examples = {
  x: { data: Float32Array.from({ length: 70 * 12 }, (_, i) => Math.sin(i * 1.7)), shape: [70, 12] },
  y: Int32Array.from({ length: 70 }, (_, i) => (i * i) % 3),
};

/** Dropout, accumulation, clipping, metrics of batches and of whole sets, validation, an average of the parameters. */
const supervised = (devices: DevicesOption | undefined, more: Partial<SupervisedOptions> = {}) =>
  supervisedTask({
    engine: "xla",
    model: nn.sequential([nn.dense(64), nn.tanh, nn.dropout(0.2), nn.dense(40), nn.tanh, nn.dense(3)]),
    optimizer: optim.chain(optim.clipByGlobalNorm(1), optim.adam({ learningRate: 0.01 })),
    data: examples,
    validation: examples,
    loss: nn.crossEntropy,
    metrics: { accuracy, f1: f1() },
    batchSize: 16,
    accumulate: 2,
    seed: 1,
    devices,
    ...more,
  });

const train = (task: Task, config: Partial<TrainingConfig> = {}, hooks: readonly TrainerHook[] = []) =>
  new Trainer({
    task,
    config: { epochs: 4, seed: 3, handleSignals: false, ...config },
    hooks,
    warn: () => {},
  }).train();

const numbersIn = async (task: Task, component = "params"): Promise<number[]> => {
  const state = (await task.components[component]?.getState()) as Readonly<Record<string, Tensor>>;
  const arrays: readonly HostArray[] = await read(treeLeaves<Tensor>(state));
  return arrays.flatMap((array) => [...array]);
};

/** The distance between parameters, as a share of their norm. */
const distance = async (a: Task, b: Task, component = "params"): Promise<number> => {
  const [x, y] = [await numbersIn(a, component), await numbersIn(b, component)];
  return Math.hypot(...x.map((n, i) => n - (y[i] as number))) / Math.hypot(...x);
};

const hashOf = async (task: Task): Promise<string> =>
  hashState(
    Object.fromEntries(
      await Promise.all(
        Object.entries(task.components).map(async ([name, part]) => [name, await part.getState()]),
      ),
    ) as StateTree,
  );

describe.skipIf(!plugin)("several devices", () => {
  it.each([2, 4])("%i learn from examples what one does", async (count) => {
    const [one, several] = [supervised(undefined), supervised(count)];
    const [alone, together] = [await train(one), await train(several)];
    expect(await distance(one, several)).toBeLessThan(1e-5);
    expect(await distance(one, several, "optimizer")).toBeLessThan(1e-5);
    for (const [name, value] of Object.entries(alone.metrics))
      expect(together.metrics[name], name).toBeCloseTo(value, 4);
    expect(Object.keys(together.metrics).sort()).toEqual(Object.keys(alone.metrics).sort());
    // Predictions and tests run there too, also of tensors that are on one device.
    const rows = put(examples.x.data.slice(0, 24), { shape: [2, 12], engine: "xla" });
    const [a, b] = [await one.predict(rows).read(), await several.predict(rows).read()];
    a.forEach((n, i) => {
      expect(b[i]).toBeCloseTo(n, 4);
    });
    expect((await several.test(examples)).accuracy).toBeCloseTo((await one.test(examples)).accuracy ?? 0, 4);
  });

  it("learn from examples that are streamed, and from parameters of one device", async () => {
    const { params } = supervised(undefined, { seed: 9 });
    const made = (devices: number) =>
      supervisedTask({
        model: nn.mlp({ hidden: [32], out: 3 }),
        optimizer: optim.sgd({ learningRate: 0.1 }),
        data: fromArrays(examples),
        loss: nn.crossEntropy,
        ...{ batchSize: 16, seed: 2, engine: "xla", devices },
      });
    const [one, two] = [await made(1), await made(2)];
    await train(one);
    await train(two);
    expect(await distance(one, two)).toBeLessThan(1e-5);
    const given = supervised(2, { params });
    expect(await distance(given, supervised(undefined, { seed: 9 }))).toBe(0);
  });

  it("one device is what it was, said or not", async () => {
    const [one, said] = [supervised(undefined), supervised({ count: 1, shardOptimizer: true })];
    await train(one);
    await train(said);
    expect(await hashOf(said)).toBe(await hashOf(one));
  });

  it("share the optimizer's state, and compute the same", async () => {
    const [whole, shared] = [supervised(4), supervised({ count: 4, shardOptimizer: true })];
    for (const task of [whole, shared]) {
      task.average?.({ decay: 0.9, validate: true });
      await train(task);
    }
    for (const name of ["params", "optimizer", "ema"])
      expect(await distance(whole, shared, name)).toBeLessThan(1e-6);
    const axes = async (task: Task, name: string) => {
      const leaves = treeLeaves<Tensor>((await task.components[name]?.getState()) as never);
      return leaves.filter(({ size }) => size > 1024).map(({ shardedAxis }) => shardedAxis);
    };
    // Weights of the second layer, [64, 40]: in two moments of Adam, and in the average.
    expect([await axes(shared, "optimizer"), await axes(shared, "ema")]).toEqual([[0, 0], [0]]);
    expect([await axes(whole, "optimizer"), await axes(shared, "params")]).toEqual([
      [undefined, undefined],
      [undefined],
    ]);
  });

  it.each([
    ["2 devices", 2],
    ["4 that share the optimizer's state", { count: 4, shardOptimizer: true }],
  ] as const)("%s go on from a checkpoint with the same bits", async (_name, devices) => {
    const whole = supervised(devices);
    await train(whole);
    const store = localStore(temporaryDirectory());
    for (const maxUpdates of [4, undefined]) {
      const task = supervised(devices);
      const hook = checkpointHook({ store, schedule: every({ updates: 100 }) });
      await train(task, { ...(maxUpdates && { maxUpdates }), validateAtEnd: false }, [hook]);
      if (!maxUpdates) expect(await hashOf(task)).toBe(await hashOf(whole));
    }
  });

  it("go on from a checkpoint of another number of devices, where that is allowed", async () => {
    const whole = supervised(undefined);
    await train(whole);
    for (const [first, second] of [
      [{ count: 4, shardOptimizer: true }, 1],
      [1, 4],
    ] as const) {
      const store = localStore(temporaryDirectory());
      await train(supervised(first), { maxUpdates: 5 }, [checkpointHook({ store })]);
      const refused = train(supervised(second), {}, [checkpointHook({ store })]);
      await expect(refused).rejects.toMatchObject({
        cause: {
          code: "CHECKPOINT_MISMATCH",
          message: expect.stringMatching(/devices is \{"count":\d.*allow: .*"devices"/s),
        },
      });
      const task = supervised(second);
      await train(task, {}, [checkpointHook({ store, allow: ["devices"] })]);
      expect(await distance(task, whole)).toBeLessThan(1e-5);
    }
  });

  it("4 give one hash in 100 runs, while another thread takes the machine's time or not", async () => {
    const model = nn.mlp({ hidden: [32], out: 3 });
    const seen = new Set<string>();
    const busy: Worker[] = [];
    for (let i = 0; i < 100; i++) {
      if (i === 50) busy.push(new Worker("for (;;) Math.random();", { eval: true }));
      const task = supervised(4, { model, metrics: {}, accumulate: 1 });
      await train(task, { epochs: 2, validate: never(), validateAtEnd: false });
      seen.add(await hashOf(task));
    }
    for (const worker of busy) await worker.terminate();
    expect(seen.size).toBe(1);
  }, 300_000);

  it.each([
    ["compiled", 2],
    ["compiled", 4],
    ["ordinary", 2],
  ] as const)("PPO with %s environments on %i learns what it does on one", async (where, count) => {
    const [one, several] = [smallTask(where, "xla"), smallTask(where, "xla", { devices: count })];
    const [alone, together] = [await train(one), await train(several)];
    expect(await distance(one, several)).toBeLessThan(1e-5);
    for (const [name, value] of Object.entries(alone.metrics))
      expect(together.metrics[name], name).toBeCloseTo(value, 3);
  });

  it("an agent on 2 trains, is evaluated and acts", async () => {
    const agent = ppo({ env: "CartPole-v1", seed: 1, devices: 2, engine: "xla" });
    await agent.train({ steps: 1024 });
    expect((await agent.evaluate({ episodes: 2 })).return).toBeGreaterThan(5);
    expect([0, 1]).toContain((await agent.actor<number>()).act([0, 0, 0.1, 0.5]));
  });

  it("DQN on 2 and 4 learns what it does on one", async () => {
    const made = (devices: DevicesOption) =>
      dqnTask({
        env: vectorEnvironment({ make: "CartPole-v1", count: 2 }),
        optimizer: optim.adam({ learningRate: 1e-3 }),
        policy: { encoder: { kind: "mlp", hidden: [32] }, towers: "shared" },
        ...{ rolloutSteps: 4, updates: 2, cycles: 10, batchSize: 32, learningStarts: 40, double: true },
        ...{ target: { every: 5 }, engine: "xla", devices },
      });
    const one = made(1);
    await train(one, { epochs: 2 });
    for (const devices of [2, { count: 4, shardOptimizer: true }]) {
      const several = made(devices);
      await train(several, { epochs: 2 });
      expect(await distance(one, several)).toBeLessThan(1e-5);
      expect(await distance(one, several, "target")).toBeLessThan(1e-5);
    }
  });

  it("a language model on 2 learns from rollouts what it does on one", async () => {
    const tokenizer = characterTokenizer("\nabc=");
    const model = nn.transformer({
      ...{ vocabulary: tokenizer.vocabulary, width: 16, layers: 1, heads: 2, context: 6 },
    });
    const lesson: TextLesson = {
      name: "echo",
      problem: (random) => {
        const letter = random.pick(["a", "b", "c"]);
        return { prompt: `${letter}=`, answer: letter };
      },
    };
    const made = (devices: DevicesOption) =>
      languageTask({
        model,
        losses: [grpoLoss(), referenceKlLoss()],
        // Not Adam: it makes steps of the rounding of gradients that are 0, as that of the keys' bias.
        optimizer: optim.sgd({ learningRate: 0.1 }),
        generator: textRollouts({
          ...{ model, tokenizer, lessons: [lesson], length: 2, prompts: 8, group: 4, heldOut: 0 },
          engine: "xla",
        }),
        ...{ batchSize: 4, updates: 2, examples: 8, seed: 5, engine: "xla", devices },
      });
    const [one, two] = [made(1), made(2)];
    await train(one, { epochs: 2 });
    await train(two, { epochs: 2 });
    expect(await distance(one, two)).toBeLessThan(1e-5);
  });

  it("supervisedTrainer takes them too", async () => {
    const trainer = supervisedTrainer({
      model: nn.mlp({ hidden: [8], out: 3 }),
      loss: nn.crossEntropy,
      trainingConfig: { epochs: 1, batchSize: 32, handleSignals: false },
      engine: "xla",
      devices: 2,
    });
    const { metrics } = await trainer.train({ trainData: examples });
    expect(metrics.loss).toBeGreaterThan(0);
  });

  it("refuses what cannot be", () => {
    const failure = (code: string, message: RegExp) =>
      expect.objectContaining({ code, message: expect.stringMatching(message) });
    for (const [more, code, message] of [
      [{ devices: 4, batchSize: 18 }, "OPTION_INVALID", /batchSize is 18, .* 4 devices.*such as 20/s],
      [{ devices: 2, device: 1 }, "OPTION_INVALID", /device and devices/],
      [{ devices: 0 }, "OPTION_INVALID", /devices: count is 0/],
      [{ devices: 1.5 }, "OPTION_INVALID", /devices: count is 1.5/],
      [{ devices: { count: 2, sharded: true } }, "OPTION_UNKNOWN", /sharded/],
      [{ devices: "all" }, "OPTION_INVALID", /devices is "all"/],
      [{ devices: 17 }, "DEVICES_UNAVAILABLE", /17 devices.*16 at most/],
      [{ devices: 2, engine: "wasm" }, "DEVICES_UNAVAILABLE", /wasm engine has one/],
    ] as const)
      expect(() => supervised(undefined, more as never), JSON.stringify(more)).toThrow(
        failure(code, message),
      );
    expect(() => smallTask("compiled", "xla", { devices: 8, rolloutSteps: 64 })).toThrow(
      failure("OPTION_INVALID", /number of environments is 4/),
    );
    expect(() => smallTask("ordinary", "xla", { devices: 3 })).toThrow(
      failure("OPTION_INVALID", /minibatch's number of steps is 32/),
    );
  });
});
