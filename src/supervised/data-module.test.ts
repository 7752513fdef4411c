import { describe, expect, it } from "vitest";
import { columns, type ExampleArray, fromIterable, label, standardize } from "../data/index.ts";
import * as nn from "../nn/index.ts";
import { dataModule } from "./data-module.ts";
import { supervisedTrainer } from "./trainer.ts";

const rows = Array.from({ length: 50 }, (_, i) => ({
  a: i / 10,
  b: i % 5,
  price: i / 5,
  kind: i % 2 ? "x" : "y",
}));

describe("a data module", () => {
  it("splits rows, makes examples by the task's fields, and its loaders train a model", async () => {
    const spec = {
      modality: "tabular",
      strategy: "regression",
      inputs: ["a", "b"],
      targets: "price",
    } as const;
    const shares = { train: 0.6, validation: 0.2, test: 0.2 };
    const data = await dataModule(spec, { data: fromIterable(rows), split: shares, batchSize: 8, seed: 4 });
    expect([data.train.length, data.validation?.length, data.test?.length]).toEqual([4, 2, 2]);
    const [batch] = await data.train.peek(1);
    expect(batch).toMatchObject({ x: { shape: [8, 2] }, y: { shape: [8] } });
    const trainer = supervisedTrainer({
      engine: "wasm",
      model: nn.sequential([nn.dense(1), (x) => x.reshape([-1])]),
      taskSpec: spec,
      trainingConfig: { epochs: 2, batchSize: 8, handleSignals: false },
    });
    const { validation } = await trainer.train({ trainData: data.train, valData: data.validation });
    expect(validation).toHaveProperty("loss");
    if (data.test) expect(await trainer.test({ data: data.test })).toHaveProperty("loss");
    await data.close();
  });

  it("fits a transform to the training rows alone, with a share of every class in each part", async () => {
    const transform = columns({ x: [standardize("a")], y: label("kind") });
    const stratify = (row: (typeof rows)[number]) => row.kind;
    const data = await dataModule({ modality: "tabular" }, { data: fromIterable(rows), transform, stratify });
    const classes = async (loader: typeof data.train) => {
      const all: number[] = [];
      for await (const { y } of loader) all.push(...(y as ExampleArray).data);
      return all.reduce((sum, kind) => sum + kind, 0) / all.length;
    };
    expect(await classes(data.train)).toBe(0.5);
    expect(data.test).toBeUndefined();
  });

  it("leaves bad rows out of fitting and of training, where they are skipped", async () => {
    const bad = rows.map((row, i) => (i === 30 ? { ...row, a: Number.NaN } : row));
    const good = rows.filter((_, i) => i !== 30);
    const make = () => columns({ x: [standardize("a")], y: label("kind") });
    const [transform, expected] = [make(), make()];
    await expected.fit(fromIterable(good));
    const parts = { train: fromIterable(bad, "bad") };
    const spec = { modality: "tabular" } as const;
    await expect(dataModule(spec, { data: parts, transform: make() })).rejects.toThrow(/bad, row 30/);
    const data = await dataModule(spec, { data: parts, transform, onBadExample: "skip", batchSize: 25 });
    expect(transform.getState()).toEqual(expected.getState());
    const model = nn.mlp({ hidden: [4], out: 2 });
    const trainingConfig = { epochs: 1, batchSize: 25, handleSignals: false, seed: 3 };
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    const { counters } = await supervisedTrainer({ engine: "wasm", model, trainingConfig, warn }).train({ trainData: data.train }); // biome-ignore format: one call
    expect([counters.samples, warnings]).toEqual([
      50,
      [expect.stringMatching(/^bad: 1 examples of epoch 0/)],
    ]);
    await data.close();

    const fresh = make();
    const trainer = supervisedTrainer({ engine: "wasm", model, trainingConfig: { ...trainingConfig, batchSize: 7 }, transform: fresh }); // biome-ignore format: one call
    const skipping = fromIterable(bad, "bad").skipBad();
    const run = await trainer.train({ trainData: skipping, valData: skipping });
    expect([run.counters.samples, fresh.getState()]).toEqual([49, expected.getState()]);
  });

  it("names fields that rows do not have, and parts that do not exist", async () => {
    const named = { modality: "tabular", inputs: ["a", "c"], targets: "price" } as const;
    const data = await dataModule(named, { data: fromIterable(rows) });
    await expect(data.train.peek(1)).rejects.toThrow(/"c".*a, b, price, kind/s);
    const wrong = { train: 0.5, rest: 0.5 } as { readonly train: number };
    await expect(dataModule(named, { data: fromIterable(rows), split: wrong })).rejects.toThrow(
      /OPTION_INVALID/,
    );
  });
});
