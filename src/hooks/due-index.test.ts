import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  always,
  at,
  between,
  type Counters,
  cycle,
  defineSchedule,
  every,
  never,
  noCounters,
  type Schedule,
  when,
} from "../schedule/index.ts";
import { counted, type TestHook, testHost } from "./hooks.test-support.ts";

const units = ["epochs", "batches", "samples", "episodes"] as const;
const unit = fc.constantFrom(...units);
const count = fc.integer({ min: 1, max: 12 });

const simple: fc.Arbitrary<Schedule> = fc.oneof(
  fc.tuple(unit, count).map(([u, n]) => every({ [u]: n })),
  fc.tuple(unit, count, fc.nat(20)).map(([u, n, from]) => every({ [u]: n, from })),
  fc.tuple(unit, count, fc.nat(20), fc.nat(30)).map(([u, n, from, more]) => {
    return every({ [u]: n, from, until: from + more });
  }),
  fc
    .tuple(unit, fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }))
    .map(([u, times]) => at({ [u]: times })),
  fc.tuple(unit, fc.nat(20), fc.nat(20)).map(([u, from, more]) => between({ [u]: [from, from + more] })),
  fc
    .tuple(fc.constantFrom("epochs", "batches"), fc.integer({ min: 1, max: 6 }))
    .chain(([u, length]) =>
      fc
        .uniqueArray(fc.integer({ min: 1, max: length }), { minLength: 1 })
        .map((active) => cycle({ [u]: length, active })),
    ),
  fc.constantFrom(always(), never()),
  count.map((n) => when(({ counters }) => counters.batches % n === 0)),
  count.map((n) => every({ seconds: n / 4 })),
);

/** Schedules, joined and denied up to three deep. */
const schedules: fc.Arbitrary<Schedule | undefined> = fc.option(
  fc.letrec<{ any: Schedule }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      simple,
      fc.tuple(tie("any"), tie("any")).map(([a, b]) => a.and(b)),
      fc.tuple(tie("any"), tie("any")).map(([a, b]) => a.or(b)),
      tie("any").map((a) => a.not()),
    ),
  })).any,
  { nil: undefined, freq: 6 },
);

interface Stride {
  readonly batches: number;
  readonly epochs: number;
  readonly samples: number;
  readonly episodes: number;
  readonly quarters: number;
}

/** What counters do from one moment to the next: mostly small steps, now and then a jump. */
const stride: fc.Arbitrary<Stride> = fc.record({
  batches: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.nat(9)),
  epochs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(3)),
  samples: fc.nat(7),
  episodes: fc.nat(2),
  quarters: fc.nat(5),
});

const move = fc.oneof(
  { weight: 8, arbitrary: stride },
  { weight: 1, arbitrary: fc.constant("back" as const) },
  { weight: 1, arbitrary: fc.constant("again" as const) },
);

const start = counted({ batches: 0, episodes: 0 });

const after = (from: Counters, by: Stride): Counters => {
  const epochs = from.epochs + by.epochs;
  return {
    ...from,
    epochs,
    epoch: epochs,
    batches: from.batches + by.batches,
    updates: from.updates + by.batches,
    steps: from.steps + by.batches,
    samples: from.samples + by.samples,
    seconds: from.seconds + by.quarters / 4,
    episodes: (from.episodes as number) + by.episodes,
  };
};

/** Counters from moment to moment; "back" goes to where the walk was half-way, as a restored run does. */
function walk(moves: readonly (Stride | "back" | "again")[]): readonly Counters[] {
  const path: Counters[] = [start];
  for (const each of moves) {
    const from = path[path.length - 1] as Counters;
    if (each === "back") path.push({ ...(path[path.length >> 1] as Counters) });
    else if (each === "again") path.push({ ...from });
    else path.push(after(from, each));
  }
  return path.slice(1);
}

/** The hooks a loop that asks everyone would run. */
const naively = (hooks: readonly TestHook[], counters: Counters, since: Counters | undefined): string[] =>
  hooks
    .filter(({ schedule }) => schedule === undefined || schedule.due({ counters, since } as never))
    .map(({ name }) => name);

function hooksOf(list: readonly (Schedule | undefined)[], ran: string[]): readonly TestHook[] {
  return list.map((schedule, i) => ({
    name: `${i}`,
    ...(schedule && { schedule }),
    onBatchEnd: () => void ran.push(`${i}`),
  }));
}

const runs = { numRuns: 300 };

