import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, localStore } from "../checkpoint/index.ts";
import { treeLeaves } from "../core/index.ts";
import { fromArrays } from "../data/index.ts";
import { type HostArray, np, put, read, type Tensor, type Value } from "../engine/index.ts";
import { requirePlugin } from "../engine/xla/plugin/require-plugin.test-support.ts";
import { asLoss } from "../losses/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { dqnTask } from "../rl/dqn/task.ts";
import { ppo } from "../rl/index.ts";
import { smallTask, type Where } from "../rl/on-policy/on-policy.test-support.ts";
import { vectorEnvironment } from "../rl/vector/vector-environment.ts";
import { rolloutTask } from "../rollout/index.ts";
import { largestGenerator } from "../rollout/largest.test-support.ts";
import { every, never } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { accuracy, supervisedTask, supervisedTrainer } from "../supervised/index.ts";
import type { SupervisedOptions } from "../supervised/options.ts";
import { type Task, Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import type { DevicesOption } from "./devices.ts";
import { Learner } from "./learner.ts";

const plugin = requirePlugin();

const examplesOf = (count: number) => ({
  x: { data: Float32Array.from({ length: count * 12 }, (_, i) => Math.sin(i * 1.7)), shape: [count, 12] },
  y: Int32Array.from({ length: count }, (_, i) => (i * i) % 3),
});
const examples = examplesOf(64);

/** A task with dropout and clipping. */
const supervised = (devices: DevicesOption | undefined, more: Partial<SupervisedOptions> = {}) =>
  supervisedTask({
    engine: "xla",
    model: nn.sequential([nn.dense(64), nn.tanh, nn.dropout(0.2), nn.dense(40), nn.tanh, nn.dense(3)]),
    optimizer: optim.chain(optim.clipByGlobalNorm(1), optim.adam({ learningRate: 0.01 })),
    data: examples,
    loss: nn.crossEntropy,
    batchSize: 16,
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

const leavesOf = async (task: Task, component: string): Promise<readonly Tensor[]> =>
  treeLeaves<Tensor>((await task.components[component]?.getState()) as Readonly<Record<string, Tensor>>);

/** The distance between states, as a share of their norm. */
const distance = async (a: Task, b: Task, component = "params"): Promise<number> => {
  const numbers = async (task: Task): Promise<number[]> => {
    const arrays: readonly HostArray[] = await read(await leavesOf(task, component));
    return arrays.flatMap((array) => [...array]);
  };
  const [x, y] = [await numbers(a), await numbers(b)];
  return Math.hypot(...x.map((n, i) => n - (y[i] as number))) / Math.hypot(...x);
};

const hashOf = async ({ components }: Task): Promise<string> => {
  const states = Object.entries(components).map(async ([name, part]) => [name, await part.getState()]);
  return hashState(Object.fromEntries(await Promise.all(states)) as StateTree);
};

/** The numbers of rows that tasks share among their devices: results would be the same if they did not. */
const shares = vi.spyOn(Learner.prototype, "shard");
const sharedRows = (): number[] => {
  const rows = shares.mock.calls.map(([batch]) => treeLeaves<Value>(batch as never)[0]?.shape[0] ?? 0);
  return [...new Set(rows)].sort((a, b) => a - b);
};
afterEach(() => void shares.mockClear());

describe.skipIf(!plugin)("several devices", { timeout: 300_000 }, () => {
  it("learn from examples what one does", async () => {
    const made = (devices: number | undefined) =>
      supervised(devices, {
        // 4 batches of 16, and one of 6, which 4 devices cannot share.
        data: examplesOf(70),
        accumulate: 2,
        validation: examplesOf(32),
        metrics: { accuracy },
      });
    const one = made(undefined);
    const alone = await train(one);
    // Tensors of one device are taken, too.
    const rows = put(examples.x.data.slice(0, 24), { shape: [2, 12], engine: "xla" });
    const expected = await one.predict(rows).read();
    for (const count of [2, 4]) {
      const several = made(count);
      const together = await train(several);
      expect(await distance(one, several)).toBeLessThan(1e-5);
      expect(await distance(one, several, "optimizer")).toBeLessThan(1e-5);
      expect(Object.keys(together.metrics)).toEqual(Object.keys(alone.metrics));
      for (const [name, value] of Object.entries(alone.metrics))
        expect(together.metrics[name], name).toBeCloseTo(value, 4);
      const predicted = await several.predict(rows).read();
      expected.forEach((n, i) => {
        expect(predicted[i]).toBeCloseTo(n, 4);
      });
    }
    // Micro-batches of 16 and the rest, and the targets of whole updates.
    expect(sharedRows()).toEqual([6, 16, 32]);
  });

  it("learn from examples that are streamed, and from parameters of one device", async () => {
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
    const before = supervised(undefined, { seed: 9 });
    expect(await distance(supervised(2, { params: before.params }), before)).toBe(0);
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
      task.average?.({ decay: 0.9, validate: false });
      await train(task);
    }
    for (const name of ["params", "optimizer", "ema"])
      expect(await distance(whole, shared, name)).toBeLessThan(1e-6);
    const axes = async (task: Task, name: string) => {
      const large = (await leavesOf(task, name)).filter(({ size }) => size > 1024);
      return large.map(({ shardedAxis }) => shardedAxis);
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
    for (const maxUpdates of [7, undefined]) {
      const task = supervised(devices);
      const hook = checkpointHook({ store, schedule: every({ updates: 100 }) });
      await train(task, { ...(maxUpdates && { maxUpdates }) }, [hook]);
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
      await train(supervised(first), { maxUpdates: 8 }, [checkpointHook({ store })]);
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
      const task = supervised(4, { model });
      await train(task, { epochs: 2, validate: never() });
      seen.add(await hashOf(task));
    }
    for (const worker of busy) await worker.terminate();
    expect(seen.size).toBe(1);
  });

  it.each([
    ["compiled", [2, 4]],
    ["ordinary", [2]],
  ] as const satisfies readonly (readonly [Where, readonly number[]])[])(
    "PPO with %s environments learns what it does on one",
    async (where, counts) => {
      const one = smallTask(where, "xla");
      const alone = await train(one, { epochs: 3 });
      for (const count of counts) {
        const several = smallTask(where, "xla", { devices: count });
        const together = await train(several, { epochs: 3 });
        expect(await distance(one, several)).toBeLessThan(1e-5);
        for (const [name, value] of Object.entries(alone.metrics))
          expect(together.metrics[name], name).toBeCloseTo(value, 3);
      }
      expect(sharedRows()).toEqual(where === "compiled" ? [4, 32] : [32]);
    },
  );

  it("an agent on 2 trains, is evaluated and acts", async () => {
    const policy = { encoder: { kind: "mlp", hidden: [8] } } as const;
    const agent = ppo({ env: "CartPole-v1", seed: 1, devices: 2, engine: "xla", policy });
    await agent.train({ steps: 1024 });
    expect((await agent.evaluate({ episodes: 2 })).return).toBeGreaterThan(5);
    expect([0, 1]).toContain((await agent.actor<number>()).act([0, 0, 0.1, 0.5]));
  });

  it("DQN learns what it does on one", async () => {
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
    expect(sharedRows()).toEqual([32]);
  });

  it("rollouts teach what they do on one, and a generator elsewhere gets the parameters", async () => {
    const made = (devices: DevicesOption) =>
      rolloutTask({
        init: (_key, where) => ({ w: put(examples.x.data.slice(0, 16), { ...where, shape: [4, 4] }) }),
        forward: (params, { numbers }: { readonly numbers: Value }) => np.matmul(numbers, params.w as Value),
        losses: [asLoss((outputs: Value) => np.mean(np.square(outputs.sub(1))), "size")],
        optimizer: optim.sgd({ learningRate: 0.1 }),
        reference: {
          fields: (params, { numbers }) => ({ old: np.matmul(numbers as Value, params.w as Value) }),
        },
        ...{ generator: largestGenerator(), batchSize: 8, updates: 2, examples: 8, engine: "xla", devices },
      });
    const [one, two] = [made(1), made(2)];
    await train(one, { epochs: 2 });
    await train(two, { epochs: 2 });
    expect(await distance(one, two)).toBeLessThan(1e-5);
    // Batches, and rollouts whose fields the reference adds.
    expect(sharedRows()).toEqual([8, 16]);
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
    expect(() => ppo({ env: "CartPole-v1", devices: 17, engine: "xla" })).toThrow(
      failure("DEVICES_UNAVAILABLE", /17/),
    );
  });
});
