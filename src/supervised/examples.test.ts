import { describe, expect, it } from "vitest";
import { fromArrays } from "../data/index.ts";
import { put } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { classification, languageModeling } from "./strategies.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

const x = { data: new Float32Array(8), shape: [4, 2] };
const training = (more: object = {}) =>
  supervisedTrainer({
    model: nn.dense(2),
    trainingConfig: { batchSize: 2, handleSignals: false },
    engine: "wasm",
    warn: () => {},
    ...more,
  });
const trained = (y: unknown, more: object = {}, valY?: unknown) =>
  training(more).train({
    trainData: { x, y: y as never },
    ...(valY !== undefined && { valData: { x, y: valY as never } }),
  });

describe("labels", () => {
  const classes = { taskSpec: { modality: "tabular", strategy: "classification" } };

  it.each<[string, unknown, object]>([
    ["from 1 on", Int32Array.of(1, 2, 1, 2), {}],
    ["in a shaped array", { data: Uint8Array.of(1, 2, 1, 2), shape: [4] }, {}],
    ["in a list", [1, 2, 1, 2], classes],
  ])("%s are refused where there is no output for them", async (_name, y, more) => {
    await expect(trained(y, more)).rejects.toThrow(
      /data: 2 of 4 labels are none of the model's 2 classes; the first is 2, at y\[1\] \[LABELS_INVALID\]/,
    );
  });

  it.each([
    ["labels", { x, y: Int32Array.of(0, 1, 1, 2) }, /the first is 2, in row 3 \[LABELS_INVALID\]/],
    ["weights", { x, y: Int32Array.of(0, 1, 1, 1), weight: Float32Array.of(1, 1, 1, -1) }, /row 3 is -1/],
  ])(
    "of a part of a dataset: bad %s are refused with their row in the source",
    async (_name, arrays, error) => {
      const part = fromArrays(arrays).select([0, 2, 3]);
      await expect(training().train({ trainData: part })).rejects.toThrow(error);
    },
  );

  it("that are no whole numbers are refused, and not cut to the class below", async () => {
    await expect(trained([0, 0.7, 0, 1], classes)).rejects.toMatchObject({ code: "LABELS_INVALID" });
    await expect(trained(Int32Array.of(0, 1, 0, 1), {}, [0, 1, 1.5, 0])).rejects.toThrow(
      /1 of 4.* 1.5, at y\[2\]/,
    );
  });

  it("below 0 are refused, of validation too", async () => {
    const y = Int32Array.of(0, 1, 0, 1);
    await expect(trained(y, {}, Int32Array.of(0, 1, 0, -1))).rejects.toThrow(
      /validation: 1 of 4 labels.*the first is -1, at y\[3\]/,
    );
  });

  it.each<[string, object]>([
    ["crossEntropy", { loss: nn.crossEntropy }],
    ["it among other losses", { loss: [nn.crossEntropy] }],
    ["classification()", { loss: classification({ labelSmoothing: 0.1 }).loss }],
  ])("are refused by the task itself, with %s", (_name, how) => {
    const task =
      (y: Int32Array, more: object = {}) =>
      () =>
        supervisedTask({
          ...{ model: nn.dense(2), optimizer: optim.sgd(), batchSize: 2, engine: "wasm" },
          ...{ data: { x, y }, ...how, ...more },
        } as never);
    const good = Int32Array.of(0, 1, 1, 0);
    expect(task(good, { validation: { x, y: good } })).not.toThrow();
    expect(task(Int32Array.of(0, 1, 3, 2))).toThrow(/data: 2 of 4 .*is 3, at y\[2\] \[LABELS_INVALID\]/);
    expect(task(good, { validation: { x, y: Int32Array.of(0, 1, 2, 0) } })).toThrow(
      /validation: 1 of 4 .*is 2, at y\[2\] \[LABELS_INVALID\]/,
    );
  });

  it("that a language's loss ignores are no labels, and those that are no tokens are refused", () => {
    const { loss } = languageModeling({ ignore: -7 });
    const text = (last: number) => () =>
      supervisedTask({
        ...{ model: nn.sequential([nn.embedding(3, 4), nn.dense(3)]), loss, engine: "wasm" },
        ...{ optimizer: optim.sgd(), batchSize: 1 },
        data: {
          x: { data: Int32Array.of(0, 1, 2, 1), shape: [2, 2] },
          y: { data: Int32Array.of(1, -7, 1, last), shape: [2, 2] },
        },
      });
    expect(text(2)).not.toThrow();
    expect(() =>
      supervisedTask({
        model: nn.dense(2),
        optimizer: optim.sgd(),
        loss: classification({ ignore: -7 }).loss,
        batchSize: 2,
        data: { x, y: Int32Array.of(-7, -7, -7, -7) },
        engine: "wasm",
      }),
    ).toThrow(/nothing counts.*LABELS_INVALID/s);
    expect(text(3)).toThrow(/1 of 4 labels.*3 classes.*is 3, at y\[3\]/);
  });

  it("are none where the loss is of numbers", () => {
    const y = { data: Int32Array.of(5, 6, 7, 8), shape: [4, 1] };
    const options = { model: nn.dense(1), optimizer: optim.sgd(), loss: nn.mse, batchSize: 2 };
    expect(() => supervisedTask({ ...options, data: { x, y }, engine: "wasm" })).not.toThrow();
  });

  it.each<[string, unknown, object]>([
    ["within the classes", Int32Array.of(0, 1, 1, 0), {}],
    ["as booleans", [false, true, true, false], classes],
    ["as distributions", { data: new Float32Array(8).fill(0.5), shape: [4, 2] }, classes],
    ["on a device", put(Int32Array.of(0, 1, 1, 0), { engine: "wasm" }), {}],
  ])("%s are trained on", async (_name, y, more) => {
    expect((await trained(y, more)).outcome).toBe("completed");
  });

  it.each([[[0, 1, 1, 0]], [[false, true, true, false]]])(
    "in a list without a word are taken for numbers, and the error says so: %j",
    async (y) => {
      await expect(trained(y)).rejects.toThrow(/taken for numbers to predict.*Int32Array.*classification/s);
    },
  );
});