describe("the hooks that run", () => {
  it.each(["with a history", "alone"])("are those a loop over all hooks would run, moments %s", (kind) => {
    const lone = kind === "alone";
    fc.assert(
      fc.property(
        fc.array(schedules, { minLength: 1, maxLength: 8 }),
        fc.array(move, { maxLength: 30 }),
        (list, moves) => {
          const ran: string[] = [];
          const hooks = hooksOf(list, ran);
          const { at: run, register } = testHost({ lone, start });
          register(...hooks);
          let since: Counters | undefined = lone ? undefined : start;
          for (const counters of walk(moves)) {
            ran.length = 0;
            const expected = naively(hooks, counters, since);
            run("onBatchEnd", counters);
            expect(ran).toEqual(expected);
            if (!lone) since = counters;
          }
        },
      ),
      runs,
    );
  });

  it("are the same when the host leaves out the events that mayRun denies", () => {
    fc.assert(
      fc.property(
        fc.array(schedules, { minLength: 1, maxLength: 6 }),
        fc.array(move, { maxLength: 30 }),
        fc.boolean(),
        (list, moves, tells) => {
          const ran: string[] = [];
          const hooks = hooksOf(list, ran);
          const { manager, context, register } = testHost();
          register(...hooks);
          let since = start;
          for (const counters of walk(moves)) {
            ran.length = 0;
            const moment = { ...context, counters, since };
            if (manager.mayRun("onBatchEnd", counters, tells ? since : undefined))
              manager.run("onBatchEnd", moment);
            expect(ran).toEqual(naively(hooks, counters, since));
            since = counters;
          }
        },
      ),
      runs,
    );
  });
});

describe("untilDue", () => {
  it("never promises too much, wherever it is asked", () => {
    fc.assert(
      fc.property(
        fc.array(
          schedules.filter((schedule) => schedule !== undefined),
          { minLength: 1, maxLength: 6 },
        ),
        fc.array(move, { maxLength: 8 }),
        stride.map((by) => ({ ...by, batches: 1, quarters: 0 })),
        fc.integer({ min: 1, max: 40 }),
        (list, before, by, limit) => {
          const hooks = hooksOf(list, []);
          const { manager, context, register } = testHost();
          register(...hooks);
          let since = start;
          for (const counters of walk(before)) {
            manager.run("onBatchEnd", { ...context, counters, since });
            since = counters;
          }
          const { quarters: _none, ...adds } = { ...by, updates: 1, steps: 1 };
          const until = manager.untilDue("onBatchEnd", since, adds, limit);
          expect(until).toBeGreaterThanOrEqual(1);
          expect(until).toBeLessThanOrEqual(limit + 1);
          let last = since;
          for (let i = 1; i < until; i++) {
            const counters = after(last, by);
            expect(naively(hooks, counters, last)).toEqual([]);
            last = counters;
          }
        },
      ),
      runs,
    );
  });

  it.each<[string, Schedule, number]>([
    ["every 100 updates", every({ updates: 100 }), 70],
    [
      "every 100 updates from the 200th on",
      every({ updates: 100 }).and(between({ updates: [200, 900] })),
      170,
    ],
    ["every 64 samples or every 50 batches", every({ samples: 64 }).or(every({ batches: 50 })), 4],
    ["every epoch, which these repeats do not end", every({ epochs: 1 }), 1001],
    ["a point that is past", at({ batches: 3 }), 1001],
    ["seconds, which nobody can foresee", every({ seconds: 1e6 }), 1],
    ["a condition", when(() => false), 1],
    ["never", never(), 1001],
    ["a cycle of epochs that is not on", cycle({ epochs: 8, active: [1] }), 1001],
    ["a cycle of batches", cycle({ batches: 8, active: [1] }), 2],
  ])("tells how many batches fit: %s", (_name, schedule, expected) => {
    const { manager, at: run } = testHost().register({ name: "a", schedule, onBatchEnd: () => {} });
    run("onBatchEnd", { batches: 30, samples: 240, epochs: 3, epoch: 3 });
    const now = counted({ batches: 30, samples: 240, epochs: 3, epoch: 3 });
    expect(manager.untilDue("onBatchEnd", now, { batches: 1, updates: 1, steps: 1, samples: 4 }, 1000)).toBe(
      expected,
    );
  });

  it("is 1 for a hook without a schedule and past the limit without hooks", () => {
    const { manager } = testHost().register({ name: "a", onBatchEnd: () => {} });
    expect(manager.untilDue("onBatchEnd", noCounters, { batches: 1 }, 10)).toBe(1);
    expect(manager.untilDue("onEpochEnd", noCounters, { epochs: 1 }, 10)).toBe(11);
    expect(manager.mayRun("onEpochEnd", noCounters)).toBe(false);
  });

  it("looks back to where the event last happened, if the host says so", () => {
    const { manager } = testHost().register({
      name: "a",
      schedule: every({ updates: 40 }),
      onEpochEnd: () => {},
    });
    const now = counted({ batches: 50 });
    expect(manager.untilDue("onEpochEnd", now, { updates: 10 }, 10)).toBe(3);
    expect(manager.untilDue("onEpochEnd", now, { updates: 10 }, 10, noCounters)).toBe(1);
    expect(manager.mayRun("onEpochEnd", counted({ batches: 60 }), noCounters)).toBe(true);
  });

  it("is not fooled by hooks that are disabled", () => {
    const { manager } = testHost().register({ name: "a", onBatchEnd: () => {} });
    manager.disable("a");
    expect(manager.untilDue("onBatchEnd", noCounters, { batches: 1 }, 10)).toBe(11);
    manager.enable("a");
    expect(manager.untilDue("onBatchEnd", noCounters, { batches: 1 }, 10)).toBe(1);
  });
});

