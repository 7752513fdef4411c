import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkpointHook, openCheckpoint } from "../../checkpoint/index.ts";
import type { Value } from "../../engine/index.ts";
import * as nn from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { dqnTask } from "../../rl/dqn/task.ts";
import { smallTask as onPolicy } from "../../rl/on-policy/on-policy.test-support.ts";
import { vectorEnvironment } from "../../rl/vector/vector-environment.ts";
import { at, constant, every, linear } from "../../schedule/index.ts";
import { evaluationScores, type Request, type Task, type TrainerHook } from "../../trainer/index.ts";
import { FakeTask, rollout, train } from "../../trainer/task.test-support.ts";
import { comparable, observed, smallTask, temporaryDirectory, timeless } from "./hook.test-support.ts";

/** Scores that follow from where the run is. */
const evaluation: TrainerHook = {
  name: "evaluation",
  schedule: every({ epochs: 1 }),
  provides: [evaluationScores],
  onEpochEnd: ({ slots, counters }) =>
    slots.set(evaluationScores, { scores: { reward: counters.updates / 10 }, counters }),
};

/** Logs in its own name at every fourth update. */
const talker: TrainerHook = {
  name: "talker",
  schedule: every({ updates: 4 }),
  onBatchEnd: ({ log, counters }) => log({ said: counters.updates }, "talk"),
};

