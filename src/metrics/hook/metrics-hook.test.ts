import { describe, expect, it } from "vitest";
import { checkpointHook, openCheckpoint } from "../../checkpoint/index.ts";
import * as optim from "../../optim/index.ts";
import { every } from "../../schedule/index.ts";
import { evaluationScores, type TrainerHook } from "../../trainer/index.ts";
import { FakeTask, rollout, train } from "../../trainer/task.test-support.ts";
import { comparable, observed, smallTask, temporaryDirectory, timeless } from "./hook.test-support.ts";

/** Scores that follow from where the run is. */
const evaluation: TrainerHook = {
  name: "evaluation",
  schedule: every({ epochs: 1 }),
  provides: [evaluationScores],
  onEpochEnd: ({ slots, counters }) =>
    slots.set(evaluationScores, { scores: { reward: counters.updates / 10 }, counters }),
};

/** Logs in its own name at every fourth update. */
const talker: TrainerHook = {
  name: "talker",
  schedule: every({ updates: 4 }),
  onBatchEnd: ({ log, counters }) => log({ said: counters.updates }, "talk"),
};

describe("metricsHook", () => {
  it("logs the values of every batch, validation, evaluation and what other hooks log", async () => {
    const { keep, trainer } = observed(timeless, { hooks: [evaluation, talker] });
    await trainer.train();
    const keys = [...new Set(keep.records.map(({ key }) => key))].sort();
    expect(keys).toEqual(["evaluation/reward", "talk/said", "train/loss", "validation/loss"]);
    const losses = keep.records.filter(({ key }) => key === "train/loss");
    expect(losses.map(({ step, count }) => [step, count])).toEqual([
      [3, 3],
      [6, 3],
      [9, 3],
      [12, 3],
      [14, 2],
    ]);
    expect(keep.of("evaluation/reward")).toEqual([
      [7, 0.7],
      [14, 1.4],
    ]);
    expect(keep.of("validation/loss").map(([step]) => step)).toEqual([7, 14]);
    expect(keep.of("talk/said")).toEqual([
      [4, 4],
      [8, 8],
      [12, 12],
    ]);
  });

  it("gives the same records whether batches are fused or not", async () => {
    const monitor = { gradients: "layers", parameters: true, updates: true };
    const optimizer = () => optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(0.1), optim.adam()));
    const run = async (fuse: boolean | number) => {
      const task = smallTask({ monitor, optimizer: optimizer() });
      const { keep, trainer } = observed(timeless, { task, config: { fuse }, hooks: [evaluation] });
      await trainer.train();
      return comparable(keep.records);
    };
    const fused = await run(true);
    expect(fused.map(({ key }) => key)).toContain("train/gradientNorm/hidden0");
    expect(fused.map(({ key }) => key)).toContain("train/applied");
    expect(await run(false)).toEqual(fused);
    expect(await run(4)).toEqual(fused);
  });

  it("gives the same records of rollouts, fused with batches or not", async () => {
    const run = async (fuse: boolean) => {
      const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
      const { keep, trainer } = observed(timeless, { task, config: { epochs: 4, fuse } });
      await trainer.train();
      return { records: comparable(keep.records), calls: task.requests.length };
    };
    const [fused, single] = [await run(true), await run(false)];
    expect([fused.calls, single.calls]).toEqual([1, 20]);
    expect(single.records).toEqual(fused.records);
    expect(new Set(fused.records.map(({ key }) => key))).toEqual(new Set(["train/loss", "rollout/reward"]));
  });

  it("never prevents fusing, with all of its parts", async () => {
    const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
    const heartbeat = { file: `${temporaryDirectory()}/beat.json` };
    const { trainer, keep } = observed({ heartbeat }, { task, config: { epochs: 4 } });
    expect(trainer.hooks.plan().order).toEqual([
      "metrics.time",
      ...["metrics", "metrics.pace", "metrics.system", "metrics.heartbeat"],
    ]);
    await trainer.train();
    expect(task.requests.map(({ count }) => count)).toEqual([20]);
    expect(keep.of("train/loss").map(([step]) => step)).toEqual([3, 6, 9, 12]);
    expect(keep.of("rollout/reward").length).toBeGreaterThan(0);
    expect(
      keep.records.filter(({ key }) => key === "rollout/reward").reduce((n, { count }) => n + count, 0),
    ).toBe(8);
  });

  it("has children only for the parts that are on", () => {
    const names = (options: object) => observed(options).trainer.hooks.plan().order;
    expect(names(timeless)).toEqual(["metrics.time", "metrics"]);
    expect(names({ ...timeless, gradients: true, name: "m" })).toEqual(
      expect.arrayContaining(["m.time", "m", "gradients"]),
    );
  });

  it("leaves batches and progress out where it is told to", async () => {
    const { keep, trainer } = observed({ ...timeless, batches: false, progress: false });
    await trainer.train();
    expect(keep.records.map(({ key }) => key)).toEqual(["validation/loss", "validation/loss"]);
    expect(keep.shown).toEqual([]);
  });

  it("shares the metrics of batches, and checkpoints file them", async () => {
    const directory = temporaryDirectory();
    const checkpoint = checkpointHook({ directory, schedule: every({ epochs: 2 }) });
    const { trainer } = observed(timeless, { hooks: [checkpoint, evaluation] });
    expect(trainer.hooks.plan().order.filter((name) => !name.includes("."))).toEqual([
      ...["evaluation", "metrics", "checkpoint"],
    ]);
    const { metrics } = await trainer.train();
    const { manifest } = await openCheckpoint(directory);
    // Scores belong to the state they were measured on: the checkpoint files those itself.
    expect(manifest.scores).toHaveProperty("validation.loss");
    expect(manifest.metrics).toEqual(metrics);
  });

  it("watches gradients where it is told to", async () => {
    const task = smallTask({ monitor: { gradients: true } });
    const { keep, trainer } = observed({ ...timeless, gradients: { exploding: 1e-3 } }, { task });
    await trainer.train();
    expect(keep.of("health/gradients.exploding").at(-1)?.[1]).toBeGreaterThan(0);
  });

  it("works without validation and for a run without a single window", async () => {
    const { keep, trainer } = observed(timeless, {
      task: smallTask({ validation: undefined }),
      config: { maxUpdates: 2 },
    });
    await trainer.train();
    expect(keep.records.map(({ key, step, count }) => [key, step, count])).toEqual([["train/loss", 2, 2]]);
    expect(keep.endings).toMatchObject([{ outcome: "completed", reason: "maxUpdates of 2 reached" }]);
  });

  it("logs nothing on ranks that are not the main one", async () => {
    const everywhere: TrainerHook = { ...talker, ranks: "all" };
    const { keep, trainer } = observed({}, { hooks: [everywhere], config: { rank: 1, ranks: 2 } });
    await trainer.train();
    expect([keep.runs, keep.records, keep.shown, keep.endings]).toEqual([[], [], [], []]);
  });
});
