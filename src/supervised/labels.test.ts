import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import * as nn from "../nn/index.ts";
import { supervisedTrainer } from "./trainer.ts";

const x = { data: new Float32Array(8), shape: [4, 2] };
const trained = (y: unknown, more: object = {}, valY?: unknown) =>
  supervisedTrainer({
    model: nn.dense(2),
    trainingConfig: { batchSize: 2, handleSignals: false },
    engine: "wasm",
    warn: () => {},
    ...more,
  }).train({
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
      /trainData: 2 of 4 labels are none of the model's 2 classes, the first is 2 \[LABELS_INVALID\]/,
    );
  });

  it("below 0 are refused, of validation too", async () => {
    const y = Int32Array.of(0, 1, 0, 1);
    await expect(trained(y, {}, Int32Array.of(0, 1, 0, -1))).rejects.toThrow(
      /valData: 1 of 4 labels.*the first is -1/,
    );
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
