import { describe, expect, it } from "vitest";
import { between, countOf, cycle, defineSchedule, every, when } from "../schedule/index.ts";
import type { HookContext } from "./hook.ts";
import { counted, failureOf, type TestEvents, type TestHook, testHost } from "./hooks.test-support.ts";
import { HookManager } from "./manager.ts";
import { loggingHook, type Period, PeriodicHook, periodicHook } from "./ready-made.ts";
import { slot } from "./slots.ts";

/** The steps at which a hook runs in a run of so many batches, one epoch being ten. */
function stepsOf(hook: TestHook, batches = 40): readonly number[] {
  const steps: number[] = [];
  const { at } = testHost().register(hook, {
    name: "watch",
    after: [hook.name],
    onBatchEnd: () => {},
  });
  for (let i = 0; i <= batches; i++) {
    const counters = { batches: i, epochs: Math.floor(i / 10), epoch: Math.floor(i / 10) };
    const results = [at("onBatchEnd", counters), i > 0 && i % 10 === 0 && at("onEpochEnd", counters)];
    if (results.some((result) => (result as { ran?: boolean } | undefined)?.ran)) steps.push(i);
  }
  return steps;
}

/** The same hook in both forms. */
const forms = (
  period: Period,
  shouldRun?: (context: HookContext) => boolean,
  on?: "onEpochEnd" | "onBatchEnd",
) => {
  class Periodic extends PeriodicHook {
    constructor() {
      super({ name: "periodic", ...period, ...(on && { on }) });
    }
    override shouldRun(context: HookContext): boolean {
      return super.shouldRun(context) && (shouldRun?.(context) ?? true);
    }
    override run(): unknown {
      return { ran: true };
    }
  }
  const made = periodicHook<TestEvents>({
    name: "periodic",
    ...period,
    ...(on && { on }),
    ...(shouldRun && { shouldRun }),
    run: () => ({ ran: true }),
  });
  return [new Periodic(), made] as const;
};

describe("a periodic hook, as class and as factory", () => {
  it.each<[string, ReturnType<typeof forms>, readonly number[]]>([
    // Step 0 never comes at the end of a batch; the first is step 1.
    ["every 15 steps", forms({ frequency: 15 }), [15, 30]],
    ["every 15 steps from 5 on", forms({ frequency: 15, startStep: 5 }), [5, 20, 35]],
    ["every 2 epochs", forms({ schedule: every({ epochs: 2 }) }), [20, 40]],
    [
      "every 12 updates, looked at when epochs end",
      forms({ schedule: every({ updates: 12 }) }, undefined, "onEpochEnd"),
      [20, 30, 40],
    ],
    ["with a predicate", forms({ frequency: 5 }, ({ counters }) => counters.steps > 22), [25, 30, 35, 40]],
    [
      "when a condition holds",
      forms({ schedule: when(({ counters }) => counters.batches > 37) }),
      [38, 39, 40],
    ],
    ["in a cycle of batches", forms({ schedule: cycle({ batches: 20, active: [3] }) }), [2, 22]],
  ])("runs %s", (_name, [hook, made], expected) => {
    expect(stepsOf(hook)).toEqual(expected);
    expect(stepsOf(made)).toEqual(expected);
  });

  it("takes counters of the host's own", () => {
    const schedule = every({ episodes: 20 });
    for (const hook of forms({ schedule })) {
      const { at } = testHost({ start: { ...testHost().context.counters, episodes: 0 } }).register(hook);
      expect([5, 25, 30, 40].map((episodes) => at("onBatchEnd", { episodes }))).toEqual([
        undefined,
        { ran: true },
        undefined,
        { ran: true },
      ]);
    }
  });

  it("runs at the end of epochs where its schedule counts epochs beside a counter of the host's own", () => {
    const start = { ...testHost().context.counters, episodes: 0 };
    for (const hook of forms({ schedule: every({ episodes: 20 }).or(every({ epochs: 1 })) })) {
      const { at } = testHost({ start }).register(hook);
      expect(at("onBatchEnd", { episodes: 25, epochs: 0 })).toBeUndefined();
      expect(at("onEpochEnd", { episodes: 25, epochs: 1 })).toEqual({ ran: true });
    }
  });

  it("takes a schedule that fails without its host's counters, and runs it at the end of steps", () => {
    const schedule = defineSchedule({
      due: ({ counters }) => countOf(counters, "episodes") > 20,
      nextDue: (counters) => [{ unit: "episodes", at: countOf(counters, "episodes") + 1 }],
      describe: () => "after 20 episodes",
    });
    for (const hook of forms({ schedule })) {
      const { at } = testHost({ start: { ...testHost().context.counters, episodes: 0 } }).register(hook);
      expect(at("onBatchEnd", { episodes: 25 })).toEqual({ ran: true });
    }
  });

  it.each([0, -1, 2.5, Number.NaN])("refuses a frequency of %s", (frequency) => {
    const error = failureOf(() => forms({ frequency }));
    expect(error.message).toContain(`frequency is ${frequency}`);
    expect(error.fix).toBeTruthy();
  });

  it("runs at step 0 where the host asks at step 0", () => {
    const [hook] = forms({ frequency: 10 });
    expect(testHost({ lone: true }).register(hook).at("onBatchEnd", { batches: 0 })).toEqual({ ran: true });
  });
});

