import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { constant, every, linear, type Ramp, type Schedule, warmup } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerContext, TrainerEvent, TrainerHook } from "./events.ts";
import { FakeTask, type FakeTaskOptions, recorder, rollout, train } from "./task.test-support.ts";
import type { Frozen } from "./task.ts";
import { Trainer } from "./trainer.ts";

/** Rollouts find 0, 2, 1, 0, 2, 1, ... episodes. */
const episodes = (rollout: number) => ({ episodes: (rollout * 2) % 3 });
const counting: FakeTaskOptions = {
  epoch: () => [rollout(1), train(3)],
  counters: ["episodes"],
  counted: episodes,
};

const timeless = ({ seconds: _, ...rest }: TrainerContext["counters"]) => rest;

async function run(
  options: FakeTaskOptions,
  config: Partial<TrainingConfig> = {},
  hooks: readonly TrainerHook[] = [],
) {
  const task = new FakeTask({ ...counting, ...options });
  const result = await new Trainer({
    ...{ task, config: { epochs: 6, ...config }, hooks, clock: manualClock() },
  }).train();
  return { task, counters: timeless(result.counters), sizes: task.requests.map(({ count }) => count) };
}

describe("counters that rollouts move afterwards", () => {
  it("are counted, however the work is cut", async () => {
    const [fused, single] = [await run({}), await run({}, { fuse: false })];
    expect(fused.sizes).toEqual([24]);
    expect(single.sizes).toHaveLength(24);
    expect(fused.counters).toMatchObject({ episodes: 6, batches: 18, samples: 6 * (7 + 12) });
    expect(single.counters).toEqual(fused.counters);
  });

  it.each(["onRolloutEnd", "onBatchStart", "onBatchEnd", "onEpochEnd"] as const)(
    "are looked at after each rollout where %s is scheduled by them",
    async (event) => {
      const schedule = every({ episodes: 3 });
      const say = ({ counters, since }: TrainerContext) =>
        JSON.stringify([timeless(counters), since && timeless(since)]);
      const [one, other] = [recorder([event], { schedule }, say), recorder([event], { schedule }, say)];
      const fused = await run({}, {}, [one.hook]);
      const single = await run({}, { fuse: false }, [other.hook]);
      expect(one.lines).toEqual(other.lines);
      expect(one.lines).toHaveLength(2);
      // Between rollouts what is due is known, and the batches run in one call.
      expect(fused.sizes.length).toBeLessThan(single.sizes.length);
      expect(fused.sizes.every((size) => size <= 4)).toBe(true);
    },
  );

  it("fire validation when they should", async () => {
    const validated = async (fuse: boolean) => {
      const seen = recorder(["onValidationEnd"], {}, ({ counters }) => JSON.stringify(timeless(counters)));
      await run({ validate: true }, { fuse, validate: every({ episodes: 2 }) }, [seen.hook]);
      return seen.lines;
    };
    const fused = await validated(true);
    expect(fused).toEqual(await validated(false));
    expect(fused).toHaveLength(4); // The last at the run's end.
  });

  it("are what values of fused calls have beside their rows", async () => {
    const rowsIn = async (fuse: boolean) => {
      const found: (readonly [string, ReturnType<typeof timeless>])[] = [];
      const look: TrainerHook = {
        name: "look",
        onBatchesEnd: ({ values }) => {
          for (const name of values?.names ?? [])
            for (let row = 0; row < (values?.rows(name) ?? 0); row++)
              if (values) found.push([name, timeless(values.at(name, row))]);
        },
      };
      await run({ epoch: () => [rollout(2), train(2)] }, { fuse, epochs: 3 }, [look]);
      return ["reward", "loss"].map((wanted) => found.filter(([name]) => name === wanted));
    };
    const [rewards, losses] = await rowsIn(true);
    expect(rewards?.map(([, at]) => at.episodes)).toEqual([...[0, 2, 3, 3, 5, 6]]);
    expect(losses?.map(([, at]) => at.episodes)).toEqual([...[2, 2, 3, 3, 6, 6]]);
    expect(await rowsIn(false)).toEqual([rewards, losses]);
  });

  it("named in adds are foreseen, and keep nothing from being fused", async () => {
    const hook = recorder(["onRolloutEnd"], { schedule: every({ episodes: 4 }) }).hook;
    const epoch = () => [rollout(1, { adds: { samples: 7, episodes: 2 } }), train(3)];
    const { sizes, counters } = await run({ epoch, counted: () => ({}) }, {}, [hook]);
    expect(sizes).toEqual([5, 8, 8, 3]);
    expect(counters.episodes).toBe(12);
  });
});

