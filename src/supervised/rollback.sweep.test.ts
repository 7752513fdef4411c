import { describe, expect, it } from "vitest";
import { hashesOf } from "../checkpoint/hook/runs.test-support.ts";
import { checkpointHook, memoryStore } from "../checkpoint/index.ts";
import type { Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { MemoryStore } from "../metrics/hook/store.test-support.ts";
import { Logger, metricsHook, type RollbackOptions, rollbackHook } from "../metrics/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every, piecewise, type Ramp } from "../schedule/index.ts";
import { Trainer, type TrainerHook, type TrainingConfig } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";

interface Given {
  readonly engine: "wasm" | "xla";
  readonly learningRate?: Ramp | number;
  readonly rollback?: RollbackOptions;
  /** A factor of the loss. */
  readonly scale?: number;
  readonly hooks?: readonly TrainerHook[];
  readonly config?: Partial<TrainingConfig>;
}

/** 8 updates an epoch. A rate that is far too high from update 11 to 13 makes everything NaN or huge. */
function made({ engine, rollback, scale = 1, learningRate, hooks = [], config }: Given) {
  const ramp = (mad: number) =>
    piecewise({
      updates: [
        [0, 0.01],
        [11, mad],
        [13, 0.01],
      ],
    });
  const task = supervisedTask({
    engine,
    model: nn.sequential([nn.dense(8), nn.relu, nn.dropout(0.2), nn.dense(1)]),
    optimizer: optim.sgd({ momentum: 0.9 }),
    data: examples([32, 3], [32, 1]),
    validation: examples([8, 3], [8, 1]),
    loss: (outputs: Value, y: Value) => nn.mse(outputs, y).mul(scale),
    batchSize: 4,
    learningRate: learningRate ?? ramp(1e20),
  });
  const warnings: string[] = [];
  const trainer = new Trainer({
    task,
    config: { epochs: 4, seed: 2, handleSignals: false, ...config },
    hooks: [rollbackHook({ updates: 5, ...rollback }), ...hooks],
    warn: (text) => void warnings.push(text),
  });
  return { task, trainer, warnings };
}

describe.each(sweepEngines())("rollbackHook on %s", (engine) => {
  it("goes back after numbers that are not finite, lowers the rate and goes on", async () => {
    const rates: number[] = [];
    const watch: TrainerHook = {
      name: "watch",
      onBatchesEnd: ({ values }) => void rates.push(...(values?.ramps.learningRate ?? [])),
    };
    const { trainer, warnings } = made({ engine, hooks: [watch] });
    const { outcome, metrics, validation, counters } = await trainer.train();
    expect([outcome, counters.updates]).toEqual(["completed", 32]);
    expect(Number.isFinite(metrics.loss) && Number.isFinite(validation?.loss)).toBe(true);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/not finite in update 1[234].*back to update 10/s);
    expect(rates.slice(0, 10)).toEqual(new Array(10).fill(Math.fround(0.01)));
    expect(rates.slice(15)).toEqual(new Array(17).fill(Math.fround(0.005)));
  });

  it("puts back what updates change, and goes on with the data and the counters of now", async () => {
    const at = (update: number, look: (hashes: Readonly<Record<string, string>>) => void): TrainerHook => ({
      name: `at${update}`,
      schedule: every({ updates: 1 }),
      onBatchEnd: async ({ counters, components, afterEvent }) => {
        if (counters.updates === update) afterEvent(async () => look(await hashesOf({ components })));
      },
    });
    const found: Readonly<Record<string, string>>[] = [];
    const look = (hashes: Readonly<Record<string, string>>) => void found.push(hashes);
    const { trainer } = made({ engine, hooks: [at(10, look), at(15, look)] });
    await trainer.train();
    const [good, back] = found as [Record<string, string>, Record<string, string>];
    expect([back.params, back.optimizer]).toEqual([good.params, good.optimizer]);
    expect([back.data === good.data, back.keys === good.keys]).toEqual([false, false]);
  });

  it("is the same however work is cut and wherever it was interrupted", async () => {
    const begin = (store = memoryStore(), config: Partial<TrainingConfig> = {}, more: TrainerHook[] = []) =>
      made({
        engine,
        hooks: [checkpointHook({ store, schedule: every({ updates: 4 }) }), ...more],
        config,
      }).trainer;
    const run = async (trainer: Trainer) => {
      await trainer.train();
      return hashesOf(trainer);
    };
    const whole = await run(begin());
    expect(await run(begin(memoryStore(), { fuse: false }))).toEqual(whole);
    // Checkpoints are from before the bad updates, from between them, and from after the rollback.
    for (const update of [12, 14]) {
      const store = memoryStore();
      const kill: TrainerHook = {
        name: "kill",
        onBatchEnd: ({ counters }) => {
          if (counters.updates === update) throw new Error("killed");
        },
      };
      await expect(begin(store, {}, [kill]).train()).rejects.toThrow("killed");
      expect(await run(begin(store))).toEqual(whole);
    }
  });

  it("goes back after a spike", async () => {
    const spiky = piecewise({
      updates: [
        [0, 0.01],
        [11, 3],
        [12, 0.01],
      ],
    });
    const rollback = { window: 6, factor: 4 };
    const { trainer, warnings } = made({ engine, learningRate: spiky, rollback });
    const { metrics } = await trainer.train();
    expect(warnings[0]).toMatch(/loss was .*back to update 10/s);
    expect(metrics.loss).toBeLessThan(2);
    const calm = made({ engine, learningRate: 0.01, rollback });
    await calm.trainer.train();
    expect(calm.warnings).toEqual([]);
  });

  it("goes back by two looks where the update before the last look did it", async () => {
    // The loss of the update itself is good, and its parameters are huge.
    const learningRate = piecewise({
      updates: [
        [0, 0.01],
        [9, 1e12],
        [10, 0.01],
        [24, 1e12],
        [25, 0.01],
      ],
    });
    const { trainer, warnings } = made({ engine, learningRate, rollback: { window: 5 } });
    const { metrics } = await trainer.train();
    expect(warnings).toEqual([expect.stringMatching(/update 5,/), expect.stringMatching(/update 20,/)]);
    expect(metrics.loss).toBeLessThan(2);
  });

  it("finds parameters that the very last update has ruined, also after an accident before", async () => {
    const learningRate = piecewise({
      updates: [
        [0, 1e-6],
        [11, 3e38],
        [12, 1e-6],
        [31, 3e38],
      ],
    });
    const { trainer, task, warnings } = made({ engine, learningRate, scale: 1e4, rollback: { lower: 1 } });
    const { metrics } = await trainer.train();
    expect(Number.isFinite(metrics.loss)).toBe(true);
    expect(warnings).toEqual([
      expect.stringMatching(/update 10,/),
      expect.stringMatching(/in update 32: .*update 30,/),
    ]);
    const { loss } = await task.test(examples([8, 3], [8, 1]));
    expect(Number.isFinite(loss)).toBe(true);
  });

  it("puts a bad end back, and fails a run that stays bad", async () => {
    const late = piecewise({
      updates: [
        [0, 0.01],
        [30, 1e20],
      ],
    });
    const ended = made({ engine, learningRate: late });
    await ended.trainer.train();
    const [weights] = await Promise.all(
      Object.values(
        ended.task.params.dense0 as Readonly<Record<string, { read(): Promise<ArrayLike<number>> }>>,
      ).map((tensor) => tensor.read()),
    );
    expect(Array.from(weights ?? []).every(Number.isFinite)).toBe(true);
    const bad = made({ engine, learningRate: 1e20, rollback: { updates: 2, limit: 3 } });
    await expect(bad.trainer.train()).rejects.toThrow(/3 rollbacks.*ROLLBACK_EXHAUSTED/s);
  });
});

describe("rollbackHook", () => {
  it("files each rollback among the interventions of the run", async () => {
    const memory = new MemoryStore();
    const metrics = metricsHook({ logger: new Logger({ sinks: [] }), statsStore: memory.store });
    const { trainer } = made({ engine: "wasm", hooks: [metrics] });
    await trainer.train();
    expect(memory.of("intervention")).toMatchObject([
      { step: 15, who: "rollback", what: expect.stringMatching(/update 10/) },
    ]);
  });

  it("refuses rates and metrics that there are not", async () => {
    const rate = made({ engine: "wasm", rollback: { rates: ["learningrate"] } });
    await expect(rate.trainer.train()).rejects.toThrow(/learningRate.*RAMP_UNKNOWN/s);
    const value = made({ engine: "wasm", rollback: { value: "los" } });
    await expect(value.trainer.train()).rejects.toThrow(/METRIC_MISSING/);
  });
});
