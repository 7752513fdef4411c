import { describe, expect, it } from "vitest";
import { countingHook, hashesOf } from "../checkpoint/hook/runs.test-support.ts";
import { CheckpointManager, type CheckpointStore, checkpointHook, memoryStore } from "../checkpoint/index.ts";
import { every } from "../schedule/index.ts";
import { type EarlyStoppingOptions, earlyStopping } from "./early-stopping.ts";
import type { TrainerHook } from "./events.ts";
import { evaluationScores } from "./slots.ts";
import { FakeTask, type FakeTaskOptions, rollout, train } from "./task.test-support.ts";
import { Trainer, type TrainerOptions } from "./trainer.ts";

/** A task with a validation whose losses are given, epoch by epoch. */
class ScoredTask extends FakeTask {
  constructor(losses: readonly number[], options: FakeTaskOptions = {}) {
    super({ epoch: () => [train(4)], ...options, validate: true });
    const validate: NonNullable<FakeTask["validate"]> = async ({ counters }) => ({
      loss: losses[Math.ceil(counters.updates / 4) - 1] ?? 9,
      w: this.w,
    });
    Object.assign(this, { validate });
  }
}

interface Given extends Pick<TrainerOptions, "config"> {
  readonly hooks?: readonly TrainerHook[];
  readonly task?: FakeTask;
  readonly stop?: EarlyStoppingOptions;
}

function made(losses: readonly number[], { config, hooks = [], stop = {}, task }: Given = {}) {
  const warnings: string[] = [];
  const scored = task ?? new ScoredTask(losses);
  const trainer = new Trainer({
    task: scored,
    config: { epochs: 8, handleSignals: false, ...config },
    hooks: [earlyStopping({ patience: 2, ...stop }), ...hooks],
    warn: (text) => void warnings.push(text),
  });
  return { trainer, task: scored, warnings };
}

const ended = async (losses: readonly number[], given?: Given) => {
  const { trainer } = made(losses, given);
  const { outcome, counters } = await trainer.train();
  return [outcome, counters.epochs];
};

