import { describe, expect, it } from "vitest";
import type { Tensor, Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { linear } from "../schedule/index.ts";
import { firstDifference } from "../state/index.ts";
import { Trainer, type TrainerHook } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

/** Two clouds of points, told apart by their label. */
function clouds(n: number) {
  const x = new Float32Array(n * 2);
  const y = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    y[i] = i % 2;
    x[2 * i] = Math.sin(i * 7.1) + (i % 2 ? 2 : -2);
    x[2 * i + 1] = Math.cos(i * 3.3);
  }
  return { x: { data: x, shape: [n, 2] }, y };
}

describe.each(sweepEngines())("supervisedTrainer on %s", (engine) => {
  const model = nn.mlp({ hidden: [16], out: 2 });
  const quiet = { handleSignals: false } as const;

  it("trains all epochs and learns, with validation", async () => {
    const trainer = supervisedTrainer({
      model,
      trainingConfig: { epochs: 8, learningRate: 0.02, batchSize: 16, ...quiet },
      engine,
    });
    const { outcome, counters, validation } = await trainer.train({
      trainData: clouds(100),
      valData: clouds(30),
    });
    expect(outcome).toBe("completed");
    expect(counters).toMatchObject({ epochs: 8, batches: 56, updates: 56, samples: 800 });
    expect(validation?.accuracy).toBeGreaterThan(0.9);
    expect(trainer.task.predict(clouds(4).x).shape).toEqual([4, 2]);
  });

  it("hosts hooks before and between runs, and hands a logger on", async () => {
    const logged: string[] = [];
    const trainer = supervisedTrainer({
      model,
      trainingConfig: { epochs: 2, batchSize: 50, ...quiet },
      engine,
      logger: { as: (owner) => ({ log: (values) => logged.push(`${owner}: ${JSON.stringify(values)}`) }) },
    });
    const hook: TrainerHook = {
      name: "count",
      onEpochEnd: ({ counters, log }) => log({ epochs: counters.epochs }),
    };
    trainer.registerHook(hook);
    expect(trainer.getHooks()).toEqual([hook]);
    await trainer.train({ trainData: clouds(100) });
    expect(logged).toEqual(['count: {"epochs":1}', 'count: {"epochs":2}']);
    expect(trainer.unregisterHook("count")).toBe(true);
    expect(trainer.unregisterHook(hook)).toBe(false);
    await trainer.train({ trainData: clouds(100) });
    expect(logged).toHaveLength(2);
  });

  it("gives the same bits with a hook at every batch as without", async () => {
    const train = async (hooks: readonly TrainerHook[]) => {
      const losses: number[] = [];
      const record: TrainerHook = {
        name: "record",
        onBatchesEnd: async ({ values }) => {
          losses.push(...((await values?.read())?.loss ?? []));
        },
      };
      const trainer = supervisedTrainer({
        model: nn.sequential([nn.dense(16), nn.relu, nn.dropout(0.2), nn.dense(2)]),
        trainingConfig: {
          epochs: 3,
          batchSize: 16,
          learningRate: linear({ from: 0.02, to: 0, over: { updates: 21 } }),
          gradientClip: 1,
          seed: 5,
          ...quiet,
        },
        hooks: [record, ...hooks],
        engine,
      });
      await trainer.train({ trainData: clouds(100) });
      return { losses, state: await trainer.state() };
    };
    let calls = 0;
    const watch: TrainerHook = {
      name: "watch",
      onBatchEnd: () => {
        calls++;
      },
    };
    const [alone, watched] = [await train([]), await train([watch])];
    expect(calls).toBe(21);
    expect(watched.losses).toEqual(alone.losses);
    for (const name of ["params", "optimizer", "data", "keys"])
      expect(await firstDifference(watched.state[name] ?? null, alone.state[name] ?? null)).toBeUndefined();
  });

  it("resumes in the middle of an epoch with the same bits", async () => {
    const make = (hooks: readonly TrainerHook[] = []) =>
      supervisedTrainer({ model, trainingConfig: { epochs: 3, batchSize: 16, ...quiet }, hooks, engine });
    const [whole, broken, resumed] = [make(), make([stopAt(10)]), make([stopAt(1000)])];
    const trainData = clouds(100);
    await whole.train({ trainData });
    expect((await broken.train({ trainData })).outcome).toBe("stopped");
    const { outcome, counters } = await resumed.train({
      trainData,
      resumeFrom: await broken.state(),
      resume: { allow: ["stopped"] },
    });
    expect([outcome, counters.batches]).toEqual(["completed", 21]);
    const [a, b] = [await resumed.state(), await whole.state()];
    for (const name of ["params", "optimizer", "data", "keys"])
      expect(await firstDifference(a[name] ?? null, b[name] ?? null)).toBeUndefined();
  });

  it("accumulates gradients to the same parameters as the large batch", async () => {
    const params = async (batchSize: number, accumulate: number) => {
      const trainer = supervisedTrainer({
        model,
        trainingConfig: { epochs: 2, batchSize, accumulate, ...quiet },
        engine,
      });
      const { counters } = await trainer.train({ trainData: clouds(64) });
      expect(counters.updates).toBe(8);
      return [...(await trainer.task.predict(clouds(8).x).read())];
    };
    const [large, small] = [await params(16, 1), await params(4, 4)];
    large.forEach((value, i) => {
      expect(value).toBeCloseTo(small[i] as number, 5);
    });
  });

  it("clips gradients by their norm, as an update by hand does", async () => {
    const [xs, ys] = [
      [1, 2, 3, 4],
      [8, -2, 9, 30],
    ];
    const [rate, limit] = [0.5, 2];
    const trainer = (epochs: number, gradientClip: number) =>
      supervisedTrainer({
        model: nn.dense(1),
        trainingConfig: { epochs, gradientClip, learningRate: rate, batchSize: 4, shuffle: false, ...quiet },
        monitor: { gradients: true },
        engine,
      });
    const trained = async (epochs: number, gradientClip: number) => {
      const norms: number[] = [];
      const made = trainer(epochs, gradientClip);
      made.registerHook({
        name: "norms",
        onBatchesEnd: async ({ values }) => {
          const { clippedNorm, gradientNorm = [] } = (await values?.read()) ?? {};
          norms.push(...(clippedNorm ?? gradientNorm));
        },
      });
      await made.train({ trainData: { x: xs.map((x) => [x]), y: ys.map((y) => [y]) } });
      const { w, b } = made.task.params as { readonly w: Tensor; readonly b: Tensor };
      return { params: [...(await w.read()), ...(await b.read())], norms };
    };
    /** Adam on the mean square, with gradients scaled down to the limit. */
    const byHand = (start: readonly number[], updates: number, clip: number) => {
      const norms: number[] = [];
      const params = [...start];
      const [m, v] = [
        [0, 0],
        [0, 0],
      ];
      for (let t = 1; t <= updates; t++) {
        const errors = xs.map(
          (x, i) => (params[0] as number) * x + (params[1] as number) - (ys[i] as number),
        );
        const gradient = [
          (2 / 4) * errors.reduce((sum, e, i) => sum + e * (xs[i] as number), 0),
          (2 / 4) * errors.reduce((sum, e) => sum + e, 0),
        ];
        const scale = Math.min(1, clip / Math.hypot(...gradient));
        norms.push(scale * Math.hypot(...gradient));
        for (const [i, g] of gradient.map((each) => each * scale).entries()) {
          m[i] = 0.9 * (m[i] as number) + 0.1 * g;
          v[i] = 0.999 * (v[i] as number) + 0.001 * g * g;
          const step =
            (m[i] as number) / (1 - 0.9 ** t) / (Math.sqrt((v[i] as number) / (1 - 0.999 ** t)) + 1e-8);
          params[i] = (params[i] as number) - rate * step;
        }
      }
      return { params, norms };
    };
    const { params: start } = await trained(0, limit);
    const [clipped, whole] = [await trained(12, limit), await trained(12, Number.POSITIVE_INFINITY)];
    for (const [found, expected] of [
      [clipped, byHand(start, 12, limit)],
      [whole, byHand(start, 12, Number.POSITIVE_INFINITY)],
    ] as const) {
      expected.params.forEach((value, i) => void expect(found.params[i]).toBeCloseTo(value, 3));
      expected.norms.forEach((value, i) => void expect(found.norms[i]).toBeCloseTo(value, 2));
    }
    expect(Math.max(...clipped.norms)).toBeCloseTo(limit, 5);
    expect(Math.max(...whole.norms)).toBeGreaterThan(10 * limit);
    expect(Math.abs((clipped.params[0] as number) - (whole.params[0] as number))).toBeGreaterThan(0.1);
  });

  it("learns by the task's modality", async () => {
    const tokens = Int32Array.from({ length: 8 * 6 }, (_, i) => ((i % 6) + Math.floor(i / 6)) % 5);
    for (const modality of ["text", "multimodal"] as const) {
      const language = supervisedTrainer({
        model: nn.sequential({ words: nn.embedding(5, 8), out: nn.dense(5) }),
        trainingConfig: { epochs: 30, batchSize: 4, learningRate: 0.05, ...quiet },
        taskSpec: { modality },
        engine,
      });
      const { metrics } = await language.train({ trainData: { x: { data: tokens, shape: [8, 6] } } });
      expect(metrics.accuracy).toBe(1);
    }
    const vision = supervisedTrainer({
      model: nn.cnn({ channels: [4], out: 2 }),
      trainingConfig: { epochs: 40, batchSize: 8, learningRate: 0.05, ...quiet },
      taskSpec: { modality: "vision" },
      engine,
    });
    // Bright above or bright below.
    const y = Int32Array.from({ length: 8 }, (_, i) => i % 2);
    const pixels = Float32Array.from({ length: 8 * 36 }, (_, i) => {
      const [image, row] = [Math.floor(i / 36), Math.floor((i % 36) / 6)];
      return (row < 3 ? 1 : 0) === image % 2 ? 1 : 0.1 * Math.sin(i);
    });
    const { metrics } = await vision.train({ trainData: { x: { data: pixels, shape: [8, 6, 6, 1] }, y } });
    expect(metrics.accuracy).toBe(1);
  });

  it("falls back on the targets where nothing says what to learn: numbers", async () => {
    const trainer = supervisedTrainer({
      model: nn.dense(1),
      trainingConfig: { epochs: 2, ...quiet },
      engine,
    });
    const { x } = examples([40, 3], [40]);
    const { metrics } = await trainer.train({ trainData: { x, y: new Float32Array(40) } });
    expect(Object.keys(metrics)).toEqual(["loss"]);
  });

  it("ends at once without examples, or says that there are none, as told", async () => {
    const of = (onEmpty: "error" | "finish") =>
      supervisedTrainer({ model, trainingConfig: { onEmpty, ...quiet }, engine }).train({
        trainData: clouds(0),
      });
    expect(await of("finish")).toMatchObject({ outcome: "completed", counters: { batches: 0 } });
    await expect(of("error")).rejects.toThrow(/DATA_EMPTY/);
  });

  it("takes the seed of the trainer where the task has none", async () => {
    const task = (seed?: number) =>
      supervisedTask({
        model: nn.dense(2),
        optimizer: optim.sgd(),
        data: clouds(20),
        loss: (out: Value, y: Value) => nn.crossEntropy(out, y),
        batchSize: 8,
        engine,
        ...(seed !== undefined && { seed }),
      });
    const states = async (own: number | undefined, run: number) => {
      const made = task(own);
      await new Trainer({ task: made, config: { seed: run, ...quiet } }).train();
      return (await made.snapshot()).components;
    };
    expect(await firstDifference(await states(undefined, 7), await states(7, 3))).toBeUndefined();
    expect(await firstDifference(await states(undefined, 7), await states(undefined, 3))).toBeDefined();
  });

  it("refuses a path without checkpoints, and a state of something else", async () => {
    const trainer = supervisedTrainer({ model, trainingConfig: quiet, engine });
    const trainData = clouds(20);
    await expect(trainer.train({ trainData, resumeFrom: "./run" })).rejects.toThrow(
      /no whole checkpoint at .*CHECKPOINT_MISSING/,
    );
    await expect(trainer.train({ trainData, resumeFrom: { params: {} } })).rejects.toThrow(
      /it lacks .*optimizer/,
    );
    expect(() => supervisedTrainer({ model, trainingConfigs: {} } as never)).toThrow(/trainingConfig"/);
  });
});

const stopAt = (batches: number): TrainerHook => ({
  name: "stop",
  onBatchEnd: ({ counters, stop }) => {
    if (counters.batches === batches) stop("enough");
  },
});
