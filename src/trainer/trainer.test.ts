import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { put } from "../engine/index.ts";
import { every, never } from "../schedule/index.ts";
import { FakeTask, recorder, rollout, train } from "./task.test-support.ts";
import type { TrainerOptions } from "./trainer.ts";
import { Trainer } from "./trainer.ts";

const run = (options: TrainerOptions) => new Trainer(options).train();

describe("order of events", () => {
  it("runs batches, then the train phase's end, validation and the epoch's end", async () => {
    const { hook, lines } = recorder();
    await run({
      task: new FakeTask({ epoch: () => [train(2)], validate: true }),
      config: { epochs: 2, validate: every({ epochs: 2 }) },
      hooks: [hook],
    });
    expect(lines).toEqual([
      "onTrainingStart 0/0/0",
      "onEpochStart 0/0/0",
      "onBatchStart 0/0/0",
      "onBatchesEnd 0/0/1",
      "onBatchEnd 0/0/1",
      "onBatchStart 0/0/1",
      "onBatchesEnd 0/0/2",
      "onBatchEnd 0/0/2",
      "onTrainPhaseEnd 0/1/2",
      "onEpochEnd 0/1/2",
      "onEpochStart 1/1/2",
      "onBatchStart 1/1/2",
      "onBatchesEnd 1/1/3",
      "onBatchEnd 1/1/3",
      "onBatchStart 1/1/3",
      "onBatchesEnd 1/1/4",
      "onBatchEnd 1/1/4",
      "onTrainPhaseEnd 1/2/4",
      "onValidationStart 1/2/4",
      "onValidationEnd 1/2/4",
      "onEpochEnd 1/2/4",
      "onTrainingEnd 1/2/4",
    ]);
  });

  it("frames rollouts, each with all its repeats, and ends the train phase after the last segment", async () => {
    const { hook, lines } = recorder();
    const task = new FakeTask({ epoch: () => [rollout(3), train(1), rollout(1), train(1)] });
    await run({ task, hooks: [hook] });
    expect(lines.map((line) => line.split(" ")[0])).toEqual([
      "onTrainingStart",
      "onEpochStart",
      "onRolloutStart",
      "onBatchesEnd",
      "onRolloutEnd",
      "onBatchStart",
      "onBatchesEnd",
      "onBatchEnd",
      "onRolloutStart",
      "onBatchesEnd",
      "onRolloutEnd",
      "onBatchStart",
      "onBatchesEnd",
      "onBatchEnd",
      "onTrainPhaseEnd",
      "onEpochEnd",
      "onTrainingEnd",
    ]);
    expect(task.requests.map(({ count }) => count)).toEqual([3, 1, 1, 1]);
  });

  it("has no train phase to end in an epoch of rollouts", async () => {
    const { hook, lines } = recorder(["onRolloutEnd", "onTrainPhaseEnd", "onEpochEnd"]);
    await run({ task: new FakeTask({ epoch: () => [rollout(2)] }), hooks: [hook] });
    expect(lines).toEqual(["onRolloutEnd 0/0/0", "onEpochEnd 0/1/0"]);
  });

  it("has no train phase to end where a rollout used the source up", async () => {
    const { hook, lines } = recorder(["onTrainPhaseEnd", "onEpochEnd"]);
    const task = new FakeTask({ epoch: () => [rollout(2), train(3)], supply: 2 });
    await run({ task, config: { fuse: false }, hooks: [hook] });
    expect(lines).toEqual(["onEpochEnd 0/1/0"]);
  });

  it("does nothing but start and end with no epochs", async () => {
    const { hook, lines } = recorder();
    const result = await run({ task: new FakeTask(), config: { epochs: 0 }, hooks: [hook] });
    expect(lines).toEqual(["onTrainingStart 0/0/0", "onTrainingEnd 0/0/0"]);
    expect(result.outcome).toBe("completed");
  });

  it("waits for asynchronous tasks and hooks", async () => {
    const order: string[] = [];
    await run({
      task: new FakeTask({ epoch: () => [train(2)], slow: true }),
      hooks: [
        {
          name: "slow",
          onBatchStart: async ({ counters }) => {
            await Promise.resolve();
            order.push(`start ${counters.batches}`);
          },
          onBatchEnd: ({ counters }) => void order.push(`end ${counters.batches}`),
        },
      ],
    });
    expect(order).toEqual(["start 0", "end 1", "start 1", "end 2"]);
  });
});

