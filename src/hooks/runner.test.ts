import { afterEach, describe, expect, it, vi } from "vitest";
import { EspalierError } from "../core/index.ts";
import { defineSchedule, every } from "../schedule/index.ts";
import { counted, deferred, failureOf, rejectionOf, type TestHook, testHost } from "./hooks.test-support.ts";

const fails = (): never => {
  throw new Error("disk full");
};

describe("run", () => {
  it("returns no promise where every hook is synchronous", () => {
    const { at } = testHost().register(
      { name: "a", onBatchEnd: () => ({ a: 1 }) },
      { name: "b", onBatchEnd: () => ({ b: 2 }) },
    );
    expect(at("onBatchEnd")).toEqual({ a: 1, b: 2 });
  });

  it("returns undefined where nobody has a result", () => {
    const { at } = testHost().register({ name: "a", onBatchEnd: () => "done" });
    expect([at("onBatchEnd"), at("onEpochEnd")]).toEqual([undefined, undefined]);
  });

  it("is synchronous up to the first promise, and in order after it", async () => {
    const calls: string[] = [];
    const gate = deferred();
    const { at } = testHost().register(
      { name: "a", onBatchEnd: () => void calls.push("a") },
      {
        name: "b",
        onBatchEnd: async () => {
          calls.push("b begins");
          await gate.promise;
          calls.push("b ends");
          return { b: 1 };
        },
      },
      { name: "c", onBatchEnd: () => ({ c: calls.push("c") }) },
    );
    const running = at("onBatchEnd");
    expect(running).toBeInstanceOf(Promise);
    expect(calls).toEqual(["a", "b begins"]);
    gate.resolve();
    expect(await running).toEqual({ b: 1, c: 4 });
    expect(calls).toEqual(["a", "b begins", "b ends", "c"]);
  });

  it("waits for whatever has a then", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a promise that is not of this realm
    const thenable = { then: (done: (value: unknown) => void) => done({ a: 1 }) };
    const { at } = testHost().register({ name: "a", onBatchEnd: () => thenable });
    expect(await at("onBatchEnd")).toEqual({ a: 1 });
  });

  it("names an event that does not exist", () => {
    const { manager, context } = testHost();
    const error = failureOf(() => manager.run("onEpochEnds" as "onEpochEnd", context));
    expect(error.code).toBe("EVENT_UNKNOWN");
    expect(error.message).toContain('no event "onEpochEnds"; did you mean "onEpochEnd"?');
    expect(error.fix).toContain("onStart, onBatchEnd, onEpochEnd");
  });

  it("calls handlers as methods of their hook", () => {
    class Counting {
      readonly name = "counting";
      calls = 0;
      shouldRun(): boolean {
        return this.calls < 2;
      }
      onBatchEnd(): void {
        this.calls++;
      }
    }
    const hook = new Counting();
    const { at } = testHost().register(hook);
    for (let i = 0; i < 5; i++) at("onBatchEnd");
    expect(hook.calls).toBe(2);
  });

  it("may be called by a hook, for another event", () => {
    const calls: string[] = [];
    const host = testHost();
    host.register(
      { name: "outer", onEpochEnd: () => void host.manager.run("onBatchEnd", host.context) },
      { name: "inner", onBatchEnd: () => void calls.push("inner") },
      { name: "after", onEpochEnd: () => void calls.push("after") },
    );
    host.at("onEpochEnd");
    expect(calls).toEqual(["inner", "after"]);
  });

  it("gives every hook the host's context, its event, and a log in its own name", () => {
    const seen: unknown[] = [];
    const hook = (name: string): TestHook => ({
      name,
      onBatchEnd(context) {
        seen.push([context.event, context.counters.batches, context.since?.batches, context.rank]);
        context.log({ loss: 1 }, "train");
      },
      onEpochEnd: ({ event, log }) => log({ event }),
    });
    const { at, logged } = testHost().register(hook("a"), hook("b"));
    at("onBatchEnd", { batches: 3 });
    at("onBatchEnd", { batches: 5 });
    at("onEpochEnd");
    expect(seen).toEqual([3, 3, 5, 5].map((batches) => ["onBatchEnd", batches, batches === 3 ? 0 : 3, 0]));
    expect(logged.map(({ owner, category }) => [owner, category])).toEqual([
      ["a", "train"],
      ["b", "train"],
      ["a", "train"],
      ["b", "train"],
      ["a", undefined],
      ["b", undefined],
    ]);
    expect(logged[2]?.counters.batches).toBe(5);
    expect(logged[4]?.values).toEqual({ event: "onEpochEnd" });
  });

  it("takes a context that is frozen", () => {
    const { manager, context } = testHost().register({ name: "a", onBatchEnd: ({ event }) => ({ event }) });
    const frozen = Object.freeze({ ...context, event: "not this one", log: undefined });
    expect(manager.run("onBatchEnd", frozen as never)).toEqual({ event: "onBatchEnd" });
  });

  it("logs nowhere without a logger", () => {
    const { at } = testHost({ logger: undefined as never }).register({
      name: "a",
      onBatchEnd: ({ log }) => log({ a: 1 }),
    });
    expect(() => at("onBatchEnd")).not.toThrow();
  });

  it("lets a hook stop the run more than once", () => {
    const { at, stops } = testHost().register({
      name: "early",
      onBatchEnd: ({ stop }) => {
        stop("loss is low");
        stop("really");
      },
    });
    at("onBatchEnd");
    expect(stops).toEqual(["loss is low", "really"]);
  });
});

