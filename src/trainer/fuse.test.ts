import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import {
  at,
  between,
  byMetric,
  cycle,
  every,
  linear,
  never,
  type Schedule,
  warmup,
  when,
} from "../schedule/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerEvent, TrainerHook } from "./events.ts";
import { FakeTask, type FakeTaskOptions, recorder, rollout, train } from "./task.test-support.ts";
import { Trainer } from "./trainer.ts";

const sizes = ({ requests }: FakeTask) => requests.map(({ count }) => count);

async function sizesWith(
  hooks: readonly TrainerHook[],
  config: Partial<TrainingConfig> = {},
  task: FakeTaskOptions = {},
): Promise<readonly number[]> {
  const made = new FakeTask(task);
  await new Trainer({ task: made, config: { epochs: 4, ...config }, hooks }).train();
  return sizes(made);
}

describe("fusing", () => {
  it("runs all epochs in one call where nobody watches", async () => {
    expect(await sizesWith([])).toEqual([20]);
    const epoch = () => [rollout(2), train(3)];
    expect(await sizesWith([], {}, { epoch })).toEqual([20]);
  });

  it("runs one by one where it is told to, and at most as many as it is told to", async () => {
    expect(await sizesWith([], { fuse: false, epochs: 1 })).toEqual([1, 1, 1, 1, 1]);
    expect(await sizesWith([], { fuse: 8 })).toEqual([8, 8, 4]);
  });

  it("honours what the task can do", async () => {
    expect(await sizesWith([], {}, { epoch: () => [train(5, { fusesWithNext: false })] })).toEqual([
      5, 5, 5, 5,
    ]);
    expect(await sizesWith([], { epochs: 1 }, { epoch: () => [train(3, { maxFuse: 2 })] })).toEqual([2, 1]);
    expect(
      await sizesWith([], { epochs: 2 }, { epoch: () => [rollout(1), train(3, { maxFuse: 1 })] }),
    ).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it("goes up to the next event that a hook may be due for", async () => {
    const watching = recorder(["onBatchEnd"], { schedule: every({ updates: 7 }) });
    expect(await sizesWith([watching.hook])).toEqual([7, 7, 6]);
    expect(watching.lines).toEqual(["onBatchEnd 1/1/7", "onBatchEnd 2/2/14"]);
    expect(await sizesWith([recorder(["onEpochEnd"], { schedule: every({ epochs: 2 }) }).hook])).toEqual([
      10, 10,
    ]);
    expect(await sizesWith([recorder(["onEpochStart"]).hook])).toEqual([5, 5, 5, 5]);
  });

  it("does not count onBatchesEnd as watching, and hands it every value once", async () => {
    const losses: number[] = [];
    const look: TrainerHook = {
      name: "look",
      onBatchesEnd: async ({ values }) => void losses.push(...((await values?.read())?.loss ?? [])),
    };
    expect(await sizesWith([look])).toEqual([20]);
    const fused = losses.splice(0);
    await sizesWith([look], { fuse: false });
    expect(fused).toHaveLength(20);
    expect(losses).toEqual(fused);
  });

  it("runs one at a time where due times cannot be known", async () => {
    const hook = (schedule: Schedule) => recorder(["onBatchEnd"], { schedule }).hook;
    expect(await sizesWith([hook(when(() => false))], { epochs: 1 })).toEqual([1, 1, 1, 1, 1]);
    expect(await sizesWith([hook(every({ seconds: 60 }))], { epochs: 1 })).toEqual([1, 1, 1, 1, 1]);
    expect(await sizesWith([recorder(["onEpochEnd"], { schedule: every({ seconds: 60 }) }).hook])).toEqual([
      5, 5, 5, 5,
    ]);
  });

  it("stops for validation when it may be due", async () => {
    expect(await sizesWith([], { validate: every({ epochs: 2 }) }, { validate: true })).toEqual([10, 10]);
    expect(await sizesWith([], { validate: every({ seconds: 9 }) }, { validate: true })).toEqual([
      5, 5, 5, 5,
    ]);
  });

  it("stops at limits", async () => {
    expect(await sizesWith([], { maxUpdates: 13 })).toEqual([13]);
    expect(await sizesWith([], { maxSamples: 50 })).toEqual([13]);
  });

  it("sees a hook that is registered on the way", async () => {
    const late = recorder(["onBatchEnd"], { name: "late", schedule: every({ updates: 4 }) });
    const task = new FakeTask();
    const trainer: Trainer = new Trainer({
      task,
      config: { epochs: 4 },
      hooks: [
        {
          name: "register",
          schedule: at({ epochs: [2] }),
          onEpochEnd: () => trainer.registerHook(late.hook),
        },
      ],
    });
    await trainer.train();
    expect(late.lines).toEqual(["onBatchEnd 2/2/12", "onBatchEnd 3/3/16", "onBatchEnd 3/3/20"]);
  });
});

describe("ramps", () => {
  it("have the value at the counters before every repeat, across epochs and segments", async () => {
    const rate = linear({ from: 0, to: 20, over: { updates: 20 } });
    const task = new FakeTask({ ramps: { rate }, epoch: () => [train(3), train(2)] });
    await new Trainer({ task, config: { epochs: 2 } }).train();
    expect(task.requests.map(({ ramps }) => Array.from(ramps.rate ?? []))).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    ]);
  });

  it("follow the means of epochs, however batches were cut", async () => {
    const results = await Promise.all(
      [true, false, 2].map(async (fuse) => {
        const rate = byMetric({ metric: "train/loss", initial: 0.5, transform: (x) => x / 100 });
        const task = new FakeTask({ ramps: { rate }, validate: true });
        await new Trainer({ task, config: { epochs: 3, fuse } }).train();
        expect(rate.at({} as never)).not.toBe(0.5);
        return [task.w, rate.at({} as never)];
      }),
    );
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });

  it("follow metrics of validation", async () => {
    const rate = byMetric({ metric: "validation/at", initial: 1 });
    await new Trainer({
      task: new FakeTask({ ramps: { rate }, validate: true }),
      config: { epochs: 2 },
    }).train();
    expect(rate.at({} as never)).toBe(10);
  });

  it("are known to checkpoints by the names that these have always had", async () => {
    const ramps = {
      rate: byMetric({ metric: "train/loss", initial: 1 }),
      other: warmup({ updates: 2 }, byMetric({ metric: "validation/at", initial: 1 })),
    };
    const texts: unknown[] = [];
    const states: unknown[] = [];
    const watch: TrainerHook = {
      name: "watch",
      onBatchEnd: async ({ settings, components }) => {
        texts.push(settings.ramps);
        const state = (await components.trainer?.getState()) as { readonly means: object } | undefined;
        states.push(state?.means);
      },
    };
    const trainer = new Trainer({
      task: new FakeTask({ ramps, validate: true }),
      config: { epochs: 1 },
      hooks: [watch],
    });
    await trainer.train();
    expect(texts[0]).toMatchObject({
      rate: expect.stringMatching(/^following loss,/),
      other: expect.stringMatching(/following validation\.at,/),
    });
    expect(states[1]).toEqual({ loss: { total: expect.any(Number), count: 2 } });
  });

  it("say once that they follow what nobody reports", async () => {
    const warnings: string[] = [];
    const rate = byMetric({ metric: "train/lsos", initial: 1 });
    const warn = (text: string) => void warnings.push(text);
    await new Trainer({ task: new FakeTask({ ramps: { rate } }), config: { epochs: 2 }, warn }).train();
    expect(warnings).toEqual([expect.stringContaining('follows "train/lsos"')]);
    expect(warnings[0]).toContain('did you mean "train/loss"?');
  });

  it.each<[string, string, boolean, Partial<TrainingConfig>, string | undefined]>([
    ["without validation", "validation/at", false, {}, "the run has no validation"],
    ["that never validates", "validation/at", true, { validate: never() }, "the run has no validation"],
    ["whose validation reports other names", "validation/ta", true, {}, 'did you mean "validation/at"?'],
    ["that validates later", "validation/at", true, { validate: at({ epochs: [2] }) }, undefined],
    ["that has validated", "validation/at", true, { validate: at({ epochs: [1] }) }, undefined],
  ])("say that they follow validation in a run %s", async (_run, metric, validate, config, told) => {
    const warnings: string[] = [];
    const task = new FakeTask({ ramps: { rate: byMetric({ metric, initial: 1 }) }, validate });
    const warn = (text: string) => void warnings.push(text);
    await new Trainer({ task, config: { epochs: 2, ...config }, warn }).train();
    expect(warnings).toEqual(told === undefined ? [] : [expect.stringContaining(told)]);
    if (told) expect(warnings[0]).toContain(`follows "${metric}"`);
  });

  it("must be finite", async () => {
    const rate = { at: () => Number.NaN, describe: () => "broken" };
    const trainer = new Trainer({ task: new FakeTask({ ramps: { rate } }) });
    await expect(trainer.train()).rejects.toThrow(/"rate" is NaN after 0 batches.*\[RAMP_NOT_FINITE\]/);
  });
});