describe("earlyStopping", () => {
  it.each<[string, readonly number[], EarlyStoppingOptions, string, number]>([
    ["stops after `patience` without a better one", [3, 2, 2.5, 2.1, 1], {}, "stopped", 4],
    ["takes an equal one for no better", [3, 2, 2, 2, 1], {}, "stopped", 4],
    ["never takes NaN for better", [3, Number.NaN, Number.NaN, 1], {}, "stopped", 3],
    ["a first NaN is no best", [Number.NaN, 5, 4, 3, 2, 1, 0.5, 0.4], {}, "completed", 8],
    ["asks for more than minDelta", [3, 2.9, 2.8, 1], { minDelta: 0.5 }, "stopped", 3],
    ["waits for minEpochs", [3, 4, 5, 6, 7, 1], { minEpochs: 5 }, "stopped", 5],
    ["goes up where that is better", [1, 2, 1.9, 1.8], { direction: "max" }, "stopped", 4],
    ["goes on while it gets better", [8, 7, 6, 5, 4, 3, 2, 1], {}, "completed", 8],
  ])("%s", async (_name, losses, stop, outcome, epochs) => {
    expect(await ended(losses, { stop })).toEqual([outcome, epochs]);
  });

  it("counts validations in the middle of epochs", async () => {
    const { trainer } = made([1, 2, 3], { config: { validate: every({ updates: 2 }) } });
    expect((await trainer.train()).counters.updates).toBe(6);
  });

  it("follows the epoch's mean of batches and of rollouts, fused or not", async () => {
    const of = async (fuse: boolean | number, metric: string) => {
      const rewards = [1, 2, 3, Number.NaN, 2, 2, 2];
      const task = new FakeTask({
        epoch: () => [rollout(1), train(4)],
        reward: (i) => rewards[i] ?? 0,
      });
      const { trainer } = made([], { task, stop: { metric, direction: "max" }, config: { fuse } });
      const { outcome, counters } = await trainer.train();
      return [outcome, counters.epochs];
    };
    // A rollout without anything to measure counts for nothing.
    for (const fuse of [true, false, 3]) expect(await of(fuse, "rollout/reward")).toEqual(["stopped", 6]);
    const losses = await Promise.all([true, false, 3].map((fuse) => of(fuse, "train/loss")));
    expect(losses[1]).toEqual(losses[0]);
    expect(losses[2]).toEqual(losses[0]);
  });

  it("says once which metrics there are where its own never comes", async () => {
    const misspelt = made([1, 1, 1], { stop: { metric: "validation/los", direction: "min" } });
    expect((await misspelt.trainer.train()).outcome).toBe("completed");
    expect(misspelt.warnings).toHaveLength(1);
    expect(misspelt.warnings[0]).toMatch(/"validation\/los".*"validation\/loss".*validation\/w/s);
    const batches = made([1], { stop: { metric: "train/accuracy", direction: "max" } });
    await batches.trainer.train();
    expect(batches.warnings).toHaveLength(1);
    expect(batches.warnings[0]).toMatch(/train\/accuracy.*train\/loss/s);
    const none = made([], { task: new FakeTask({ epoch: () => [train(2)] }) });
    await none.trainer.train();
    expect(none.warnings).toHaveLength(1);
    expect(none.warnings[0]).toMatch(/validation\/loss.*no validation data/s);
  });

  it.each<[EarlyStoppingOptions, RegExp]>([
    [{ metric: "loss" }, /validation\/loss/],
    [{ metric: "validation/accuracy" }, /direction/],
    [{ patience: 0 }, /patience/],
  ])("refuses %j", (options, what) => {
    expect(() => earlyStopping(options)).toThrow(what);
  });

  const losses = [5, 2, 1, 4, 6, 1];
  const restoring = { restoreBest: true } as const;

  it("puts the best model back, with its validation, into the task and the last checkpoint", async () => {
    for (const [config, outcome, epochs] of [
      [{}, "stopped", 5],
      [{ epochs: 4 }, "completed", 4],
    ] as const) {
      const store = memoryStore();
      const w: number[] = [];
      const watch: TrainerHook = {
        name: "watch",
        onValidationEnd: ({ state }) => void w.push(state.validation?.w ?? 0),
      };
      const hooks = [watch, checkpointHook({ store })];
      const { trainer, task, warnings } = made(losses, { config, hooks, stop: restoring });
      const result = await trainer.train();
      expect([result.outcome, result.counters.epochs]).toEqual([outcome, epochs]);
      expect(task.w).toBe(w[2]);
      expect(result.validation).toEqual({ loss: 1, w: w[2] });
      expect(warnings.join()).toMatch(/update 12/);
      const newest = await new CheckpointManager({ store }).latest();
      expect(newest?.manifest.counters.epochs).toBe(epochs);
      expect(newest?.manifest.scores["validation.loss"]).toBe(1);
      expect(await newest?.state("parameters")).toMatchObject({ w: w[2] });
      // Started again it has nothing to do, and keeps the best model.
      const again = made(losses, { config, hooks: [checkpointHook({ store })], stop: restoring });
      const second = await again.trainer.train();
      expect([second.outcome, second.counters.epochs, again.task.w]).toEqual([outcome, epochs, w[2]]);
      expect(second.validation?.loss).toBe(1);
    }
  });

  it("keeps the model of the end where the validation there is the best", async () => {
    const config = { epochs: 3, validate: every({ epochs: 2 }) };
    const { trainer, task, warnings } = made([5, 4, 1], { config, stop: restoring });
    const result = await trainer.train();
    expect(result.validation).toEqual({ loss: 1, w: task.w });
    expect(warnings).toEqual([]);
  });

  it("a run that is given more epochs counts no validation that it only had at its end", async () => {
    const store = memoryStore();
    const run = (epochs: number) =>
      ended([5, 1, 9, 9, 9, 9, 9, 9], {
        config: { epochs, validate: every({ epochs: 2 }) },
        hooks: [checkpointHook({ store })],
      });
    expect(await run(3)).toEqual(["completed", 3]);
    expect(await run(8)).toEqual(["stopped", 6]);
  });

  it("saves the best model where no validation tells it from the last, and not with the last one's scores", async () => {
    const store = memoryStore();
    const scores = [1, 9, 2];
    const evaluation: TrainerHook = {
      name: "evaluation",
      provides: [evaluationScores],
      onEpochEnd: ({ slots, counters }) =>
        slots.set(evaluationScores, { scores: { reward: scores[counters.epochs - 1] ?? 0 }, counters }),
    };
    const w: number[] = [];
    const task = new FakeTask({ epoch: () => [train(4)] });
    const watch: TrainerHook = { name: "watch", onEpochEnd: () => void w.push(task.w) };
    const stop = { ...restoring, metric: "evaluation/reward", direction: "max" } as const;
    const hooks = [evaluation, watch, checkpointHook({ store })];
    await made([], { task, stop, hooks, config: { epochs: 3 } }).trainer.train();
    const newest = await new CheckpointManager({ store }).latest();
    expect(await newest?.state("parameters")).toMatchObject({ w: w[1] });
    expect(newest?.manifest.scores).toEqual({});
  });

  it("a run that was interrupted anywhere counts on and ends with the same bits", async () => {
    const run = async (store: CheckpointStore, maxUpdates = Number.POSITIVE_INFINITY) => {
      const { trainer, task } = made(losses, {
        stop: restoring,
        config: { maxUpdates, validateAtEnd: false },
        hooks: [countingHook("count"), checkpointHook({ store, schedule: every({ updates: 3 }) })],
      });
      // As a kill between two checkpoints: what was computed after the last one is lost.
      const { reason } = await trainer.train();
      return { hashes: await hashesOf(trainer), reason, w: task.w };
    };
    const whole = await run(memoryStore());
    expect(whole.reason).toMatch(/validation\/loss/);
    for (const first of [7, 12, 14, 19]) {
      const store = memoryStore();
      const { trainer } = made(losses, {
        stop: restoring,
        hooks: [
          countingHook("count"),
          checkpointHook({ store, schedule: every({ updates: 3 }) }),
          { name: "kill", onBatchEnd: ({ counters }) => counters.updates === first && fail() },
        ],
      });
      await expect(trainer.train()).rejects.toThrow("killed");
      expect(await run(store)).toEqual(whole);
    }
  });

  it("a run killed after the decision stays stopped, and says so", async () => {
    const store = memoryStore();
    const killed = made(losses, {
      stop: restoring,
      hooks: [
        checkpointHook({ store }),
        { name: "kill", onTrainingEnd: fail, priority: Number.POSITIVE_INFINITY },
      ],
    });
    await expect(killed.trainer.train()).rejects.toThrow("killed");
    const again = made(losses, { stop: restoring, hooks: [checkpointHook({ store })] });
    const { outcome, counters } = await again.trainer.train();
    expect([outcome, counters.epochs]).toEqual(["stopped", 5]);
    expect(again.warnings.join()).toMatch(/stays stopped/);
  });
});

const fail = (): never => {
  throw new Error("killed");
};