describe("metricsHook", () => {
  it("logs the values of every batch, validation, evaluation and what other hooks log", async () => {
    const { keep, trainer } = observed(timeless, { hooks: [evaluation, talker] });
    await trainer.train();
    const keys = [...new Set(keep.records.map(({ key }) => key))].sort();
    expect(keys).toEqual([
      ...["evaluation/reward", "talk/said", "train/learningRate", "train/loss", "validation/loss"],
    ]);
    const losses = keep.records.filter(({ key }) => key === "train/loss");
    expect(losses.map(({ step, count }) => [step, count])).toEqual([
      [3, 3],
      [6, 3],
      [9, 3],
      [12, 3],
      [14, 2],
    ]);
    expect(keep.of("evaluation/reward")).toEqual([
      [7, 0.7],
      [14, 1.4],
    ]);
    expect(keep.of("validation/loss").map(([step]) => step)).toEqual([7, 14]);
    expect(keep.of("talk/said")).toEqual([
      [4, 4],
      [8, 8],
      [12, 12],
    ]);
  });

  it("gives the same records whether batches are fused or not", async () => {
    const monitor = { gradients: "layers", parameters: true, updates: true };
    const optimizer = () => optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(0.1), optim.adam()));
    const run = async (fuse: boolean | number) => {
      const task = smallTask({ monitor, optimizer: optimizer() });
      const { keep, trainer } = observed(timeless, { task, config: { fuse }, hooks: [evaluation] });
      await trainer.train();
      return comparable(keep.records);
    };
    const fused = await run(true);
    expect(fused.map(({ key }) => key)).toContain("train/gradientNorm/hidden0");
    expect(fused.map(({ key }) => key)).toContain("train/applied");
    expect(await run(false)).toEqual(fused);
    expect(await run(4)).toEqual(fused);
  });

  it("gives the same records of rollouts, fused with batches or not", async () => {
    const run = async (fuse: boolean) => {
      const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
      const { keep, trainer } = observed(timeless, { task, config: { epochs: 4, fuse } });
      await trainer.train();
      return { records: comparable(keep.records), calls: task.requests.length };
    };
    const [fused, single] = [await run(true), await run(false)];
    expect([fused.calls, single.calls]).toEqual([1, 20]);
    expect(single.records).toEqual(fused.records);
    expect(new Set(fused.records.map(({ key }) => key))).toEqual(new Set(["train/loss", "rollout/reward"]));
  });

  it("never prevents fusing, with all of its parts", async () => {
    const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
    const heartbeat = { file: `${temporaryDirectory()}/beat.json` };
    const { trainer, keep } = observed({ heartbeat }, { task, config: { epochs: 4 } });
    expect(trainer.hooks.plan().order).toEqual([
      "metrics.time",
      ...["metrics", "metrics.pace", "metrics.system", "metrics.heartbeat"],
    ]);
    await trainer.train();
    expect(task.requests.map(({ count }) => count)).toEqual([20]);
    expect(keep.of("train/loss").map(([step]) => step)).toEqual([3, 6, 9, 12]);
    expect(keep.of("rollout/reward").length).toBeGreaterThan(0);
    expect(
      keep.records.filter(({ key }) => key === "rollout/reward").reduce((n, { count }) => n + count, 0),
    ).toBe(8);
  });

  it("has children only for the parts that are on", () => {
    const names = (options: object) => observed(options).trainer.hooks.plan().order;
    expect(names(timeless)).toEqual(["metrics.time", "metrics"]);
    expect(names({ ...timeless, gradients: true, name: "m" })).toEqual(
      expect.arrayContaining(["m.time", "m", "gradients"]),
    );
  });

  it("leaves batches and progress out where it is told to", async () => {
    const { keep, trainer } = observed({ ...timeless, batches: false, progress: false });
    await trainer.train();
    expect(keep.records.map(({ key }) => key)).toEqual(["validation/loss", "validation/loss"]);
    expect(keep.shown).toEqual([]);
  });

  it("shares the metrics of batches, and checkpoints file them", async () => {
    const directory = temporaryDirectory();
    const checkpoint = checkpointHook({ directory, schedule: every({ epochs: 2 }) });
    const { trainer } = observed(timeless, { hooks: [checkpoint, evaluation] });
    expect(trainer.hooks.plan().order.filter((name) => !name.includes("."))).toEqual([
      ...["evaluation", "metrics", "checkpoint"],
    ]);
    const { metrics } = await trainer.train();
    const { manifest } = await openCheckpoint(directory);
    // Scores belong to the state they were measured on: the checkpoint files those itself.
    expect(manifest.scores).toHaveProperty("validation.loss");
    expect(manifest.metrics).toEqual({ ...metrics, learningRate: Math.fround(0.01) });
  });

  it("watches gradients where it is told to", async () => {
    const task = smallTask({ monitor: { gradients: true } });
    const { keep, trainer } = observed({ ...timeless, gradients: { exploding: 1e-3 } }, { task });
    await trainer.train();
    expect(keep.of("health/gradients.exploding").at(-1)?.[1]).toBeGreaterThan(0);
  });

  it("works without validation and for a run without a single window", async () => {
    const { keep, trainer } = observed(timeless, {
      task: smallTask({ validation: undefined }),
      config: { maxUpdates: 2 },
    });
    await trainer.train();
    expect(keep.records.map(({ key, step, count }) => [key, step, count])).toEqual([
      ["train/loss", 2, 2],
      ["train/learningRate", 2, 2],
    ]);
    expect(keep.endings).toMatchObject([{ outcome: "completed", reason: "maxUpdates of 2 reached" }]);
  });

  it("logs nothing on ranks that are not the main one", async () => {
    const everywhere: TrainerHook = { ...talker, ranks: "all" };
    const { keep, trainer } = observed({}, { hooks: [everywhere], config: { rank: 1, ranks: 2 } });
    await trainer.train();
    expect([keep.runs, keep.records, keep.shown, keep.endings]).toEqual([[], [], [], []]);
  });
});

