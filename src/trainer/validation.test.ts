import { describe, expect, it } from "vitest";
import { constant, cycle, every, never, type Schedule } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "./events.ts";
import { FakeTask, type FakeTaskOptions, interruptTrainer, recorder, train } from "./task.test-support.ts";
import { Trainer } from "./trainer.ts";

/** A run of a task that validates: the updates and the epochs at which it did, and what else is to be known of it. */
async function validated(
  config: Partial<TrainingConfig>,
  hooks: readonly TrainerHook[] = [],
  options: FakeTaskOptions = {},
) {
  const at: string[] = [];
  const warnings: string[] = [];
  const watch: TrainerHook = {
    name: "watch",
    onValidationEnd: ({ counters, state }) => {
      expect(state.validation?.at).toBe(counters.updates);
      at.push(`${counters.updates} in ${counters.epochs}`);
    },
  };
  const task = new FakeTask({ validate: true, ...options });
  const trainer = new Trainer({
    task,
    config: { handleSignals: false, ...config },
    hooks: [watch, ...hooks],
    warn: (text) => warnings.push(text),
  });
  await trainer.train().catch(() => undefined);
  return { at, warnings, task, result: trainer.result, calls: task.requests.map(({ count }) => count) };
}

const failing = (event: TrainerEvent): TrainerHook => ({
  name: "failing",
  [event]: () => {
    throw new Error("on purpose");
  },
});

describe("validation by updates, samples and batches", () => {
  it.each([
    ["updates", every({ updates: 3 })],
    ["samples", every({ samples: 12 })],
    ["batches", every({ batches: 3 })],
    ["steps", every({ steps: 3 })],
    ["updates, joined with epochs", every({ updates: 3 }).and(cycle({ epochs: 3, active: [1, 2, 3] }))],
  ])("happens at exactly the update that is due, and cuts nothing else: by %s", async (_, validate) => {
    const fused = await validated({ epochs: 3, validate });
    // 15 is the end of the third epoch, which counts as completed there.
    expect(fused.at).toEqual(["3 in 0", "6 in 1", "9 in 1", "12 in 2", "15 in 3"]);
    expect(fused.calls).toEqual([3, 3, 3, 3, 3]);
    const single = await validated({ epochs: 3, validate, fuse: false });
    expect(single.at).toEqual(fused.at);
    expect(single.task.w).toBe(fused.task.w);
    expect(single.result?.validation).toEqual(fused.result?.validation);
  });

  it("comes after onBatchEnd and before the next batch", async () => {
    const { hook, lines } = recorder(["onBatchStart", "onBatchEnd", "onValidationStart", "onValidationEnd"]);
    await validated({ epochs: 1, validate: every({ updates: 2 }), validateAtEnd: false }, [hook], {
      epoch: () => [train(3)],
    });
    expect(lines.map((line) => line.split(" ")[0])).toEqual([
      ...["onBatchStart", "onBatchEnd", "onBatchStart", "onBatchEnd"],
      ...["onValidationStart", "onValidationEnd", "onBatchStart", "onBatchEnd"],
    ]);
  });

  it.each(["onValidationStart", "onValidationEnd", "onBatchEnd"] as const)(
    "goes on exactly from a state taken in %s",
    async (event) => {
      const config = { epochs: 3, validate: every({ updates: 4 }), handleSignals: false };
      const run = async (hook: TrainerHook) => {
        const { hook: record, lines } = recorder(undefined, { after: ["state"] });
        const task = new FakeTask({ validate: true });
        await new Trainer({ task, config, hooks: [hook, record] }).train();
        return { lines: lines.filter((line) => !line.startsWith("onTraining")), w: task.w };
      };
      let frozen: Readonly<Record<string, StateTree>> | undefined;
      let seen = 0;
      const take = async ({ snapshot, counters, event: now }: TrainerContext) => {
        if (now === event && counters.updates === 8) frozen ??= (await snapshot()).components;
        if (!frozen) seen++;
      };
      const events: readonly TrainerEvent[] = [
        ...["onEpochStart", "onBatchStart", "onBatchesEnd", "onBatchEnd", "onTrainPhaseEnd"],
        ...["onValidationStart", "onValidationEnd", "onEpochEnd"],
      ] as TrainerEvent[];
      const whole = await run({ name: "state", ...Object.fromEntries(events.map((each) => [each, take])) });
      const resumed = await run({
        name: "state",
        onTrainingStart: async ({ components }) => {
          for (const [name, part] of Object.entries(components)) await part.setState(frozen?.[name] ?? null);
        },
      });
      expect(seen).toBeGreaterThan(20);
      expect(resumed.lines).toEqual(whole.lines.slice(seen + 1));
      expect(resumed.w).toBe(whole.w);
    },
  );

  it("is what ramps by metric see at the epoch's end", async () => {
    const seen: unknown[] = [];
    const ramp = {
      ...constant(0.1),
      follows: ["validation/at"],
      observe: (given: object) => seen.push(given),
    };
    await validated({ epochs: 2, validate: every({ updates: 4 }) }, [], { ramps: { rate: ramp } });
    expect(seen).toEqual([{ "validation/at": 4 }, { "validation/at": 8 }]);
  });
});

