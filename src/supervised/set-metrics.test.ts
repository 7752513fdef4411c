import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile, np, put, type Tensor, type Value } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { drive, examples } from "./drive.test-support.ts";
import { ofBatch } from "./metrics.test-support.ts";
import { accuracy, auc, confusionMatrix, f1, precision, recall, type SetMetric } from "./metrics.ts";
import { languageModeling } from "./strategies.ts";
import { supervisedTask } from "./task.ts";
import { confusionMatrixHook, MetricsTracker, validationTables } from "./tracker.ts";
import { supervisedTrainer } from "./trainer.ts";
import { GradientAccumulator } from "./update.ts";

const engine = "wasm";
const labels = Int32Array.from({ length: 23 }, (_, i) => (i * 7 + (i >> 2)) % 3);
const data = { x: examples([23, 3], [1]).x, y: labels };
const context = { counters: drive.start, signal: new AbortController().signal };

/** The number of examples, counted by a metric of one's own. */
const seen: SetMetric<{ readonly count: Value }> = {
  init: () => ({ count: np.zeros([], { dtype: "i32" }) }),
  add: ({ count }, outputs) => ({ count: count.add(outputs.shape[0] as number) }),
  value: ({ count }) => ({ examples: count, twice: count.mul(2) }),
};

const taskWith = (more: object) =>
  supervisedTask({
    model: nn.dense(3),
    optimizer: optim.sgd({ learningRate: 0.1 }),
    data,
    validation: data,
    loss: nn.crossEntropy,
    metrics: { accuracy, f1: f1(), auc: auc(), seen, confusion: confusionMatrix() },
    batchSize: 23,
    seed: 1,
    engine,
    ...more,
  });

