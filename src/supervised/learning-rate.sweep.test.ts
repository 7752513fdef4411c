import { describe, expect, it } from "vitest";
import { type Dataset, type Example, fromArrays } from "../data/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { cosine } from "../schedule/index.ts";
import { hashState } from "../state/index.ts";
import { Trainer } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { findLearningRate } from "./learning-rate.ts";
import { supervisedTask } from "./task.ts";

const made = (engine: "wasm" | "xla", more: object = {}) =>
  supervisedTask({
    engine,
    model: nn.sequential([nn.dense(16), nn.tanh, nn.dropout(0.2), nn.dense(1)]),
    optimizer: optim.adam(),
    data: examples([40, 3], [40, 1]),
    loss: nn.mse,
    batchSize: 8,
    ...more,
  });

const streamed = (engine: "wasm" | "xla", data: Dataset<Example>) =>
  supervisedTask({
    engine,
    model: nn.dense(1),
    optimizer: optim.adam(),
    data,
    loss: nn.mse,
    batchSize: 8,
  });

const hashOf = async (task: ReturnType<typeof made>) =>
  hashState((await task.snapshot()).components as Parameters<typeof hashState>[0]);

describe.each(sweepEngines())("findLearningRate on %s", (engine) => {
  it("leaves model, optimizer, data and random streams as they were, new or half trained", async () => {
    const task = made(engine);
    const before = await hashOf(task);
    const curve = await findLearningRate(task, { config: { seed: 3 } });
    expect(await hashOf(task)).toBe(before);
    expect(curve.diverged).toBe(true);
    // The trainer's seed still counts for a task that was tested before.
    const config = { epochs: 2, seed: 7, maxUpdates: 7 };
    const [tested, untouched] = [task, made(engine)];
    for (const each of [tested, untouched]) await new Trainer({ task: each, config }).train();
    expect(await hashOf(tested)).toBe(await hashOf(untouched));
    // In the middle of an epoch.
    const middle = await hashOf(tested);
    await findLearningRate(tested);
    expect(await hashOf(tested)).toBe(middle);
  });

  it("leaves a streamed task in the middle of an epoch as it was", async () => {
    const data = fromArrays(examples([40, 3], [40, 1]));
    for (const each of [data, data.filter(() => true).shuffle({ buffer: 10 })]) {
      const [tested, untouched] = [await streamed(engine, each), await streamed(engine, each)];
      const train = (task: typeof tested, maxUpdates: number) =>
        new Trainer({ task, config: { epochs: 4, seed: 1, maxUpdates }, warn: () => {} });
      const began = train(tested, 7);
      await began.train();
      const before = await hashOf(tested);
      expect((await findLearningRate(tested, { updates: 30 })).losses.length).toBeGreaterThan(10);
      expect(await hashOf(tested)).toBe(before);
      const rest = train(tested, 12);
      await rest.components.trainer?.setState((await began.components.trainer?.getState()) ?? null);
      await rest.train();
      await train(untouched, 12).train();
      expect(await hashOf(tested)).toBe(await hashOf(untouched));
    }
  });

  it("finds the edge of stability of gradient descent", async () => {
    // A mean square of one weight on inputs of variance v is stable below 2 / (2 v).
    const x = Float32Array.from({ length: 64 }, (_, i) => Math.sin(i * 12.9898) * 2);
    const v = x.reduce((sum, n) => sum + n * n, 0) / 64;
    const task = supervisedTask({
      engine,
      model: nn.dense(1, { bias: false }),
      optimizer: optim.sgd(),
      data: { x: { data: x, shape: [64, 1] }, y: { data: x.map((n) => 3 * n), shape: [64, 1] } },
      loss: nn.mse,
      batchSize: 64,
      learningRate: cosine({ from: 1, to: 0, over: { epochs: 3 } }),
    });
    const curve = await findLearningRate(task, { from: 1e-4, to: 100, updates: 60 });
    expect(curve.rates).toHaveLength(curve.losses.length);
    expect((curve.rates[1] as number) / (curve.rates[0] as number)).toBeCloseTo(1e6 ** (1 / 59), 9);
    const last = curve.rates.at(-1) as number;
    expect(curve.diverged).toBe(true);
    expect(last).toBeGreaterThan(1 / v);
    expect(last).toBeLessThan(30 / v);
    expect(curve.suggestion).toBeLessThan(1 / v);
    expect(curve.suggestion).toBeGreaterThan(1e-3);
    const average = curve.losses.reduce((sum, loss) => 0.9 * sum + 0.1 * loss, 0);
    expect(curve.smoothed.at(-1)).toBeCloseTo(average / (1 - 0.9 ** curve.losses.length), 6);
    const lines = curve.text({ width: 40, height: 8 }).split("\n");
    expect(lines).toHaveLength(10);
    expect(lines.filter((line) => line.includes("|")).length).toBeGreaterThan(5);
    expect(curve.svg()).toMatch(/^<svg [\s\S]*<polyline[\s\S]*<\/svg>$/);
  });

  it("says what is wrong: no such rate, a range that falls, a loss that is not finite from the start", async () => {
    await expect(findLearningRate(made(engine), { rate: "learningrate" })).rejects.toThrow(
      /learningRate.*RAMP_UNKNOWN/s,
    );
    await expect(findLearningRate(made(engine), { from: 1, to: 0.1 })).rejects.toThrow(/OPTION_INVALID/);
    const wild = made(engine);
    const before = await hashOf(wild);
    await expect(findLearningRate(wild, { from: 1e30, to: 1e37 })).rejects.toThrow(/LOSS_DIVERGED/);
    expect(await hashOf(wild)).toBe(before);
  });
});