describe("a run", () => {
  it("needs neither hooks nor validation", async () => {
    const clock = manualClock();
    const task = new FakeTask({ onRun: () => clock.advance(500) });
    const result = await run({ task, config: { epochs: 3, fuse: 5 }, clock });
    expect(result).toMatchObject({
      run: "run",
      outcome: "completed",
      reason: undefined,
      counters: { epoch: 2, epochs: 3, batches: 15, updates: 15, samples: 60, steps: 15, seconds: 1.5 },
      validation: undefined,
      error: undefined,
      timings: {
        seconds: 1.5,
        phases: { train: { calls: 3, seconds: 1.5 }, rollout: { calls: 0 }, validation: { calls: 0 } },
        hooks: [],
      },
    });
    expect(result.metrics.loss).toBe(Math.fround(task.w));
  });

  it("keeps the last validation's metrics", async () => {
    const task = new FakeTask({ validate: true });
    const seen: unknown[] = [];
    const result = await run({
      task,
      config: { epochs: 3, validate: every({ epochs: 2 }) },
      hooks: [{ name: "seen", onEpochEnd: ({ state }) => void seen.push(state.validation?.at) }],
    });
    expect(seen).toEqual([undefined, 10, 10]);
    // The run ended after an update that was not validated.
    expect(result.validation).toEqual({ loss: expect.any(Number), at: 15 });
  });

  it("never validates where the schedule says so", async () => {
    const { hook, lines } = recorder(["onValidationStart"]);
    await run({ task: new FakeTask({ validate: true }), config: { validate: never() }, hooks: [hook] });
    expect(lines).toEqual([]);
  });

  it("trains once", async () => {
    const trainer = new Trainer({ task: new FakeTask() });
    await trainer.train();
    await expect(trainer.train()).rejects.toThrow(/TRAINER_USED[\s\S]*make a new Trainer/);
  });

  it("hosts hooks under the names of the documents", async () => {
    const trainer = new Trainer({ task: new FakeTask() });
    const { hook, lines } = recorder(["onEpochEnd"]);
    trainer.registerHook(hook);
    trainer.addHook({ ...hook, name: "other" });
    expect(trainer.getHooks().map(({ name }) => name)).toEqual(["recorder", "other"]);
    expect(trainer.unregisterHook("other")).toBe(true);
    expect(trainer.unregisterHook("other")).toBe(false);
    await trainer.runHooks("onEpochEnd");
    expect(lines).toHaveLength(1);
    trainer.clearHooks();
    expect(trainer.getHooks()).toEqual([]);
  });

  it("runs the task's hooks beside the given ones", async () => {
    const own = recorder(["onEpochEnd"]);
    const task = new FakeTask({ hooks: [{ ...own.hook, name: "of the task" }] });
    const given = recorder(["onEpochEnd"]);
    await run({ task, hooks: [given.hook] });
    expect([own.lines.length, given.lines.length]).toEqual([1, 1]);
  });

  it("tells the task of the run before it starts", async () => {
    const order: string[] = [];
    const task = Object.assign(new FakeTask(), {
      begin: ({ config }: { config: { seed: number } }) => void order.push(`begin ${config.seed}`),
    });
    await run({
      task,
      config: { seed: 7 },
      hooks: [{ name: "start", onTrainingStart: ({ random }) => void order.push(`start ${random.seed}`) }],
    });
    expect(order).toEqual(["begin 7", "start 7"]);
  });

  it("counts the task's own counters, which schedules understand", async () => {
    const { hook, lines } = recorder(["onBatchEnd"], { schedule: every({ episodes: 6 }) });
    await run({
      task: new FakeTask({
        counters: ["episodes"],
        epoch: () => [train(5, { adds: { updates: 1, episodes: 3 } })],
      }),
      hooks: [hook],
    });
    expect(lines).toEqual(["onBatchEnd 0/0/2", "onBatchEnd 0/0/4"]);
  });

  it("gives values read once, cut to the rows that count", async () => {
    const seen: unknown[] = [];
    const task = new FakeTask({ epoch: () => [rollout(2), train(3)] });
    await run({
      task,
      hooks: [
        {
          name: "look",
          onBatchesEnd: async ({ values, state }) => {
            const read = await values?.read();
            seen.push([state.phase, values?.count, values?.rows("loss"), values?.rows("reward")]);
            seen.push([read?.loss?.length, read?.reward?.length, read === (await values?.read())]);
            expect(values?.tensor("nothing")).toBeUndefined();
          },
        },
      ],
      config: { fuse: 5 },
    });
    expect(seen).toEqual([
      ["train", 5, 3, 2],
      [3, 2, true],
    ]);
  });

  it("logs in the hook's name", async () => {
    const logged: unknown[] = [];
    await run({
      task: new FakeTask(),
      hooks: [{ name: "speaker", onEpochEnd: ({ log }) => log({ x: 1 }, "c") }],
      logger: {
        as: (owner) => ({
          log: (values, counters, category) => logged.push([owner, values, category, counters.epochs]),
        }),
      },
    });
    expect(logged).toEqual([["speaker", { x: 1 }, "c", 1]]);
  });
});

