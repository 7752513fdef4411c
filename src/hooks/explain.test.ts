import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { at, cycle, every, never, noCounters, type Schedule, when } from "../schedule/index.ts";
import { counted, type TestHook, type testEvents, testHost } from "./hooks.test-support.ts";
import { HookManager } from "./manager.ts";
import { compositeHook } from "./ready-made.ts";
import { slot } from "./slots.ts";

const onEpochEnd = (): void => {};

describe("explain", () => {
  const moment = {
    counters: counted({ epochs: 7, batches: 70 }),
    since: counted({ epochs: 6, batches: 60 }),
  };
  const explained = (hook: Omit<TestHook, "name">, given: object = {}): string =>
    testHost()
      .register({ name: "a", onEpochEnd, ...hook })
      .manager.explain("a", "onEpochEnd", { ...moment, ...given }).text;

  it.each<[string, Omit<TestHook, "name">, string]>([
    ["no schedule", {}, "a runs in onEpochEnd: it runs at every event it handles"],
    [
      "a schedule that is due",
      { schedule: every({ epochs: 7 }) },
      "a runs in onEpochEnd: every 7 epochs is due",
    ],
    [
      "one that is not",
      { schedule: every({ epochs: 5 }) },
      "a does not run in onEpochEnd: every 5 epochs is not due; not before 10 epochs (now 7)",
    ],
    [
      "several units",
      { schedule: every({ epochs: 5 }).or(every({ batches: 100 })) },
      "a does not run in onEpochEnd: every 5 epochs or every 100 batches is not due; not before 10 epochs (now 7) or 100 batches (now 70)",
    ],
    [
      "a time that is past",
      { schedule: at({ epochs: 3 }) },
      "a does not run in onEpochEnd: at epoch 3 is not due, and never will be again",
    ],
    [
      "never",
      { schedule: never() },
      "a does not run in onEpochEnd: never is not due, and never will be again",
    ],
    [
      "a condition",
      { schedule: when(() => false, "when the loss is low") },
      "a does not run in onEpochEnd: when the loss is low is not due",
    ],
    ["a predicate", { shouldRun: () => false }, "a does not run in onEpochEnd: its shouldRun says no"],
    [
      "a predicate that fails",
      {
        shouldRun: () => {
          throw new Error("no state");
        },
      },
      "a does not run in onEpochEnd: asking it fails: no state",
    ],
  ])("answers for %s", (_name, hook, expected) => {
    expect(explained(hook)).toBe(expected);
  });

  it("answers for other ranks", () => {
    expect(explained({}, { rank: 3 })).toBe(
      "a does not run in onEpochEnd: it runs on the main rank alone, and this is rank 3",
    );
    expect(explained({ ranks: "all" }, { rank: 3 })).toContain("a runs in onEpochEnd");
  });

  it("answers for other events, for hooks that are off, composed, or not there", () => {
    const { manager } = testHost().register(
      { name: "a", onEpochEnd },
      compositeHook({
        name: "both",
        hooks: [
          { name: "b", onEpochEnd },
          { name: "c", onEpochEnd },
        ],
      }),
    );
    manager.disable("a");
    const text = (name: string, event: (typeof testEvents)[number] = "onEpochEnd"): string =>
      manager.explain(name, event, moment).text;
    expect(text("a")).toBe("a does not run in onEpochEnd: it is disabled");
    expect(text("b", "onBatchEnd")).toBe("b does not run in onBatchEnd: it handles onEpochEnd");
    expect(text("both")).toBe("both does not run in onEpochEnd: it consists of b, c");
    expect(text("d")).toBe("d does not run in onEpochEnd: it is not registered");
  });

  it("takes the hook itself, and says whose answer it is", () => {
    const hook: TestHook = { name: "a", onEpochEnd };
    const { manager } = testHost().register(hook);
    expect(manager.explain(hook, "onEpochEnd", moment)).toMatchObject({
      hook: "a",
      event: "onEpochEnd",
      runs: true,
    });
  });

  it("agrees with what run does", () => {
    const schedules: fc.Arbitrary<Schedule | undefined> = fc.oneof(
      fc.constant(undefined),
      fc.integer({ min: 1, max: 5 }).map((epochs) => every({ epochs })),
      fc.nat(9).map((epochs) => at({ epochs })),
      fc.integer({ min: 1, max: 4 }).map((position) => cycle({ epochs: 4, active: [position] })),
      fc.boolean().map((answer) => when(() => answer)),
    );
    const hooks = fc.array(
      fc.record({
        schedule: schedules,
        answer: fc.boolean(),
        ranks: fc.constantFrom("main" as const, "all" as const),
        enabled: fc.boolean(),
        event: fc.constantFrom("onEpochEnd" as const, "onBatchEnd" as const),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(hooks, fc.nat(2), fc.integer({ min: 1, max: 10 }), (list, rank, epochs) => {
        const ran = new Set<string>();
        const host = testHost({ rank });
        list.forEach(({ schedule, answer, ranks, enabled, event }, i) => {
          host.register({
            name: `${i}`,
            ...(schedule && { schedule }),
            shouldRun: () => answer,
            ranks,
            [event]: () => void ran.add(`${i}`),
          });
          if (!enabled) host.manager.disable(`${i}`);
        });
        const given = { epochs, epoch: epochs - 1 };
        const before = { counters: counted(given), since: noCounters, rank };
        const said = list.map((_, i) => host.manager.explain(`${i}`, "onEpochEnd", before).runs);
        host.at("onEpochEnd", given);
        expect(said).toEqual(list.map((_, i) => ran.has(`${i}`)));
      }),
    );
  });
});

describe("trace", () => {
  const hooks: readonly TestHook[] = [
    { name: "a", schedule: every({ epochs: 2 }), onEpochEnd },
    { name: "b", onEpochEnd },
    { name: "c", onEpochEnd },
    { name: "d", onBatchEnd: onEpochEnd },
  ];

  it("prints every decision of an event, before it is carried out", () => {
    const lines: string[] = [];
    const host = testHost({ trace: (line) => lines.push(line) }).register(...hooks);
    host.manager.register({ name: "e", onEpochEnd: () => void lines.push("e runs") });
    host.manager.disable("c");
    host.at("onEpochEnd", { epochs: 1, batches: 10 });
    expect(lines).toEqual([
      "hooks: epochs 1, batches 10: a does not run in onEpochEnd: every 2 epochs is not due; not before 2 epochs (now 1)",
      "hooks: epochs 1, batches 10: b runs in onEpochEnd: it runs at every event it handles",
      "hooks: epochs 1, batches 10: c does not run in onEpochEnd: it is disabled",
      "hooks: epochs 1, batches 10: e runs in onEpochEnd: it runs at every event it handles",
      "e runs",
    ]);
  });

  it("changes nothing about who runs", () => {
    const ran = (trace: boolean): string[] => {
      const names: string[] = [];
      const host = testHost(trace ? { trace: () => {} } : {});
      for (const [i, epochs] of [3, 2, 5].entries())
        host.register({
          name: `${i}`,
          schedule: every({ epochs }),
          onEpochEnd: ({ counters }) => void names.push(`${i} at ${counters.epochs}`),
        });
      host.register({ name: "off", onEpochEnd: () => void names.push("off") });
      host.manager.disable("off");
      for (let epochs = 1; epochs < 20; epochs++) host.at("onEpochEnd", { epochs });
      return names;
    };
    expect(ran(true)).toEqual(ran(false));
  });

  it("asks each hook once, and none that is not asked without it", () => {
    const asked = (trace: boolean, observed: boolean): string[] => {
      const questions: string[] = [];
      const host = testHost(trace ? { trace: () => {} } : {});
      const odd = (name: string) => () => questions.push(name) % 2 === 1;
      if (observed)
        host.register({
          name: "o",
          onRegister: (h) => h.observe({ decided: () => {} }),
          onStart: onEpochEnd,
        });
      host.register(
        { name: "a", shouldRun: odd("a"), onEpochEnd: () => void questions.push("a runs") },
        { name: "b", schedule: when(odd("b")), onEpochEnd: () => void questions.push("b runs") },
        { name: "c", schedule: when(odd("c")).and(every({ epochs: 3 })), onEpochEnd },
      );
      for (let epochs = 1; epochs < 9; epochs++) host.at("onEpochEnd", { epochs });
      return questions;
    };
    const plain = asked(false, false);
    expect(plain).toContain("a runs");
    for (const observed of [false, true]) expect(asked(true, observed)).toEqual(plain);
  });

  it("leaves a failing predicate to the hook's policy", () => {
    const lines: string[] = [];
    const { at: run, warnings } = testHost({ trace: (line) => lines.push(line) }).register({
      name: "a",
      onFailure: "warn",
      shouldRun: () => {
        throw new Error("no state");
      },
      onEpochEnd,
    });
    run("onEpochEnd");
    expect(lines[0]).toContain("asking it fails: no state");
    expect(warnings[0]).toContain('hook "a" failed in onEpochEnd: no state');
  });

  it("makes the host stop wherever a hook could be asked", () => {
    const { manager } = testHost({ trace: () => {} }).register(...hooks);
    expect(manager.untilDue("onEpochEnd", noCounters, { epochs: 1 }, 10)).toBe(1);
    expect(manager.mayRun("onEpochEnd", noCounters)).toBe(true);
    expect(manager.mayRun("onStart", noCounters)).toBe(false);
  });

  describe("to standard error", () => {
    afterEach(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });

    const printed = (trace?: boolean): string => {
      const written: string[] = [];
      vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
      const manager = new HookManager<{ onEpochEnd: Parameters<NonNullable<TestHook["onEpochEnd"]>>[0] }>({
        events: ["onEpochEnd"],
        ...(trace === undefined ? {} : { trace }),
      });
      manager.register({ name: "b", onEpochEnd });
      manager.run("onEpochEnd", testHost().context);
      return written.join("");
    };

    it("with trace: true", () => {
      expect(printed(true)).toContain("hooks: epochs 0, batches 0: b runs in onEpochEnd");
    });

    it.each(["hooks", "engine,hooks"])("with ESPALIER_DEBUG=%s", (value) => {
      vi.stubEnv("ESPALIER_DEBUG", value);
      expect(printed()).toContain("b runs in onEpochEnd");
    });

    it.each(["", "engine"])("not with ESPALIER_DEBUG=%s", (value) => {
      vi.stubEnv("ESPALIER_DEBUG", value);
      expect(printed()).toBe("");
    });
  });

  it("warnings go to standard error where nobody else is told", () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    const { context } = testHost();
    const manager = new HookManager<{ onEpochEnd: Parameters<NonNullable<TestHook["onEpochEnd"]>>[0] }>({
      events: ["onEpochEnd"],
    });
    manager.register({
      name: "a",
      onFailure: "warn",
      onEpochEnd: () => {
        throw new Error("no");
      },
    });
    manager.run("onEpochEnd", context);
    vi.restoreAllMocks();
    expect(written).toEqual([
      'hook "a" failed in onEpochEnd: no; training goes on (onFailure: "warn"): the 1st so far, said again at the 10th\n',
    ]);
  });
});