const events = [
  "onEpochStart",
  "onRolloutStart",
  "onRolloutEnd",
  "onBatchStart",
  "onBatchEnd",
  "onTrainPhaseEnd",
  "onValidationStart",
  "onValidationEnd",
  "onEpochEnd",
] as const satisfies readonly TrainerEvent[];

const count = (max: number) => fc.integer({ min: 1, max });
const simple: fc.Arbitrary<Schedule> = fc.oneof(
  fc
    .record({ n: count(9), from: fc.option(count(12), { nil: undefined }) })
    .map(({ n, from }) => every({ updates: n, from })),
  count(30).map((samples) => every({ samples })),
  count(3).map((epochs) => every({ epochs })),
  count(6).map((steps) => every({ steps })),
  count(6).map((batches) => every({ batches, from: 0 })),
  fc.uniqueArray(count(25), { minLength: 1, maxLength: 4 }).map((updates) => at({ updates })),
  fc.tuple(count(10), count(10)).map(([a, b]) => between({ updates: [a, a + b] })),
  count(4).map((epochs) => cycle({ epochs, active: [1] })),
);
const schedules = fc
  .oneof(
    simple,
    fc.tuple(simple, simple).map(([a, b]) => a.and(b)),
    fc.tuple(simple, simple).map(([a, b]) => a.or(b)),
    simple.map((a) => a.not()),
  )
  .map((schedule) => ({ ...schedule, [fc.toStringMethod]: () => schedule.describe() }));