describe("ramps that follow such counters", () => {
  const falling = linear({ from: 1, to: 0, over: { episodes: 5 } });
  const ramps: readonly (readonly [string, Ramp])[] = [
    ["in them", falling],
    ["behind a warm-up in others", warmup({ updates: 4 }, falling)],
    ["as a warm-up", warmup({ episodes: 2 }, linear({ from: 1, to: 0, over: { updates: 30 } }))],
    ["without saying so", { at: ({ episodes = 0 }) => 1 / (1 + episodes), describe: () => "by episodes" }],
  ];
  it.each(ramps)("end a call after each rollout: %s", async (_, rate) => {
    for (const epoch of [() => [rollout(1), train(3)], () => [rollout(3), train(2)]]) {
      const fused = await run({ ramps: { rate }, epoch });
      const single = await run({ ramps: { rate }, epoch }, { fuse: false });
      expect(fused.task.w).toBe(single.task.w);
      expect(fused.sizes.length).toBeLessThan(single.sizes.length);
      for (const { spans } of fused.task.requests)
        expect(spans.findIndex(({ segment }) => segment.phase === "rollout")).toBeOneOf([
          -1,
          spans.length - 1,
        ]);
    }
  });

  it("and others do not, with counters of the task's own that are foreseen too", async () => {
    const rates: readonly Ramp[] = [
      constant(0.3),
      linear({ from: 1, to: 0, over: { updates: 20 } }),
      linear({ from: 1, to: 0, over: { games: 20 } }),
      warmup({ updates: 4 }, linear({ from: 1, to: 0, over: { samples: 90 } })),
      { at: ({ updates }) => 1 / (1 + updates), units: ["updates"], describe: () => "by updates" },
    ];
    for (const rate of rates) {
      const epoch = () => [rollout(1, { adds: { samples: 7, games: 1 } }), train(3)];
      const more = { ramps: { rate }, counters: ["games", "episodes"], epoch };
      expect((await run(more)).sizes).toEqual([24]);
    }
  });
});

const count = (max: number) => fc.integer({ min: 1, max });
const schedules: fc.Arbitrary<Schedule> = fc
  .oneof(
    count(7).map((episodes) => every({ episodes })),
    fc.tuple(count(5), count(9)).map(([n, from]) => every({ episodes: n, from })),
    fc.tuple(count(5), count(9)).map(([n, updates]) => every({ episodes: n }).and(every({ updates }))),
    fc.tuple(count(5), count(9)).map(([n, updates]) => every({ episodes: n }).or(every({ updates }))),
    count(6).map((updates) => every({ updates })),
  )
  .map((schedule) => ({ ...schedule, [fc.toStringMethod]: () => schedule.describe() }));
const events = ["onRolloutStart", "onRolloutEnd", "onBatchStart", "onBatchEnd", "onEpochStart", "onEpochEnd"];
const plans = fc.record({
  hooks: fc.array(
    fc.record({
      schedule: schedules,
      events: fc.uniqueArray(fc.constantFrom(...(events as TrainerEvent[])), { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  found: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 6 }),
  rollouts: fc.integer({ min: 1, max: 3 }),
  batches: fc.integer({ min: 0, max: 4 }),
  follows: fc.boolean(),
  validate: fc.option(schedules, { nil: undefined }),
  fuse: fc.constantFrom(true, 2, 5),
});
type Plan = ReturnType<typeof plans.generate>["value"];

function planned(plan: Plan, fuse: boolean | number, more: readonly TrainerHook[] = []) {
  const { found, rollouts, batches, follows, validate } = plan;
  const task = new FakeTask({
    epoch: () => [rollout(rollouts), train(batches)],
    counters: ["episodes"],
    counted: (i) => ({ episodes: found[i % found.length] as number }),
    ramps: { rate: linear({ from: 1, to: 0, over: follows ? { episodes: 9 } : { updates: 9 } }) },
    validate: validate !== undefined,
  });
  const lines: string[] = [];
  const hooks = plan.hooks.map(({ schedule, events }, i) => {
    const say = ({ event, counters, since }: TrainerContext) => {
      lines.push(`${i} ${event} ${JSON.stringify([counters, since])} ${task.w}`);
      return "";
    };
    return recorder(events, { name: `hook ${i}`, schedule }, say).hook;
  });
  const trainer = new Trainer({
    ...{ task, hooks: [...hooks, ...more], clock: manualClock() },
    config: { epochs: 5, fuse, ...(validate && { validate }) },
  });
  return { task, trainer, lines };
}

describe("random schedules in such counters", () => {
  it("make the same calls fused and one by one", async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const [fused, single] = [planned(plan, plan.fuse), planned(plan, false)];
        const results = [await fused.trainer.train(), await single.trainer.train()];
        expect(fused.lines).toEqual(single.lines);
        expect(fused.task.w).toBe(single.task.w);
        expect(results[0]?.counters).toEqual(results[1]?.counters);
        expect(results[0]?.validation).toEqual(results[1]?.validation);
      }),
      { numRuns: 200, seed: 8 },
    );
  });

  it("go on after a resume as if nothing had been", async () => {
    const restoring = (frozen: () => Frozen): TrainerHook => ({
      name: "restore",
      onTrainingStart: async ({ components }) => {
        for (const [name, state] of Object.entries(frozen().components))
          await components[name]?.setState(state);
      },
    });
    const ended = async ({ trainer }: ReturnType<typeof planned>) => {
      const parts = Object.entries(trainer.components).filter(([name]) => name !== "time");
      const states = parts.map(async ([name, part]) => [name, await part.getState()] as const);
      return hashState(Object.fromEntries(await Promise.all(states)) as StateTree);
    };
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(40), async (plan, nth) => {
        const whole = planned(plan, plan.fuse);
        await whole.trainer.train();
        let frozen: Frozen | undefined;
        let left = nth;
        const save: TrainerHook = {
          name: "save",
          onBatchesEnd: async ({ snapshot }) => {
            if (left-- === 0) frozen = await snapshot();
          },
        };
        await planned(plan, plan.fuse, [save]).trainer.train();
        if (!frozen) return;
        const kept = frozen;
        const second = planned(plan, plan.fuse, [restoring(() => kept)]);
        await second.trainer.train();
        expect(whole.lines.slice(-second.lines.length || whole.lines.length)).toEqual(second.lines);
        expect(second.task.w).toBe(whole.task.w);
        expect(await ended(second)).toBe(await ended(whole));
      }),
      { numRuns: 60, seed: 3 },
    );
  });
});
