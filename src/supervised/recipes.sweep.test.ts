import { describe, expect, it } from "vitest";
import { hashesOf } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../checkpoint/index.ts";
import { fromArrays } from "../data/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every, linear, noCounters, piecewise } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";

// The recipes of docs/supervised.md that change over time: layers that thaw, and augmentation that grows.

describe.each(sweepEngines())("recipes on %s", (engine) => {
  it("layers thaw at an epoch: until then they stay as they are, bit for bit", async () => {
    const task = supervisedTask({
      engine,
      model: nn.sequential([nn.dense(8), nn.tanh, nn.dense(8), nn.tanh, nn.dense(1)]),
      optimizer: optim.groups({ dense0: optim.adam(), dense1: optim.adamw(), "*": optim.adam() }),
      rates: {
        dense0: {
          learningRate: piecewise({
            epochs: [
              [0, 0],
              [3, 1e-3],
            ],
          }),
        },
        dense1: {
          learningRate: piecewise({
            epochs: [
              [0, 0],
              [1, 1e-2],
            ],
          }),
        },
      },
      data: examples([24, 3], [24, 1]),
      loss: nn.mse,
      batchSize: 4,
    });
    const moved: string[][] = [];
    let before: Readonly<Record<string, string>> = {};
    const watch: TrainerHook = {
      name: "watch",
      onEpochStart: async () => {
        const layers = Object.entries(task.params as Readonly<Record<string, StateTree>>);
        const now = Object.fromEntries(
          await Promise.all(layers.map(async ([name, part]) => [name, await hashState(part)] as const)),
        );
        moved.push(Object.keys(now).filter((name) => now[name] !== before[name]));
        before = now;
      },
    };
    await new Trainer({ task, config: { epochs: 5, seed: 1 }, hooks: [watch] }).train();
    const all = ["dense0", "dense1", "dense2"];
    expect(moved).toEqual([all, ["dense2"], ["dense1", "dense2"], ["dense1", "dense2"], all]);
  });

  it("augmentation grows with the epochs, the same fused or not and interrupted", async () => {
    const noise = linear({ from: 0, to: 0.5, over: { epochs: 3 } });
    const seen = new Map<number, number>();
    const data = fromArrays(examples([24, 3], [24, 1])).map((example, { epoch, random }) => {
      const size = noise.at({ ...noCounters, epoch, epochs: epoch });
      seen.set(epoch, size);
      const { data: x, shape } = example.x as { readonly data: Float32Array; readonly shape: number[] };
      return { ...example, x: { data: x.map((n) => n + size * (random.uniform() - 0.5)), shape } };
    });
    const run = async (config: Partial<TrainingConfig> = {}, store = memoryStore()) => {
      const task = await supervisedTask({
        engine,
        model: nn.dense(1),
        optimizer: optim.adam(),
        data,
        loss: nn.mse,
        batchSize: 4,
      });
      const trainer = new Trainer({
        task,
        config: { epochs: 4, seed: 1, handleSignals: false, ...config },
        hooks: [checkpointHook({ store, schedule: every({ updates: 4 }) })],
      });
      await trainer.train();
      return hashesOf(trainer);
    };
    const whole = await run();
    expect([0, 1, 2, 3].map((epoch) => seen.get(epoch))).toEqual(
      [0, 0.5 / 3, 1 / 3, 0.5].map((n) => expect.closeTo(n)),
    );
    expect(await run({ fuse: false })).toEqual(whole);
    const store = memoryStore();
    await run({ maxUpdates: 9 }, store);
    expect(await run({}, store)).toEqual(whole);
  });
});