describe("results", () => {
  it("that two hooks give under one name are refused, with both named", () => {
    const { at } = testHost().register(
      { name: "a", onEpochEnd: () => ({ loss: 1 }) },
      { name: "b", onEpochEnd: () => ({ loss: 1 }) },
    );
    const error = failureOf(() => at("onEpochEnd"));
    expect(error.code).toBe("HOOK_RESULT_CONFLICT");
    expect(error.message).toContain('"a" and "b" both returned "loss" in onEpochEnd');
    expect(error.fix).toContain("slot");
  });

  it("are refused the same way when hooks are asynchronous", async () => {
    const { at } = testHost().register(
      { name: "a", onEpochEnd: async () => ({ loss: 1 }) },
      { name: "b", onEpochEnd: () => ({ loss: 1 }) },
    );
    expect((await rejectionOf(at("onEpochEnd"))).code).toBe("HOOK_RESULT_CONFLICT");
  });

  it("of other kinds than plain objects are nothing", () => {
    const { at } = testHost().register(
      { name: "a", onEpochEnd: () => [1, 2] },
      { name: "b", onEpochEnd: () => 7 },
      { name: "c", onEpochEnd: () => new Map([["x", 1]]) },
      { name: "d", onEpochEnd: () => null },
    );
    expect(at("onEpochEnd")).toBeUndefined();
  });

  it("of one event do not meet those of the next", () => {
    const { at } = testHost().register({ name: "a", onEpochEnd: () => ({ loss: 1 }) });
    expect([at("onEpochEnd"), at("onEpochEnd")]).toEqual([{ loss: 1 }, { loss: 1 }]);
  });
});

/** The ways in which a hook can fail. */
const failing: readonly [string, Partial<TestHook>][] = [
  ["throws", { onBatchEnd: fails }],
  ["rejects", { onBatchEnd: async () => fails() }],
  ["throws in shouldRun", { shouldRun: fails, onBatchEnd: () => {} }],
  [
    "has a schedule that throws",
    { schedule: { ...every({ batches: 1 }), due: fails }, onBatchEnd: () => {} },
  ],
];

describe("a failure that says what to do", () => {
  it("keeps its fix, and its code in the cause", () => {
    const cause = new EspalierError("DISK_FULL", "the disk is full", { fix: "make room" });
    const { at } = testHost().register({
      name: "writer",
      onBatchEnd: () => {
        throw cause;
      },
    });
    const error = failureOf(() => at("onBatchEnd"));
    expect(error).toMatchObject({ code: "HOOK_FAILED", fix: "make room", cause: { code: "DISK_FULL" } });
    expect(error.message.match(/make room/g)).toHaveLength(1);
  });
});

describe("a predicate that gives a promise", () => {
  it.each([
    ["asked", {}],
    ["asked with a trace", { trace: () => {} }],
  ])("is refused when it is %s", (_how, options) => {
    const onBatchEnd = vi.fn();
    const shouldRun = (async () => false) as unknown as () => boolean;
    const host = testHost(options).register({ name: "slow", shouldRun, onBatchEnd });
    const error = failureOf(() => host.at("onBatchEnd", { batches: 1 }));
    expect(error.message).toContain('the shouldRun of hook "slow" gave a promise');
    expect(error.cause).toMatchObject({ code: "CONDITION_INVALID" });
    expect(onBatchEnd).not.toHaveBeenCalled();
    const { text, runs } = host.manager.explain("slow", "onBatchEnd", { counters: counted() });
    expect([runs, text]).toEqual([false, expect.stringContaining("gave a promise")]);
  });

  it("is refused where somebody observes", () => {
    const host = testHost().register(
      { name: "observer", onRegister: (h) => h.observe({ decided: () => {} }), onStart: () => {} },
      {
        name: "slow",
        shouldRun: (async () => false) as unknown as () => boolean,
        onBatchEnd: () => {},
      },
    );
    expect(failureOf(() => host.at("onBatchEnd", { batches: 1 })).message).toContain("gave a promise");
  });
});