describe("validation at the end of a run", () => {
  it("measures the last parameters of a run that ends by a limit, in its first epoch too", async () => {
    for (const fuse of [true, false]) {
      const short = await validated({ epochs: 3, maxUpdates: 3, fuse });
      expect(short.at).toEqual(["3 in 0"]);
      expect(short.result).toMatchObject({ outcome: "completed", validation: { loss: short.task.w, at: 3 } });
      expect((await validated({ epochs: 3, maxUpdates: 7, fuse })).at).toEqual(["5 in 1", "7 in 1"]);
    }
  });

  it("is left out where the newest is from the last update, and where it is turned off", async () => {
    expect((await validated({ epochs: 2 })).at).toEqual(["5 in 1", "10 in 2"]);
    expect((await validated({ epochs: 3, validate: every({ epochs: 2 }) })).at).toEqual([
      "10 in 2",
      "15 in 3",
    ]);
    const off: Partial<TrainingConfig> = { epochs: 3, validate: every({ epochs: 2 }), validateAtEnd: false };
    expect((await validated(off)).at).toEqual(["10 in 2"]);
    expect((await validated({ epochs: 2, validate: never() })).at).toEqual([]);
    expect((await validated({ epochs: 0 })).at).toEqual([]);
  });

  it("is there where a hook stopped the run, and not where the run was interrupted or failed", async () => {
    const ending = (end: (context: TrainerContext) => void): TrainerHook => ({
      name: "ending",
      onBatchEnd: (context) => (context.counters.updates === 7 ? end(context) : undefined),
    });
    const stopped = await validated({ epochs: 3 }, [ending(({ stop }) => stop("enough"))]);
    expect(stopped.at).toEqual(["5 in 1", "7 in 1"]);
    expect(stopped.result).toMatchObject({ outcome: "stopped", reason: "enough", validation: { at: 7 } });
    const failed = await validated({ epochs: 3 }, [
      ending(() => {
        throw new Error("on purpose");
      }),
    ]);
    expect([failed.at, failed.result?.outcome]).toEqual([["5 in 1"], "failed"]);
    const interrupted = await validated({ epochs: 3, handleSignals: true }, [
      ending(() => interruptTrainer()),
    ]);
    process.exitCode = undefined;
    expect([interrupted.at, interrupted.result?.outcome]).toEqual([["5 in 1"], "interrupted"]);
  });

  it("fails the run where it fails, and a stop within it changes no outcome", async () => {
    const late = await validated({ maxUpdates: 3 }, [failing("onValidationEnd")]);
    expect(late.result?.outcome).toBe("failed");
    const stop: TrainerHook = { name: "stop", onValidationEnd: ({ stop }) => stop("late") };
    expect((await validated({ maxUpdates: 3 }, [stop])).result).toMatchObject({
      outcome: "completed",
      reason: "maxUpdates of 3 reached",
    });
  });

  it("moves neither ramps nor the schedule of a run that is started again to go further", async () => {
    const seen: unknown[] = [];
    const ramps = () => ({
      rate: {
        ...constant(0.1),
        follows: ["validation/at"],
        observe: (given: Readonly<Record<string, number>>) => seen.push(given["validation/at"]),
      },
    });
    const validate: Schedule = every({ epochs: 2 });
    const first = new Trainer({
      task: new FakeTask({ validate: true, ramps: ramps() }),
      config: { epochs: 4, maxUpdates: 7, validate, handleSignals: false },
    });
    expect((await first.train()).validation).toMatchObject({ at: 7 });
    const second = new Trainer({
      task: new FakeTask({ validate: true, ramps: ramps() }),
      config: { epochs: 4, validate, handleSignals: false },
    });
    for (const [name, part] of Object.entries(second.components))
      await part.setState((await first.components[name]?.getState()) ?? null);
    await second.train();
    expect(seen).toEqual([undefined, 10, undefined, 20]);
  });
});

describe("validation that was asked for and cannot be", () => {
  it("is warned of once, and only where somebody asked", async () => {
    const warnings = async (
      config: Partial<TrainingConfig>,
      options: FakeTaskOptions = { validate: false },
    ) => (await validated({ epochs: 2, ...config }, [], options)).warnings;
    const [warning, ...others] = await warnings({ validate: every({ updates: 3 }) });
    expect(warning).toMatch(/every 3 updates.*validation data/);
    expect(others).toEqual([]);
    expect(await warnings({})).toEqual([]);
    expect(await warnings({ validate: never() })).toEqual([]);
    expect(await warnings({ validate: every({ updates: 3 }) }, { validate: true })).toEqual([]);
  });
});