describe("ramps", () => {
  /** The task, with what its program was given of each ramp: by batch. */
  function watched<T extends Task>(task: T) {
    const given = new Map<string, Map<number, number>>();
    const run = (request: Request) => {
      let row = 0;
      for (const { segment, count, at } of request.spans)
        for (let i = 0; i < count; i++, row++)
          if (segment.phase === "train")
            for (const [name, numbers] of Object.entries(request.ramps)) {
              const of = given.get(name) ?? new Map<number, number>();
              given.set(name, of.set(at.batches + i + 1, numbers[row] as number));
            }
      return task.run(request);
    };
    return { task: Object.create(task, { run: { value: run } }) as Task, given };
  }

  it.each<[kind: string, make: () => Task, ramps: readonly string[]]>([
    ["supervised training", smallTask, ["learningRate"]],
    [
      "supervised training with a weight that changes",
      () =>
        smallTask({
          loss: [
            {
              name: "fit",
              weight: linear({ from: 1, to: 0.5, over: { updates: 10 } }),
              term: ({ outputs, batch }: Terms) => ({ loss: nn.mse(outputs, batch.y) }),
            },
          ],
        }),
      ["learningRate", "weight.fit"],
    ],
    ["PPO in a program", () => onPolicy("compiled", "wasm"), ["learningRate", "rate.policy.clip"]],
    ["PPO beside one", () => onPolicy("ordinary", "wasm"), ["learningRate", "rate.policy.clip"]],
    ["DQN", () => dqn(), ["learningRate", "epsilon"]],
  ])("of %s are logged as the program was given them", async (_kind, make, ramps) => {
    const { task, given } = watched(make());
    const { keep, trainer } = observed(timeless, { task });
    await trainer.train();
    expect([...given.keys()].sort()).toEqual([...ramps].sort());
    for (const name of ramps) {
      const records = keep.records.filter(({ key }) => key === `train/${name}`);
      expect(records.length).toBeGreaterThan(1);
      for (const { value, counters } of records) expect(value).toBe(given.get(name)?.get(counters.batches));
    }
    // Each as often as the loss beside it.
    const steps = (key: string) => keep.of(key).map(([step]) => step);
    expect(steps("train/learningRate")).toEqual(steps("train/loss"));
  });

  it("are the same however the work is cut and wherever it goes on, and change no cut", async () => {
    const make = () =>
      new FakeTask({
        epoch: () => [rollout(2), train(5)],
        ramps: { rate: linear({ from: 1, to: 0, over: { updates: 20 } }), fixed: constant(0.3) },
      });
    const directory = temporaryDirectory();
    const run = async (fuse: boolean | number, more: Partial<Parameters<typeof checkpointHook>[0]> = {}) => {
      const task = make();
      const checkpoints = checkpointHook({
        directory: temporaryDirectory(),
        schedule: at({ updates: [7] }),
        ...more,
      });
      const { keep, trainer } = observed(timeless, {
        task,
        config: { epochs: 4, fuse },
        hooks: [checkpoints],
      });
      await trainer.train();
      return { calls: task.requests.length, records: comparable(keep.records) };
    };
    const fused = await run(true, { directory });
    expect(fused.calls).toBe(2);
    const rates = fused.records.filter(({ key }) => key === "train/rate");
    expect(rates.map(({ step, value }) => [step, value])).toEqual(
      [3, 6, 9, 12, 15, 18, 20].map((step) => [step, Math.fround(1 - (step - 1) / 20)]),
    );
    for (const { key, value } of fused.records)
      if (key === "train/fixed") expect(value).toBe(Math.fround(0.3));
    for (const fuse of [false, 3]) expect((await run(fuse)).records).toEqual(fused.records);
    const saved = readdirSync(directory).find((name) => name.endsWith("update-000007")) as string;
    const { records } = await run(true, { onStart: join(directory, saved) });
    expect(records.length).toBeGreaterThan(5);
    expect(records).toEqual(fused.records.slice(fused.records.length - records.length));
  });

  it("that the task reports itself are not logged twice", async () => {
    const task = new FakeTask({ ramps: { loss: constant(5) } });
    const { keep, trainer } = observed(timeless, { task });
    await trainer.train();
    const own = keep.records.filter(({ key }) => key === "train/loss");
    expect(own.every(({ value, reduction }) => value !== 5 && reduction === "mean")).toBe(true);
  });
});

interface Terms {
  readonly outputs: Value;
  readonly batch: { readonly y: Value };
}

const dqn = () =>
  dqnTask({
    env: vectorEnvironment({ make: "CartPole-v1", count: 2 }),
    policy: { encoder: { kind: "mlp", hidden: [8] }, towers: "shared" },
    optimizer: optim.adam({ learningRate: 0.01 }),
    ...{ rolloutSteps: 4, updates: 3, cycles: 5, batchSize: 8, capacity: 100, learningStarts: 16 },
    ...{ gamma: 0.9, engine: "wasm", target: { every: 10 } },
  });
