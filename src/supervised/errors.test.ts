import { describe, expect, it } from "vitest";
import { np, put } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { drive, examples } from "./drive.test-support.ts";
import { supervisedConfig } from "./options.ts";
import { binary, classification, languageModeling } from "./strategies.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

const task = (more: object = {}) =>
  supervisedTask({
    model: nn.dense(2),
    optimizer: optim.adam(),
    data: examples([10, 3], [10, 2]),
    loss: nn.mse,
    batchSize: 4,
    engine: "wasm",
    ...more,
  });

const { name: _, ...texts } = languageModeling();

/** Examples of which one number is another. */
const changed = (shape: readonly number[], at: number, value: number) => {
  const { x } = examples(shape, [1]);
  x.data[at] = value;
  return x;
};

describe("a supervised task refuses", () => {
  it.each([
    ["no examples", { data: examples([0, 3], [0, 2]) }, /no examples.*DATA_EMPTY/s],
    ["lengths that differ", { data: { ...examples([10, 3], [9, 2]) } }, /10 examples.*9.*DATA_LENGTH/s],
    ["no targets", { data: { x: examples([10, 3], [1, 1]).x } }, /no y.*DATA_INVALID/s],
    ["data without a shape", { data: { x: 3, y: [1] } }, /no array of examples.*DATA_INVALID/s],
    [
      "numbers that do not fill a shape",
      { data: { x: { data: [1, 2], shape: [3] }, y: [1] } },
      /data x.*SHAPE/s,
    ],
    [
      "a number that f32 cannot hold",
      { data: { x: [[1], [1e300]], y: [[1], [2]] } },
      /x is 1e\+300 in row 1/,
    ],
    ["another name in the data", { data: { x: [[1]], z: [1] } }, /no option "z"/],
    ["a function in place of a model", { model: (x: unknown) => x }, /model is .*OPTION_INVALID/s],
    [
      "yes and no as 1 and -1",
      {
        loss: binary().loss,
        data: {
          x: [
            [1, 2, 3],
            [1, 2, 3],
          ],
          y: [
            [0, 1],
            [1, -1],
          ],
        },
      },
      /data: 1 of 4 labels are not from 0 to 1; the first is -1, at y\[3\].*LABELS_INVALID/s,
    ],
    [
      "texts of one token, which have no next one",
      { ...texts, data: { x: { data: Int32Array.of(1, 2), shape: [2, 1] } } },
      /texts of 1 tokens.*DATA_INVALID/s,
    ],
    ["a batch of NaN", { batchSize: Number.NaN }, /batchSize is NaN.*OPTION_INVALID/s],
    ["a batch of half an example", { batchSize: 0.5 }, /batchSize is 0.5/],
    ["no batches to accumulate", { accumulate: 0 }, /accumulate is 0/],
    [
      "dropping the only batch",
      { batchSize: 11, lastBatch: "drop" },
      /10 examples do not fill.*DATA_TOO_SMALL/s,
    ],
    ["a last batch that is neither", { lastBatch: "dorp" }, /did you mean "drop"/],
    ["a misspelt option", { batchsize: 4 }, /did you mean "batchSize"/],
    ["a rate the optimizer has not", { rates: { beta3: 0.5 } }, /no rate "beta3".*did you mean "beta1"/s],
    ["a rate that is no number", { learningRate: Number.NaN }, /learningRate is NaN.*RATE_INVALID/s],
    [
      "a list of rates",
      { learningRate: [0.1, 0.01] },
      /"learningRate" is one rate, and \[0.1,0.01\].*RATE_INVALID/s,
    ],
    ["a rate in words", { rates: { beta1: "0.9" } }, /"beta1" is one rate, and "0.9"/],
    ["a rate that is null", { rates: { beta1: null } }, /"beta1" is one rate, and null/],
    ["a metric called loss", { metrics: { loss: nn.mse } }, /can be called "loss"/],
    [
      "inputs that are no numbers",
      { data: { x: changed([10, 3], 7, Number.NaN), y: examples([1], [10, 2]).y } },
      /data: x is NaN in row 2, number 1 of its 3 \[DATA_NOT_FINITE\]/,
    ],
    [
      "infinite targets to validate on",
      { validation: { x: examples([4, 3], [1]).x, y: changed([4, 2], 3, Number.NEGATIVE_INFINITY) } },
      /validation: y is -Infinity in row 1, number 1 of its 2 \[DATA_NOT_FINITE\]/,
    ],
    [
      "a number that is none in a list",
      {
        data: {
          x: [
            [1, 2, 3],
            [4, Number.NaN, 6],
          ],
          y: [
            [1, 2],
            [3, 4],
          ],
        },
        batchSize: 2,
      },
      /data: x is NaN in row 1, number 1 of its 3/,
    ],
    [
      "one in a tree, by its path",
      { data: { x: { a: [1, 2], b: Float32Array.of(1, Number.NaN) }, y: [1, 2] } },
      /data: x\.b is NaN in row 1 \[DATA_NOT_FINITE\]/,
    ],
    [
      "validation of another shape than the model takes",
      { validation: examples([4, 5], [4, 2]) },
      /supervisedTask: validation: .*SHAPE/s,
    ],
    ["no model", { model: undefined }, /model is missing.*OPTION_INVALID/s],
    ["no loss", { loss: undefined }, /loss is missing.*OPTION_INVALID/s],
    ["a loss that is none", { loss: 5 }, /loss is 5.*OPTION_INVALID/s],
    ["an optimizer that is none", { optimizer: {} }, /optimizer is .*OPTION_INVALID/s],
    [
      "nothing to validate on",
      { validation: examples([0, 3], [0, 2]) },
      /validation has no examples.*DATA_EMPTY/s,
    ],
  ])("%s", (_name, options, message) => {
    expect(() => task(options)).toThrow(message);
  });

  it.each<[string, () => unknown, RegExp]>([
    ["of several numbers", () => np.zeros([16]), /metric "v" gave f32\[16\].*METRIC_INVALID/s],
    ["that is no value", () => 2, /metric "v" gave 2, which is no value.*METRIC_INVALID/s],
    ["that is nothing", () => undefined, /metric "v" gave undefined/],
  ])("a metric %s", async (_name, v, message) => {
    await expect(drive(task({ metrics: { v } }), { epochs: 1 })).rejects.toThrow(message);
    const other = task({ metrics: { v }, loss: [nn.mse] });
    await expect(drive(other, { epochs: 1 })).rejects.toThrow(message);
  });

  it("a state of another model, naming what differs", async () => {
    const { components } = task();
    const other = task({ model: nn.dense(3), data: examples([10, 3], [10, 3]) });
    expect(() => components.params?.setState(other.components.params?.getState() as never)).toThrow(
      /params does not fit: b is .*f32\[3\].*present one f32\[2\].*STATE_MISMATCH/s,
    );
    expect(() => components.params?.setState({ w: [1] })).toThrow(/built unlike/);
    expect(() => components.data?.setState({ position: 3 })).toThrow(/STATE_INVALID/);
    expect(() => components.data?.setState({ key: Uint32Array.of(1, 2), epoch: 0, position: 12 })).toThrow(
      /example 12 of an epoch, and there are 10/,
    );
    expect(() => components.keys?.setState({})).toThrow(/STATE_INVALID/);
  });

  it("a batch that is not the next one", async () => {
    const [segment] = task().epoch(drive.start);
    const span = { segment, index: 0, from: 1, count: 1, at: drive.start };
    const { signal } = new AbortController();
    const request = { at: drive.start, spans: [span], count: 1, ramps: {}, signal };
    expect(() => task().run(request as never)).toThrow(/example 4 of the epoch.*example 0.*DATA_POSITION/s);
  });
});