describe("PeriodicHook", () => {
  it("is named after its class, and keeps what a subclass adds", () => {
    class Health extends PeriodicHook {
      readonly timeBudget = 5;
      readonly seen: number[] = [];
      constructor() {
        super({ frequency: 2 });
      }
      override run({ counters, log }: HookContext): void {
        this.seen.push(counters.steps);
        log({ "health.step": counters.steps });
      }
    }
    const health = new Health();
    const { at, logged, manager } = testHost().register(health);
    for (let batches = 1; batches <= 4; batches++) at("onBatchEnd", { batches });
    expect(health.seen).toEqual([2, 4]);
    expect(logged[0]).toMatchObject({ owner: "Health", values: { "health.step": 2 } });
    expect(manager.unregister(health)).toBe(true);
  });

  it("may be configured as 002 does", () => {
    class Configurable extends PeriodicHook {
      readonly enabled: boolean;
      constructor({ frequency = 100, enabled = true } = {}) {
        super({ frequency });
        this.enabled = enabled;
      }
      override shouldRun(context: HookContext): boolean {
        return this.enabled && super.shouldRun(context);
      }
      override run(): unknown {
        return { ran: true };
      }
    }
    expect(stepsOf(new Configurable({ frequency: 20 }))).toEqual([20, 40]);
    expect(stepsOf(new Configurable({ frequency: 20, enabled: false }))).toEqual([]);
  });

  it("answers a lone question by its frequency and startStep, through super too", () => {
    class Mine extends PeriodicHook {
      override shouldRun(context: HookContext): boolean {
        return super.shouldRun(context) && context.rank === 0;
      }
      override run(): void {}
    }
    const made = periodicHook<TestEvents>({ name: "made", frequency: 25, startStep: 50, run: () => {} });
    for (const hook of [new Mine({ frequency: 25, startStep: 50 }), made]) {
      const asked = [25, 50, 60, 75].map((steps) =>
        hook.shouldRun?.({ ...testHost().context, counters: counted({ steps }) } as HookContext),
      );
      expect(asked).toEqual([false, true, false, true]);
    }
  });

  it("says so where the host has no such event", () => {
    class Mine extends PeriodicHook {
      override run(): void {}
    }
    const { manager } = testHost();
    expect(() => manager.register(new Mine({ frequency: 1, on: "onStep" }))).toThrow(
      'hook "Mine" handles "onStep", which is no event',
    );
  });

  it("runs at the end of a step of its host, whatever that is called, or says what to write", () => {
    class Mine extends PeriodicHook {
      override run(): unknown {
        return { ran: true };
      }
    }
    const worker = (stepEvent?: "onTick") => {
      const manager = new HookManager<{ readonly onTick: HookContext; readonly onClose: HookContext }>({
        events: ["onTick", "onClose"],
        ...(stepEvent && { stepEvent }),
      });
      manager.register(new Mine({ frequency: 10 }));
      manager.register(loggingHook({ schedule: every({ steps: 20 }) }));
      return manager;
    };
    const context = { ...testHost().context, counters: counted({ steps: 10 }) };
    expect(worker("onTick").run("onTick", context)).toEqual({ ran: true });
    const error = failureOf(() => worker());
    expect(error.code).toBe("HOOK_INVALID");
    expect(error.fix).toContain('on: "onTick"');
  });
});

