import { describe, expect, it } from "vitest";
import { Trainer } from "../../trainer/index.ts";
import { FakeTask, train } from "../../trainer/task.test-support.ts";
import { bestCheckpoint, CheckpointManager, localStore } from "../index.ts";
import { temporaryDirectory } from "./runs.test-support.ts";

const scores = [0.2, 0.9, 0.5, 0.9, Number.NaN, 0.3];

async function trained(directory: string, epochs = 6) {
  const task = new FakeTask({ epoch: () => [train(2)], validate: true });
  const validate: NonNullable<FakeTask["validate"]> = async ({ counters }) => ({
    accuracy: scores[counters.epochs - 1] ?? 0,
  });
  const hook = bestCheckpoint({ directory, metric: "validation/accuracy", direction: "max" });
  await new Trainer({ task: Object.assign(task, { validate }), config: { epochs }, hooks: [hook] }).train();
}

describe("bestCheckpoint", () => {
  it("keeps the best and the newest, of equal scores the earlier, over a resume too", async () => {
    const directory = temporaryDirectory();
    await trained(directory, 3);
    await trained(directory);
    const manager = new CheckpointManager({ store: localStore(directory) });
    expect((await manager.list()).map(({ name }) => name)).toEqual([
      "epoch-0002-update-000004",
      // The one that the run was resumed from stays.
      "epoch-0003-update-000006",
      "epoch-0006-update-000012",
    ]);
    expect((await manager.best())?.name).toBe("epoch-0002-update-000004");
    expect((await manager.best({ metric: "validation/accuracy", direction: "min" }))?.name).toBe(
      "epoch-0006-update-000012",
    );
    await expect(manager.best({ metric: "validation/loss", direction: "min" })).rejects.toThrow(
      /validation\/accuracy.*METRIC_UNKNOWN/s,
    );
  });

  it("passes over a best one that is damaged, and says so", async () => {
    const directory = temporaryDirectory();
    await trained(directory);
    const { rmSync } = await import("node:fs");
    rmSync(`${directory}/epoch-0002-update-000004/values.bin`);
    const warnings: string[] = [];
    const manager = new CheckpointManager({
      store: localStore(directory),
      warn: (text) => void warnings.push(text),
    });
    expect((await manager.best())?.name).toBe("epoch-0006-update-000012");
    expect(warnings.join()).toMatch(/epoch-0002-update-000004/);
  });

  it("has no best one in an empty directory, and none by a rule that nobody gave", async () => {
    const empty = new CheckpointManager({ store: localStore(temporaryDirectory()) });
    expect(await empty.best()).toBeUndefined();
    const manager = new CheckpointManager({ store: localStore(temporaryDirectory()) });
    await manager.save({}, { step: 1, metrics: { loss: 1 } });
    await expect(manager.best()).rejects.toThrow(/METRIC_UNKNOWN/);
    await manager.close();
  });

  it("refuses a metric without its category", () => {
    expect(() => bestCheckpoint({ directory: "x", metric: "accuracy", direction: "max" })).toThrow(
      /KEEP_INVALID/,
    );
  });
});