describe("ranks", () => {
  it("refuses what is no hook", () => {
    for (const hook of [undefined, false])
      expect(() => new Trainer({ task: new FakeTask(), hooks: [hook as never] })).toThrow(/HOOK_NAMELESS/);
  });

  it("runs hooks on the main rank alone, unless they ask for all", async () => {
    const main = recorder(["onEpochEnd"], { name: "main" });
    const all = recorder(
      ["onEpochEnd"],
      { name: "all", ranks: "all" },
      ({ rank, state }) => `${rank} ${state.rank}`,
    );
    await run({ task: new FakeTask(), config: { rank: 1, ranks: 2 }, hooks: [main.hook, all.hook] });
    expect([main.lines, all.lines]).toEqual([[], ["1 1"]]);
  });
});

describe("the event loop", () => {
  it("gets turns while a synchronous task trains without end", async () => {
    const trainer = new Trainer({
      task: new FakeTask({ epoch: () => [train(1000)] }),
      config: { epochs: Infinity, fuse: false },
    });
    setTimeout(() => trainer.stop("by a timer"), 0);
    expect(await trainer.train()).toMatchObject({ outcome: "stopped", reason: "by a timer" });
  });
});

describe("values", () => {
  it("must have a row a repeat", async () => {
    const task = Object.assign(new FakeTask(), {
      run: () => ({ metrics: { loss: put(1, { engine: "wasm" }) } }),
    });
    await expect(run({ task })).rejects.toThrow(/reported "loss" as f32\[\], which has no 5 rows/);
  });
});

describe("empty epochs", () => {
  it.each([
    ["no segments", () => new FakeTask({ epoch: () => [] })],
    ["segments without repeats", () => new FakeTask({ epoch: () => [train(0)] })],
    ["a source without batches", () => new FakeTask({ supply: 0 })],
  ])("are an error, or the end of a completed run: %s", async (_name, task) => {
    await expect(run({ task: task() })).rejects.toThrow(/epoch 0 has no batches.*\[EPOCH_EMPTY\]/);
    const result = await run({ task: task(), config: { onEmpty: "finish", epochs: 4 } });
    expect(result).toMatchObject({ outcome: "completed", reason: "epoch 0 has no batches" });
    expect(result.counters).toMatchObject({ epochs: 0, batches: 0 });
  });

  it("leaves out what follows in an epoch whose source ends early", async () => {
    const { hook, lines } = recorder(["onBatchEnd", "onTrainPhaseEnd", "onEpochEnd"], {
      schedule: every({ epochs: 1 }),
    });
    const task = new FakeTask({ supply: 8 });
    const result = await run({ task, config: { epochs: 3, onEmpty: "finish" }, hooks: [hook] });
    expect(result).toMatchObject({ outcome: "completed", reason: "epoch 2 has no batches" });
    expect(result.counters).toMatchObject({ epochs: 2, batches: 8, samples: 32 });
    expect(lines).toContain("onEpochEnd 1/2/8");
  });
});

it("prints every decision where it is told to", async () => {
  const lines: string[] = [];
  const { hook } = recorder(["onEpochEnd"], { schedule: every({ epochs: 2 }) });
  await run({
    task: new FakeTask(),
    config: { epochs: 2, trace: (line) => void lines.push(line) },
    hooks: [hook],
  });
  expect(lines.map((line) => /(runs|does not run) in \w+/.exec(line)?.[0])).toEqual([
    "does not run in onEpochEnd",
    "runs in onEpochEnd",
  ]);
});

describe("limits", () => {
  it.each([
    ["maxUpdates", 7, 7],
    ["maxSamples", 26, 7],
  ] as const)("completes the run at %s", async (name, limit, batches) => {
    for (const fuse of [true, false]) {
      const { hook, lines } = recorder(["onEpochEnd", "onTrainingEnd"]);
      const result = await run({
        task: new FakeTask(),
        config: { epochs: 9, [name]: limit, fuse },
        hooks: [hook],
      });
      expect(result).toMatchObject({ outcome: "completed", reason: `${name} of ${limit} reached` });
      expect(result.counters.batches).toBe(batches);
      expect(lines).toEqual(["onEpochEnd 0/1/5", `onTrainingEnd 1/1/${batches}`]);
    }
  });

  it("looks at the clock between calls", async () => {
    const clock = manualClock();
    const task = new FakeTask({ onRun: () => clock.advance(1000) });
    const result = await run({ task, config: { epochs: 9, maxSeconds: 3, fuse: false }, clock });
    expect(result).toMatchObject({ outcome: "completed", counters: { batches: 3, seconds: 3 } });
  });
});