describe("a condition", () => {
  it("may join the step, what the host says and what another hook found", () => {
    const performance = slot<number>("performance");
    const ran: number[] = [];
    interface LessonContext extends HookContext {
      readonly lesson: string;
    }
    const host = testHost().register(
      {
        name: "evaluation",
        provides: [performance],
        onBatchEnd: ({ slots, counters }) => slots.set(performance, counters.steps / 40),
      },
      {
        name: "conditional",
        wants: [performance],
        schedule: between({ steps: [10, 100] }).and(
          when((context: LessonContext) => context.lesson === "advanced"),
        ) as never,
        shouldRun: ({ slots }) => (slots.get(performance) ?? 0) > 0.5,
        onBatchEnd: ({ counters }) => void ran.push(counters.steps),
      },
    );
    for (const [batches, lesson] of [
      [5, "advanced"],
      [15, "advanced"],
      [25, "basic"],
      [30, "advanced"],
      [35, "advanced"],
    ] as const) {
      Object.assign(host.context, { lesson });
      host.at("onBatchEnd", { batches });
    }
    expect(ran).toEqual([30, 35]);
  });
});

/** 002's own form: an object that decides and runs. */
describe("a hook with shouldRun and run", () => {
  it("is called at the end of each step where it wants to be, and its results are merged", () => {
    class TestEvaluationHook {
      readonly name = "test";
      readonly evaluations: number[] = [];
      shouldRun({ counters }: HookContext): boolean {
        return counters.steps % 5 === 0;
      }
      run({ counters }: HookContext): unknown {
        this.evaluations.push(counters.steps);
        return { ran: true };
      }
    }
    const hook = new TestEvaluationHook();
    expect(stepsOf(hook, 12)).toEqual([0, 5, 10]);
    expect(hook.evaluations).toEqual([0, 5, 10]);
    expect(stepsOf({ name: "literal", shouldRun: () => true, run: () => ({ ran: true }) }, 2)).toEqual([
      0, 1, 2,
    ]);
  });

  it("has run called beside its handlers, but for one of the same event", () => {
    const hook = { name: "both", run: () => ({ ran: true }), onEpochEnd: () => ({ ended: true }) };
    const { at } = testHost().register(hook);
    expect([at("onBatchEnd"), at("onEpochEnd")]).toEqual([{ ran: true }, { ended: true }]);
    const other = testHost().register({ ...hook, runEvent: "onEpochEnd" });
    expect([other.at("onBatchEnd"), other.at("onEpochEnd")]).toEqual([undefined, { ended: true }]);
  });
});

describe("periodicHook", () => {
  it("keeps all other settings", async () => {
    const scores = slot<number>("scores");
    const hook = periodicHook<TestEvents>({
      name: "evaluation",
      schedule: every({ epochs: 1 }),
      provides: [scores],
      priority: 3,
      onFailure: "warn",
      ranks: "all",
      timeBudget: 10,
      after: ["x"],
      run: ({ slots }) => slots.set(scores, 1),
    });
    expect(hook).toMatchObject({
      name: "evaluation",
      priority: 3,
      onFailure: "warn",
      ranks: "all",
      timeBudget: 10,
      after: ["x"],
      provides: [scores],
    });
    const { at, manager } = testHost({ rank: 1 }).register(hook);
    at("onEpochEnd", { epochs: 1 });
    expect(manager.slots.get(scores)).toBe(1);
  });

  it("says what is missing", () => {
    const error = failureOf(() => periodicHook({ name: "a", frequency: 1 } as never));
    expect(error.message).toContain('periodicHook "a" has no run');
  });
});