describe("a supervised task takes", () => {
  it("fewer examples than a batch as one smaller batch", () => {
    expect(task({ batchSize: 64 }).epoch(drive.start)).toMatchObject([{ repeats: 1, adds: { samples: 10 } }]);
  });

  it("no examples, where it was told so: an epoch without batches", () => {
    expect(task({ data: examples([0, 3], [0, 2]), empty: "skip" }).epoch(drive.start)).toEqual([]);
  });

  it("nested arrays and tensors, and stays where the tensors are", async () => {
    const x = put([[1], [2], [3]], { engine: "wasm" });
    const both = task({
      data: {
        x,
        y: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      },
      batchSize: 2,
      engine: undefined,
    });
    expect((await drive(both, { epochs: 1 })).values.loss).toHaveLength(2);
  });
});

describe("supervisedConfig", () => {
  it("is one object with the trainer's fields and its own", () => {
    const config = supervisedConfig({ epochs: 3, batchSize: 8 });
    expect(config).toMatchObject({ epochs: 3, batchSize: 8, seed: 0, learningRate: 1e-3, accumulate: 1 });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it.each([
    [{ learning_rate: 1 }, /did you mean "learningRate"/],
    [{ epoch: 1 }, /did you mean "epochs"/],
    [{ batchSize: 0 }, /batchSize is 0, which is not a whole number from 1 on/],
    [{ learningRate: -1 }, /learningRate is -1/],
    [{ learningRate: [0.1, 0.01] }, /learningRate is \[0.1,0.01\], which is not a finite number/],
    [{ learningRate: "0.1" }, /learningRate is "0.1"/],
    [{ gradientClip: 0 }, /gradientClip is 0/],
    [{ weightDecay: Number.NaN }, /weightDecay is NaN/],
    [{ epochs: -1 }, /epochs is -1/],
    [{ lastBatch: "no" }, /lastBatch is "no"/],
  ])("refuses %j", (given, message) => {
    expect(() => supervisedConfig(given as never)).toThrow(message);
  });
});

describe("a strategy refuses", () => {
  it("classes of which none counts", () => {
    expect(() => classification({ classWeights: [0, 0] })).toThrow(/classWeights.*OPTION_INVALID/s);
  });
});

describe("supervisedTrainer refuses", () => {
  const model = nn.dense(1);

  it.each([{ gradientClip: 1 }, { weightDecay: 0.1 }])(
    "%j beside an optimizer that would not follow it",
    (given) => {
      expect(() => supervisedTrainer({ model, optimizer: optim.sgd(), trainingConfig: given })).toThrow(
        new RegExp(`${Object.keys(given)}.*OPTION_INVALID`, "s"),
      );
      const trainingConfig = supervisedConfig({ epochs: 2 }); // Its defaults ask for nothing.
      expect(supervisedTrainer({ model, optimizer: optim.sgd(), trainingConfig }).config.epochs).toBe(2);
    },
  );

  it.each([[[undefined]], [[false]], ["metrics"]])("%j in place of hooks", (hooks) => {
    expect(() => supervisedTrainer({ model, hooks: hooks as never })).toThrow(/hooks is .*OPTION_INVALID/s);
  });
});
