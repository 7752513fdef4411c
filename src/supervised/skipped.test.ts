import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { Trainer } from "../trainer/index.ts";
import { examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";
import { supervisedTrainer } from "./trainer.ts";

describe.each(testEngines())("updates that were not applied on %s", (engine) => {
  /** The last of 10 examples is no number: with batches of 2, one update of 5 is left out each epoch. */
  const data = (bad: boolean) => {
    const { x, y } = examples([10, 3], [10, 2]);
    if (bad) x.data[29] = Number.NaN;
    // On the device, where it is not looked at.
    return { x: put(x.data, { shape: x.shape, engine }), y };
  };
  const warningsOf = async (bad: boolean, validated: boolean) => {
    const warnings: string[] = [];
    const trainer = supervisedTrainer({
      model: nn.dense(2),
      trainingConfig: { epochs: 3, batchSize: 2, shuffle: false, handleSignals: false },
      warn: (text) => void warnings.push(text),
      engine,
    });
    await trainer.train({ trainData: data(bad), ...(validated && { valData: data(false) }) });
    return warnings;
  };

  it("are told of at the end, how many of how many", async () => {
    expect(await warningsOf(true, false)).toEqual([
      expect.stringMatching(/^3 of 15 updates were not applied.*gradientMonitor/),
    ]);
  });

  it("and at the first validation that finds some", async () => {
    expect(await warningsOf(true, true)).toEqual([
      expect.stringContaining("1 of 5 updates"),
      expect.stringContaining("3 of 15 updates"),
    ]);
  });

  it("are no matter where all were", async () => {
    expect(await warningsOf(false, true)).toEqual([]);
  });

  it("are none where the optimizer leaves none out", async () => {
    const warnings: string[] = [];
    const task = supervisedTask({
      ...{ model: nn.dense(2), data: data(true), loss: nn.mse, batchSize: 2, engine },
      optimizer: optim.adam(),
    });
    const warn = (text: string) => void warnings.push(text);
    await new Trainer({ task, config: { handleSignals: false, onNonFinite: "ignore" }, warn }).train();
    expect(warnings).toEqual([]);
  });
});