describe("after going back", () => {
  it.each(["epochs", "batches", "updates", "samples", "steps", "seconds", "episodes"])(
    "in %s, a time that seemed past for ever comes again",
    (unit) => {
      const ran: (number | undefined)[] = [];
      const { at: run } = testHost({ start }).register({
        name: "a",
        schedule: at({ [unit]: 5 }),
        onEpochEnd: ({ counters }) => void ran.push(counters[unit]),
      });
      for (const count of [4, 5, 6, 3, 4, 5]) run("onEpochEnd", { episodes: 0, [unit]: count });
      expect(ran).toEqual([5, 5]);
    },
  );

  it("mayRun says that it does not know", () => {
    const { manager, at: run } = testHost().register({
      name: "a",
      schedule: every({ epochs: 5 }),
      onEpochEnd: () => {},
    });
    run("onEpochEnd", { epochs: 7 });
    expect(manager.mayRun("onEpochEnd", counted({ epochs: 8 }))).toBe(false);
    expect(manager.mayRun("onEpochEnd", counted({ epochs: 6 }))).toBe(true);
  });
});

describe("a schedule that knows at some times and not at others", () => {
  it("is asked at every event from then on", () => {
    const schedule = defineSchedule({
      due: ({ counters }) => counters.batches === 2 || counters.batches > 4,
      nextDue: ({ batches }) => (batches < 2 ? [{ unit: "batches", at: 2 }] : undefined),
      describe: () => "its own way",
    });
    const ran: number[] = [];
    const { at: run } = testHost().register({
      name: "a",
      schedule,
      onBatchEnd: ({ counters }) => void ran.push(counters.batches),
    });
    for (let batches = 1; batches <= 6; batches++) run("onBatchEnd", { batches });
    expect(ran).toEqual([2, 5, 6]);
  });
});

describe("a counter that the host does not have", () => {
  it("fails as the hook's own failure, with the counters there are", () => {
    const { at: run } = testHost().register({
      name: "replay",
      schedule: every({ episodes: 5 }),
      onBatchEnd: () => {},
    });
    expect(() => run("onBatchEnd", { batches: 1 })).toThrow(
      /hook "replay" failed in onBatchEnd: nothing here counts "episodes"/,
    );
  });
});

describe("blockers", () => {
  it("are the enabled hooks that make an event run every time", () => {
    const onBatchEnd = (): void => {};
    const { manager } = testHost().register(
      { name: "all", onBatchEnd },
      { name: "condition", schedule: when(() => false), onBatchEnd },
      { name: "clock", schedule: every({ seconds: 60 }), onBatchEnd },
      { name: "window", schedule: between({ batches: [0, 5] }), onBatchEnd },
      { name: "foreign", schedule: every({ episodes: 2 }), onBatchEnd },
      { name: "hundred", schedule: every({ updates: 100 }), onBatchEnd },
      {
        name: "condition every hundred",
        schedule: every({ updates: 100 }).and(when(() => true)),
        onBatchEnd,
      },
      { name: "never", schedule: never(), onBatchEnd },
      { name: "off", onBatchEnd },
      { name: "elsewhere", onEpochEnd: onBatchEnd },
    );
    manager.disable("off");
    expect(manager.blockers("onBatchEnd", noCounters)).toEqual([
      "all",
      "condition",
      "clock",
      "window",
      "foreign",
    ]);
  });
});

describe("ten thousand hooks", () => {
  it("are registered, and only those that are due are asked", () => {
    let asked = 0;
    const ran: string[] = [];
    const { manager, at: run } = testHost();
    for (let i = 1; i <= 10_000; i++) {
      const schedule = every({ batches: i });
      const due: Schedule["due"] = (moment) => {
        asked++;
        return schedule.due(moment);
      };
      const onBatchEnd = (): void => void ran.push(`${i}`);
      manager.register({ name: `${i}`, schedule: { ...schedule, due }, onBatchEnd });
    }
    for (let batches = 1; batches <= 12; batches++) {
      asked = 0;
      ran.length = 0;
      run("onBatchEnd", { batches });
      const divisors = Array.from({ length: batches }, (_, i) => i + 1).filter((i) => batches % i === 0);
      expect(ran).toEqual(divisors.map(String));
      expect(asked).toBe(divisors.length);
    }
    expect(manager.plan().order).toHaveLength(10_000);
  });
});
