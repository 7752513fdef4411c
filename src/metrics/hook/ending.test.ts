import { describe, expect, it } from "vitest";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { FakeTask } from "../../trainer/task.test-support.ts";
import { Logger } from "../logger/logger.ts";
import type { MetricRecord } from "../record.ts";
import { Keep, observed, smallTask, timeless } from "./hook.test-support.ts";
import { metricsHook } from "./metrics-hook.ts";

/** Does something after a number of batches. */
const afterwards = (batches: number, act: TrainerHook["onBatchEnd"]): TrainerHook => ({
  name: "after",
  onBatchEnd: (context) => (context.counters.batches === batches ? act?.(context) : undefined),
});

const isLoss = ({ key }: MetricRecord): boolean => key === "train/loss";

describe("the end of a run", () => {
  it("writes everything out where a run fails, and says how it ended", async () => {
    const failing = afterwards(5, () => {
      throw new Error("out of luck");
    });
    const { keep, trainer } = observed(timeless, { hooks: [failing] });
    await expect(trainer.train()).rejects.toThrow(/out of luck/);
    expect(keep.records.filter(isLoss).map(({ step, count }) => [step, count])).toEqual([
      [3, 3],
      [5, 2],
    ]);
    expect(keep.endings).toMatchObject([{ outcome: "failed", counters: { updates: 5 } }]);
    expect(keep.endings[0]?.reason).toMatch(/out of luck/);
  });

  it("writes everything out where the task itself fails", async () => {
    const task = new FakeTask({
      onRun: ({ at }) => {
        if (at.batches >= 4) throw new Error("the device is gone");
      },
    });
    const { keep, trainer } = observed(timeless, { task, config: { fuse: 2 } });
    await expect(trainer.train()).rejects.toThrow(/the device is gone/);
    expect(keep.records.reduce((sum, { count }) => sum + count, 0)).toBe(4);
    expect(keep.endings).toMatchObject([{ outcome: "failed" }]);
  });

  it("writes everything out where a run is stopped", async () => {
    const { keep, trainer } = observed(timeless, { hooks: [afterwards(4, ({ stop }) => stop("enough"))] });
    await trainer.train();
    expect(keep.records.filter(isLoss).map(({ step }) => step)).toEqual([3, 4]);
    expect(keep.endings).toMatchObject([{ outcome: "stopped", reason: "enough" }]);
  });

  it("hears what hooks log at the end, after those that fail there too", async () => {
    const last: TrainerHook = {
      name: "last",
      onTrainingEnd: ({ log, afterEvent }) => {
        log({ words: 1 }, "end");
        afterEvent(() => log({ more: 2 }, "end"));
      },
    };
    const { keep, trainer } = observed(timeless, { hooks: [last], config: { epochs: 1 } });
    await trainer.train();
    expect(keep.records.map(({ key }) => key)).toEqual(expect.arrayContaining(["end/words", "end/more"]));

    const broken: TrainerHook = {
      name: "broken",
      onTrainingEnd: () => {
        throw new Error("at the very end");
      },
    };
    const second = observed(timeless, { hooks: [broken], config: { epochs: 1 } });
    await expect(second.trainer.train()).rejects.toThrow(/at the very end/);
    expect(second.keep.endings).toMatchObject([{ outcome: "failed" }]);
    expect(second.keep.records.length).toBeGreaterThan(0);
  });

  it("comes early for a hook that is removed", async () => {
    const { keep, trainer } = observed(timeless, {
      hooks: [afterwards(5, () => void trainer.unregisterHook("metrics"))],
    });
    await trainer.train();
    expect(keep.endings).toMatchObject([{ outcome: "stopped", reason: "the hook was removed" }]);
    expect(keep.records.filter(isLoss).map(({ step }) => step)).toEqual([3, 5]);
  });

  it("tells those who read of sinks that failed", async () => {
    const { keep, trainer, logger } = observed(timeless, { config: { epochs: 1 } });
    let calls = 0;
    logger.add({
      name: "moody",
      write: () => {
        if (calls++ === 0) throw new Error("not now");
      },
    });
    await trainer.train();
    expect(calls).toBeGreaterThan(1);
    expect(keep.said.join()).toMatch(/sink "moody" failed 1 times: not now/);
  });

  it("closes the logger: a hook for several runs makes one for each", async () => {
    const config = { epochs: 1, handleSignals: false };
    const train = (hook: TrainerHook) => new Trainer({ task: smallTask(), config, hooks: [hook] }).train();
    const kept: Keep[] = [];
    const many = metricsHook({
      ...timeless,
      logger: () => {
        const keep = new Keep();
        kept.push(keep);
        return new Logger({ sinks: [keep] });
      },
    });
    await train(many);
    await train(many);
    expect(kept.map(({ endings }) => endings.length)).toEqual([1, 1]);
    expect(kept[0]?.runs[0]?.id).not.toBe(kept[1]?.runs[0]?.id);

    const logger = new Logger({ sinks: [] });
    const once = metricsHook({ ...timeless, logger });
    const made = new Trainer({ task: smallTask(), config, hooks: [metricsHook({ ...timeless, logger })] });
    await train(once);
    for (const hook of [once, metricsHook({ ...timeless, logger })])
      expect(() => train(hook)).toThrow(/its logger was closed with the run before.*LOGGER_CLOSED/);
    await expect(made.train()).rejects.toThrow(/its logger was closed with the run before.*LOGGER_CLOSED/);
  });
});