describe.each(failing)("a hook that %s", (_name, hook) => {
  it("stops the run by default, with its name, the event and the cause", async () => {
    const after = vi.fn();
    const { at } = testHost().register({ name: "writer", ...hook }, { name: "after", onBatchEnd: after });
    const error = await rejectionOf((async () => at("onBatchEnd", { batches: 1 }))());
    expect(error.code).toBe("HOOK_FAILED");
    expect(error.message).toContain('hook "writer" failed in onBatchEnd: disk full');
    expect((error.cause as Error).message).toBe("disk full");
    expect(error.fix).toContain('onFailure: "warn"');
    expect(after).not.toHaveBeenCalled();
  });

  it("only warns if it says so, the 1st, 10th, 100th, ... time in an event", async () => {
    const after = vi.fn();
    const { at, warnings } = testHost().register(
      { name: "writer", onFailure: "warn", onEpochEnd: fails, ...hook },
      { name: "after", onBatchEnd: after },
    );
    for (let batches = 1; batches <= 120; batches++) await at("onBatchEnd", { batches });
    expect(after).toHaveBeenCalledTimes(120);
    const said = 'hook "writer" failed in onBatchEnd: disk full; training goes on (onFailure: "warn")';
    expect(warnings).toEqual([
      `${said}: the 1st so far, said again at the 10th`,
      `${said}: the 10th so far, said again at the 100th`,
      `${said}: the 100th so far, said again at the 1000th`,
    ]);
    await at("onEpochEnd", { batches: 120 });
    expect(warnings[3]).toContain('hook "writer" failed in onEpochEnd: disk full');
  });

  it("is disabled if it says so, and can be enabled again", async () => {
    const { at, manager, warnings } = testHost().register({ name: "writer", onFailure: "disable", ...hook });
    for (let batches = 1; batches <= 3; batches++) await at("onBatchEnd", { batches });
    expect(warnings).toEqual([
      'hook "writer" failed in onBatchEnd: disk full; it is disabled (onFailure: "disable")',
    ]);
    expect(manager.explain("writer", "onBatchEnd", { counters: counted() }).text).toContain("it is disabled");
    expect(manager.mayRun("onBatchEnd", counted({ batches: 4 }))).toBe(false);
    manager.enable("writer");
    await at("onBatchEnd", { batches: 4 });
    expect(warnings).toHaveLength(2);
  });

  it("leaves the manager able to run the next event", async () => {
    const ran = vi.fn();
    const { at, manager } = testHost().register(
      { name: "writer", ...hook },
      { name: "other", onEpochEnd: ran, onUnregister: ran },
    );
    await rejectionOf((async () => at("onBatchEnd", { batches: 1 }))());
    at("onEpochEnd");
    manager.unregister("other");
    expect(ran).toHaveBeenCalledTimes(2);
  });
});

describe("a failure that is no Error", () => {
  it("is shown as it is", () => {
    const { at } = testHost().register({
      name: "odd",
      onBatchEnd: () => {
        throw "just text";
      },
    });
    expect(() => at("onBatchEnd")).toThrow('hook "odd" failed in onBatchEnd: just text');
  });
});

describe("ranks", () => {
  it("is the main one by default, or all", () => {
    const hooks: readonly TestHook[] = [
      { name: "main", onBatchEnd: () => ({ main: 1 }) },
      { name: "all", ranks: "all", onBatchEnd: () => ({ all: 1 }) },
    ];
    expect(
      testHost()
        .register(...hooks)
        .at("onBatchEnd"),
    ).toEqual({ main: 1, all: 1 });
    expect(
      testHost({ rank: 2 })
        .register(...hooks)
        .at("onBatchEnd"),
    ).toEqual({ all: 1 });
  });
});