describe("plan", () => {
  it("prints the order, when each hook runs, where, and why there", () => {
    const scores = slot("scores");
    const { manager } = testHost().register(
      {
        name: "checkpoint",
        wants: [scores],
        schedule: every({ epochs: 5 }),
        onEpochEnd,
        onStart: onEpochEnd,
      },
      { name: "evaluation", provides: [scores], background: { reads: [] }, onEpochEnd },
      { name: "heartbeat", ranks: "all", priority: 3, onBatchEnd: onEpochEnd },
      { name: "off", after: ["checkpoint"], onBatchEnd: onEpochEnd },
    );
    manager.disable("off");
    expect(manager.plan().text).toBe(
      [
        "1.  heartbeat   at every event  onBatchEnd           on all ranks; priority 3",
        "2.  evaluation  at every event  onEpochEnd           in the background",
        '3.  checkpoint  every 5 epochs  onEpochEnd, onStart  after evaluation (checkpoint wants "scores")',
        "4.  off         at every event  onBatchEnd           disabled; after checkpoint (off is after checkpoint)",
      ].join("\n"),
    );
    expect(manager.plan().edges).toEqual([
      { first: "evaluation", next: "checkpoint", why: 'checkpoint wants "scores"' },
      { first: "checkpoint", next: "off", why: "off is after checkpoint" },
    ]);
  });

  it("says that there are none", () => {
    expect(testHost().manager.plan().text).toBe("no hooks");
  });
});