const plans = fc.record({
  hooks: fc.array(
    fc.record({ schedule: schedules, events: fc.uniqueArray(fc.constantFrom(...events), { minLength: 1 }) }),
    { maxLength: 3 },
  ),
  segments: fc.array(
    fc.record({
      rollout: fc.boolean(),
      repeats: fc.integer({ min: 0, max: 5 }),
      samples: fc.integer({ min: 0, max: 9 }),
      maxFuse: fc.constantFrom(1, 3, 100),
      fusesWithNext: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  epochs: count(5),
  validate: fc.option(schedules, { nil: undefined }),
  maxUpdates: fc.option(count(30), { nil: undefined }),
  fuse: fc.constantFrom(true, 2, 7),
});

describe("fused and one by one", () => {
  it("make the same calls in the same order, with the same counters and numbers", async () => {
    const runWith = async (plan: ReturnType<typeof plans.generate>["value"], fuse: boolean | number) => {
      const task = new FakeTask({
        epoch: () =>
          plan.segments.map(({ rollout: is, repeats, samples, maxFuse, fusesWithNext }) =>
            (is ? rollout : train)(repeats, {
              adds: is ? { samples } : { updates: 1, samples },
              maxFuse,
              fusesWithNext,
            }),
          ),
        ramps: { rate: linear({ from: 1, to: 0, over: { updates: 20 } }) },
        validate: plan.validate !== undefined,
      });
      const lines: string[] = [];
      const hooks = plan.hooks.map(({ schedule, events }, i) => {
        const { hook } = recorder(
          events,
          { name: `hook ${i}`, schedule },
          ({ event, counters, since, state }) => {
            lines.push(`${i} ${event} ${state.phase} ${JSON.stringify([counters, since])} ${task.w}`);
            return "";
          },
        );
        return hook;
      });
      const { validate, maxUpdates, epochs } = plan;
      const config = {
        epochs,
        fuse,
        onEmpty: "finish",
        ...(validate && { validate }),
        ...(maxUpdates && { maxUpdates }),
      } as const;
      const result = await new Trainer({ task, config, hooks, clock: manualClock() }).train();
      return {
        lines,
        w: task.w,
        counters: result.counters,
        outcome: result.outcome,
        reason: result.reason,
        validation: result.validation,
      };
    };
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        expect(await runWith(plan, plan.fuse)).toEqual(await runWith(plan, false));
      }),
      { numRuns: 300, seed: 11 },
    );
  });
});
