import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { every } from "../../schedule/index.ts";
import type { TrainerHook } from "../../trainer/index.ts";
import { FakeTask, train } from "../../trainer/task.test-support.ts";
import { observed, timeless } from "./hook.test-support.ts";
import type { MachineReading } from "./meters.ts";

const reading: MachineReading = {
  "cpu.process": 0.5,
  "cpu.machine": 0.75,
  "memory.resident": 1000,
  "memory.heap": 500,
  "memory.device": 64,
  tensors: 3,
  "eventLoop.mean": 1,
  "eventLoop.max": 9,
};

/** Ten batches an epoch, four samples each; a batch takes a second. */
const tenSeconds = (clock: { advance(milliseconds: number): void }) =>
  new FakeTask({
    epoch: () => [train(10)],
    onRun: ({ count }) => clock.advance(1000 * count),
    validate: true,
  });

describe("throughput and timing", () => {
  it("are of wall time with everything in it: batches, validation, hooks", async () => {
    const clock = manualClock();
    const slow: TrainerHook = {
      name: "slow",
      schedule: every({ updates: 5 }),
      onBatchEnd: () => clock.advance(2500),
    };
    const { keep, trainer } = observed(
      { system: false, timing: { schedule: every({ updates: 10 }) } },
      { task: tenSeconds(clock), clock, hooks: [slow], config: { epochs: 1 } },
    );
    await trainer.train();
    const time = (name: string) => keep.of(`time/${name}`);
    // Ten seconds of batches; the hook has run once, its second run is still to come.
    expect(time("samplesPerSecond")).toEqual([[10, 40 / 12.5]]);
    expect(time("stepsPerSecond")).toEqual([[10, 10 / 12.5]]);
    expect(time("phases/train")).toEqual([[10, 10 / 12.5]]);
    expect(time("hooks/slow")).toEqual([[10, 2.5 / 12.5]]);
  });

  it("have something to say of a run that ends before the first look", async () => {
    const clock = manualClock();
    const task = tenSeconds(clock);
    const { keep, trainer } = observed(
      { system: false, timing: { schedule: every({ seconds: 3600 }) } },
      { task, clock, config: { epochs: 1 } },
    );
    await trainer.train();
    expect(keep.of("time/samplesPerSecond")).toEqual([[10, 4]]);
  });
});

describe("what the machine does", () => {
  it("is looked at on its own schedule, and once more at the end", async () => {
    const clock = manualClock();
    let [made, closed] = [0, 0];
    const probe = () => {
      made++;
      return { read: () => reading, close: () => void closed++ };
    };
    const { keep, trainer } = observed(
      { timing: false, system: { probe, schedule: every({ seconds: 4 }) } },
      { task: tenSeconds(clock), clock, config: { epochs: 1, fuse: 2 } },
    );
    await trainer.train();
    const looks = keep.records.filter(({ key }) => key === "system/cpu.process");
    expect(looks.map(({ step, count, value }) => [step, count, value])).toEqual([
      [4, 1, 0.5],
      [8, 1, 0.5],
      [10, 1, 0.5],
    ]);
    const [late] = keep.records.filter(({ key }) => key === "system/eventLoop.max");
    expect(late).toMatchObject({ unit: "ms", reduction: "max", value: 9 });
    expect([made, closed]).toEqual([1, 1]);
  });

  it("is let go of where the run fails", async () => {
    let closed = 0;
    const probe = () => ({ read: () => reading, close: () => void closed++ });
    const task = new FakeTask({
      onRun: () => {
        throw new Error("no luck");
      },
    });
    const { trainer } = observed({ timing: false, system: { probe } }, { task });
    await expect(trainer.train()).rejects.toThrow(/no luck/);
    expect(closed).toBe(1);
  });
});

describe("progress", () => {
  it("is shown after every call, by the goal that is reached first", async () => {
    const clock = manualClock();
    const task = tenSeconds(clock);
    const config = { epochs: 4, maxUpdates: 15, fuse: 5 };
    const { keep, trainer } = observed(timeless, { task, clock, config });
    await trainer.train();
    expect(
      keep.shown.map(({ unit, done, total, left }) => [unit, done, total, Math.round(left ?? -1)]),
    ).toEqual([
      ["updates", 5, 15, 10],
      ["updates", 10, 15, 5],
      ["updates", 15, 15, 0],
    ]);
    for (const { rate } of keep.shown) expect(rate).toBeCloseTo(1, 9);
  });
});