describe("a time budget", () => {
  afterEach(() => void vi.useRealTimers());

  it("that is overrun is said with the figure", () => {
    const { at, clock, warnings } = testHost().register({
      name: "slow",
      timeBudget: 50,
      onBatchEnd: ({ counters }) => clock.advance(counters.batches * 40),
    });
    at("onBatchEnd", { batches: 1 });
    expect(warnings).toEqual([]);
    at("onBatchEnd", { batches: 2 });
    expect(warnings).toEqual([
      'hook "slow" in onBatchEnd took 80.0 ms, more than its time budget of 50 ms; run it less often, in the background, or raise timeBudget',
    ]);
  });

  it("that is met exactly is kept", () => {
    const { at, clock, warnings } = testHost().register({
      name: "slow",
      timeBudget: 50,
      onBatchEnd: () => clock.advance(50),
    });
    at("onBatchEnd");
    expect(warnings).toEqual([]);
  });

  it("is watched while an asynchronous hook hangs", async () => {
    vi.useFakeTimers();
    const gate = deferred();
    const { at, warnings } = testHost().register({
      name: "hanging",
      timeBudget: 50,
      onEpochEnd: () => gate.promise,
    });
    const running = at("onEpochEnd");
    await vi.advanceTimersByTimeAsync(49);
    expect(warnings).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(warnings).toEqual([
      'hook "hanging" in onEpochEnd is still running after its time budget of 50 ms; run it less often, in the background, or raise timeBudget',
    ]);
    gate.resolve();
    await running;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves no timer behind when a hook is done or fails", async () => {
    vi.useFakeTimers();
    const { at } = testHost().register(
      { name: "quick", timeBudget: 50, onEpochEnd: async () => {} },
      { name: "failing", timeBudget: 50, onFailure: "warn", onEpochEnd: async () => fails() },
    );
    await at("onEpochEnd");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("runNow", () => {
  it("calls a hook whatever its schedule and predicate say, in the first of these events that it handles", async () => {
    const calls: string[] = [];
    const host = testHost().register({
      name: "a",
      schedule: every({ epochs: 100 }),
      shouldRun: () => false,
      onEpochEnd: ({ event, counters }) => void calls.push(`${event} ${counters.batches}`),
    });
    host.at("onBatchEnd", { batches: 7 });
    expect(calls).toEqual([]);
    expect(await host.manager.runNow("a", ["onBatchEnd", "onEpochEnd"], host.context)).toBe(true);
    expect(calls).toEqual(["onEpochEnd 7"]);
    expect(host.manager.timings()[0]?.count).toBe(1);
  });

  it("calls none that is disabled, handles other events, runs on other ranks or is not there", async () => {
    const called = vi.fn();
    const host = testHost({ rank: 1 }).register(
      { name: "main", onBatchEnd: called },
      { name: "other", ranks: "all", onStart: called },
      { name: "off", ranks: "all", onBatchEnd: called },
    );
    host.manager.disable("off");
    for (const name of ["main", "other", "off", "nobody"])
      expect(await host.manager.runNow(name, ["onBatchEnd"], host.context)).toBe(false);
    expect(called).not.toHaveBeenCalled();
  });

  it("treats a failure as the hook says", async () => {
    const host = testHost().register(
      { name: "stops", onBatchEnd: fails },
      { name: "warns", onFailure: "warn", onBatchEnd: fails },
    );
    const error = await rejectionOf(host.manager.runNow("stops", ["onBatchEnd"], host.context));
    expect(error.message).toContain('hook "stops" failed in onBatchEnd: disk full');
    expect(await host.manager.runNow("warns", ["onBatchEnd"], host.context)).toBe(true);
    expect(host.warnings).toEqual([expect.stringContaining("disk full")]);
  });
});

describe("refresh", () => {
  it("asks schedules again that waited for what is no longer so", () => {
    let due: number | undefined;
    const calls: number[] = [];
    const { manager, at } = testHost().register({
      name: "a",
      schedule: defineSchedule({
        due: ({ counters }) => counters.batches === due,
        nextDue: () => (due === undefined ? [] : [{ unit: "batches", at: due }]),
        describe: () => "when it is told",
      }),
      onBatchEnd: ({ counters }) => void calls.push(counters.batches),
    });
    at("onBatchEnd", { batches: 1 });
    due = 3;
    const adds = { batches: 1 };
    expect(manager.untilDue("onBatchEnd", counted({ batches: 1 }), adds, 10)).toBe(11);
    manager.refresh();
    expect(manager.untilDue("onBatchEnd", counted({ batches: 1 }), adds, 10)).toBe(2);
    for (const batches of [2, 3, 4]) at("onBatchEnd", { batches });
    expect(calls).toEqual([3]);
  });
});