describe("metrics of a task", () => {
  it("are those of the whole validation set, whatever its batches", async () => {
    const whole = await taskWith({}).validate?.(context);
    const parts = await taskWith({ batchSize: 4 }).validate?.(context);
    const single = await taskWith({ batchSize: 4, maxFuse: 2 }).validate?.(context);
    expect(Object.keys(whole ?? {}).sort()).toEqual(
      ["accuracy", "auc", "f1", "loss", "seen.examples", "seen.twice"].sort(),
    );
    expect(parts).toMatchObject({ f1: whole?.f1, auc: whole?.auc, "seen.examples": 23, "seen.twice": 46 });
    expect(single).toEqual(parts);
  });

  it("are the batch's own in training, over all micro-batches of an update", async () => {
    const shuffle = false;
    const large = await drive(taskWith({ shuffle, batchSize: 8 }), { epochs: 1 });
    const small = await drive(taskWith({ shuffle, batchSize: 2, accumulate: 4 }), { epochs: 1 });
    const odd = await drive(taskWith({ shuffle, batchSize: 3, accumulate: 3 }), { epochs: 1 });
    expect(large.values["seen.examples"]).toEqual([8, 8, 7]);
    expect(small.values["seen.examples"]).toEqual([8, 8, 7]);
    expect(odd.values["seen.examples"]).toEqual([9, 9, 5]);
    expect(small.values.f1?.[0]).toBeCloseTo(large.values.f1?.[0] as number, 6);
    expect(small.values.auc?.[0]).toBeCloseTo(large.values.auc?.[0] as number, 6);
    expect(large.values.confusion).toBeUndefined();
  });

  it("take a logit for a yes from their threshold on", async () => {
    const logits = Float32Array.of(-2, -0.5, 0.5, 2); // probabilities 0.12, 0.38, 0.62, 0.88
    const y = Int32Array.of(0, 1, 0, 1);
    const at = (threshold: number, more: object) =>
      compile(
        (outputs: Value, labels: Value) => [
          ofBatch(precision({ threshold, ...more }), outputs, labels),
          ofBatch(recall({ threshold, ...more }), outputs, labels),
        ],
        { engine },
      );
    const scores = async (threshold: number) => {
      const one = at(threshold, {})(put(logits, { engine }), put(y, { engine }));
      const many = at(threshold, { multiLabel: true, average: "micro" })(
        put(logits, { engine, shape: [4, 1] }),
        put(y, { engine, shape: [4, 1] }),
      );
      const found = await Promise.all([...one, ...many].map((value) => value.item()));
      expect(found.slice(2)).toEqual(found.slice(0, 2));
      return found.slice(0, 2);
    };
    expect(await scores(0.5)).toEqual([0.5, 0.5]);
    expect(await scores(0.8)).toEqual([1, 0.5]);
    expect((await scores(0.3))[1]).toBe(1);
  });

  it("of language count tokens, not batches", async () => {
    const { name: _, ...how } = languageModeling();
    const y = Int32Array.of(0, -100, -100, -100, 1, 1, 1, 1);
    const make = (batchSize: number) =>
      supervisedTask({
        ...how,
        // It always says 1.
        model: {
          kind: "one",
          init: nn.dense(1).init,
          apply: (_p, x: Value) => np.oneHot(x.mul(0).add(1).astype("i32"), 2),
        },
        optimizer: optim.sgd(),
        data: { x: { data: new Float32Array(8), shape: [2, 4] }, y: { data: y, shape: [2, 4] } },
        validation: { x: { data: new Float32Array(8), shape: [2, 4] }, y: { data: y, shape: [2, 4] } },
        batchSize,
        engine,
      });
    expect((await make(1).validate?.(context))?.accuracy).toBeCloseTo(4 / 5, 6);
    expect((await make(2).validate?.(context))?.accuracy).toBeCloseTo(4 / 5, 6);
  });

  it("that are tables are drawn and filed", async () => {
    const checkpointDir = mkdtempSync(join(tmpdir(), "espalier-tables-"));
    const trainer = supervisedTrainer({
      model: nn.dense(3),
      trainingConfig: { epochs: 2, batchSize: 8 },
      metrics: { accuracy, confusion: confusionMatrix({ names: ["cat", "dog", "owl"] }) },
      loss: nn.crossEntropy,
      checkpointDir,
      automatic: { checkpoints: false, metrics: false, gradients: false },
      engine,
    });
    await trainer.train({ trainData: data, valData: data, progress: false });
    const folder = join(checkpointDir, "tables");
    expect(readdirSync(folder)).toEqual(["confusion-update-000003.json", "confusion-update-000006.json"]);
    const { names, rows } = JSON.parse(readFileSync(join(folder, "confusion-update-000006.json"), "utf8"));
    expect(names).toEqual(["cat", "dog", "owl"]);
    const counts = [0, 1, 2].map((label) => labels.filter((each) => each === label).length);
    expect(rows.map((row: number[]) => row.reduce((a, b) => a + b))).toEqual(counts);
    rmSync(checkpointDir, { recursive: true });

    const written: string[] = [];
    const shown = supervisedTrainer({
      model: nn.dense(3),
      trainingConfig: { epochs: 1, batchSize: 8 },
      metrics: { confusion: confusionMatrix() },
      loss: nn.crossEntropy,
      hooks: confusionMatrixHook({ stream: { write: (text) => written.push(text) } }),
      engine,
    });
    await shown.train({ trainData: data, valData: data, progress: false });
    expect(written.join("").split("\n")[0]).toMatch(/confusion .*3/);
    expect(written.join("").split("\n")).toHaveLength(6);
  });

  it("that are tables of one's own reach hooks without names", async () => {
    const found: unknown[] = [];
    const outputsOf: SetMetric<Value> = {
      init: () => np.zeros([2, 2]),
      add: (state) => state.add(1),
      value: (state) => state,
    };
    const trainer = supervisedTrainer({
      model: nn.dense(3),
      trainingConfig: { epochs: 1, batchSize: 8 },
      metrics: { own: outputsOf },
      loss: nn.crossEntropy,
      hooks: {
        name: "watch",
        wants: [validationTables],
        onValidationEnd: ({ slots }) => void found.push(slots.get(validationTables)?.tables.own),
      },
      engine,
    });
    await trainer.train({ trainData: data, valData: data, progress: false });
    const three = [3, 3];
    expect(found).toEqual([{ rows: [three, three], names: ["0", "1"] }]);
  });

  it("are tracked in loops of one's own", async () => {
    const tracker = new MetricsTracker({ accuracy, f1: f1(), confusion: confusionMatrix() }, { engine });
    const batches = [
      [
        [2, 1],
        [0, 3],
      ],
      [[1, 0]],
    ].map((rows) => put(rows, { engine }));
    const targets = [[0, 1], [1]].map((y) => put(Int32Array.from(y), { engine }));
    for (let pass = 0; pass < 2; pass++) {
      tracker.reset();
      batches.forEach((outputs, i) => void tracker.add(outputs, targets[i] as Tensor));
      const { metrics, tables } = await tracker.values();
      expect(metrics).toEqual({ accuracy: expect.closeTo(2 / 3, 6), f1: expect.closeTo(2 / 3, 6) });
      expect(tables.confusion).toEqual([
        [1, 0],
        [1, 1],
      ]);
    }
    const short = new MetricsTracker({ auc: auc() }, { engine, examples: 2 });
    short.add(batches[0] as Tensor, targets[0] as Tensor);
    expect(() => short.add(batches[1] as Tensor, targets[1] as Tensor)).toThrow(/3 examples.*DATA_LENGTH/s);
    expect(() => tracker.add([[1, 2]] as never, [1] as never)).toThrow(/OPTION_INVALID/);
    expect(() => new MetricsTracker({ mean: (x: Value) => np.mean(x) })).toThrow(/METRIC_INVALID/);
    const sums = compile(
      (a: Value, b: Value) => {
        const sum = new GradientAccumulator().add({ w: a }, 0.25).add({ w: b }, 0.75);
        return sum.gradients.w as Value;
      },
      { engine },
    );
    expect([...(await sums(Float32Array.of(4), Float32Array.of(8)).read())]).toEqual([7]);
  });

  it("are refused where they are no metrics", () => {
    expect(() => taskWith({ metrics: { f1: "f1" } })).toThrow(/"f1".*METRIC_INVALID/s);
    const named = confusionMatrix({ names: ["a"] });
    expect(() => taskWith({ metrics: { named } })).toThrow(/1 names and 3 classes.*OPTION_INVALID/s);
  });
});
