import { describe, expect, it } from "vitest";
import { hashesOf, temporaryDirectory } from "../checkpoint/hook/runs.test-support.ts";
import { columns, fromIterable, label, standardize } from "../data/index.ts";
import { np, type Value } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import { examples } from "./drive.test-support.ts";
import { accuracy } from "./metrics.ts";
import { supervisedTrainer } from "./trainer.ts";

const made = (events: string[] = [], checkpointDir?: string) =>
  supervisedTrainer({
    model: nn.mlp({ hidden: [4], out: 1 }),
    trainingConfig: { epochs: 2, batchSize: 8, seed: 5 },
    loss: nn.mse,
    metrics: { error: (out: Value, y: Value) => np.mean(np.abs(out.sub(y))) },
    engine: "wasm",
    hooks: [
      {
        name: "watch",
        onValidationEnd: () => void events.push("v"),
        onTrainingEnd: () => void events.push("e"),
      },
    ],
    ...(checkpointDir && { checkpointDir, automatic: { metrics: false, gradients: false } }),
  });
const [trainData, valData, testData] = [
  examples([20, 3], [20, 1]),
  examples([12, 3], [12, 1]),
  examples([5, 3], [5, 1]),
];

/** Mean square and mean absolute error, in plain numbers. */
async function expected(trainer: ReturnType<typeof made>, { x, y }: typeof testData) {
  const shape = [...x.shape];
  const out = (await trainer.task.predict({ data: x.data, shape }).read()) as Float32Array;
  const errors = Array.from(out, (value, i) => value - (y.data[i] as number));
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
  return { loss: mean(errors.map((e) => e * e)), error: mean(errors.map(Math.abs)) };
}

describe("validate and test alone", () => {
  it("measure as validation does, without an event and without changing the run", async () => {
    const events: string[] = [];
    const trainer = made(events);
    const { validation } = await trainer.train({ trainData, valData, progress: false });
    const [heard, before] = [events.length, await hashesOf(trainer.trainer)];
    expect(await trainer.validate()).toEqual(validation);
    expect(await trainer.validate({ data: valData })).toEqual(validation);
    const found = await trainer.test({ data: testData });
    const { loss, error } = await expected(trainer, testData);
    expect(found.loss).toBeCloseTo(loss, 5);
    expect(found.error).toBeCloseTo(error, 5);
    expect([events.length, await hashesOf(trainer.trainer)]).toEqual([heard, before]);
  });

  it("count weights that only the tested set has", async () => {
    const x = { data: Float32Array.of(1, 2, -1, -2), shape: [4, 1] };
    const right = Int32Array.of(1, 1, 0, 0);
    const trainer = supervisedTrainer({
      engine: "wasm",
      model: nn.dense(2),
      trainingConfig: { epochs: 20, learningRate: 0.1, batchSize: 4 },
      loss: nn.crossEntropy,
      metrics: { accuracy },
    });
    await trainer.train({ trainData: { x, y: right }, progress: false });
    const y = Int32Array.of(1, 1, 1, 0);
    expect((await trainer.test({ data: { x, y } })).accuracy).toBe(0.75);
    expect((await trainer.test({ data: { x, y, weight: [1, 1, 2, 4] } })).accuracy).toBe(0.75);
    expect((await trainer.test({ data: { x, y, weight: [1, 1, 6, 4] } })).accuracy).toBe(0.5);
  });

  it("test a checkpoint in a program that trains nothing", async () => {
    const directory = temporaryDirectory();
    const trained = made([], directory);
    await trained.train({ trainData, progress: false });
    const found = await made().test({ data: testData, resumeFrom: directory });
    expect(found).toEqual(await trained.test({ data: testData }));
  });

  it("take a transform's state from the checkpoint, and learn nothing from the test rows", async () => {
    const rows = (from: number) =>
      fromIterable(Array.from({ length: 24 }, (_, i) => ({ size: from + i, kind: i % 2 ? "cat" : "dog" })));
    const of = (checkpointDir?: string) => {
      const transform = columns({
        x: [standardize("size")],
        y: label("kind"),
      });
      const trainer = supervisedTrainer({
        engine: "wasm",
        model: nn.mlp({ hidden: [4], out: 2 }),
        trainingConfig: { epochs: 1, batchSize: 8 },
        transform,
        ...(checkpointDir && { checkpointDir, automatic: { metrics: false, gradients: false } }),
      });
      return { trainer, transform };
    };
    const directory = temporaryDirectory();
    const { trainer, transform } = of(directory);
    await trainer.train({ trainData: rows(0), progress: false });
    const other = of();
    const found = await other.trainer.test({ data: rows(100), resumeFrom: directory });
    expect(other.transform.getState()).toEqual(transform.getState());
    expect(found).toEqual(await trainer.test({ data: rows(100) }));
  });

  it("say what is missing", async () => {
    await expect(made().test({ data: testData })).rejects.toThrow(/NOT_TRAINED/);
    const trainer = made();
    await trainer.train({ trainData, progress: false });
    await expect(trainer.validate()).rejects.toThrow(/VALIDATION_MISSING/);
    await expect(trainer.validate({ resumeFrom: "runs/other" })).rejects.toThrow(/OPTION_INVALID/);
    await expect(trainer.test({ data: examples([5, 2], [5, 1]) })).rejects.toThrow(/test/);
    await expect(trainer.test({ data: examples([0, 3], [0, 1]) })).rejects.toThrow(/DATA_EMPTY/);
  });
});
