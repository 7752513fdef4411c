import { describe, expect, it } from "vitest";
import { every } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import { deferred, failureOf, rejectionOf, type TestHook, testHost } from "./hooks.test-support.ts";
import { compositeHook, PeriodicHook } from "./ready-made.ts";
import { slot } from "./slots.ts";

/** A hook that writes down what happens to it. */
const recorded = (name: string, calls: string[], more: Partial<TestHook> = {}): TestHook => ({
  name,
  onRegister: () => void calls.push(`${name} set up`),
  onUnregister: (reason) => void calls.push(`${name} ${reason}`),
  onBatchEnd: () => void calls.push(`${name} runs`),
  ...more,
});

describe("register", () => {
  it("sets a hook up and lists it in the order of registration", () => {
    const calls: string[] = [];
    const [a, b] = [recorded("a", calls), recorded("b", calls, { priority: 5 })];
    const { manager } = testHost().register(a, b);
    expect(calls).toEqual(["a set up", "b set up"]);
    expect(manager.list()).toEqual([a, b]);
    expect(manager.get("b")).toBe(b);
    expect(manager.get("c")).toBeUndefined();
  });

  it("gives the set-up the host's clock", () => {
    let given: unknown;
    const { clock } = testHost().register({
      name: "a",
      onRegister: (host) => {
        given = host.clock;
      },
      onBatchEnd: () => {},
    });
    expect(given).toBe(clock);
  });

  it("holds the first event until asynchronous set-ups are done", async () => {
    const calls: string[] = [];
    const opened = deferred();
    const { at } = testHost().register(
      recorded("a", calls, {
        onRegister: async () => {
          await opened.promise;
          calls.push("a set up");
        },
      }),
    );
    const running = at("onBatchEnd");
    expect(running).toBeInstanceOf(Promise);
    expect(calls).toEqual([]);
    opened.resolve();
    await running;
    expect(calls).toEqual(["a set up", "a runs"]);
    expect(at("onBatchEnd")).toBeUndefined();
  });

  it("holds events until the last of several set-ups is done", async () => {
    const gates = [deferred(), deferred()];
    const host = testHost();
    for (const [i, gate] of gates.entries())
      host.register({ name: `${i}`, onRegister: () => gate.promise, onBatchEnd: () => ({ [i]: true }) });
    gates[0]?.resolve();
    await new Promise((done) => setImmediate(done));
    const running = host.at("onBatchEnd");
    expect(running).toBeInstanceOf(Promise);
    gates[1]?.resolve();
    expect(await running).toEqual({ 0: true, 1: true });
  });

  it("refuses a second hook of the same name", () => {
    const { manager } = testHost().register({ name: "a", onBatchEnd: () => {} });
    const error = failureOf(() => manager.register({ name: "a", onEpochEnd: () => {} }));
    expect(error.code).toBe("HOOK_NAME_TAKEN");
    expect(error.message).toContain('two hooks named "a"');
    expect(error.fix).toContain("another name");
    expect(manager.list()).toHaveLength(1);
  });

  it("frees the name of a hook that has gone", () => {
    const { manager } = testHost().register({ name: "a", onBatchEnd: () => {} });
    manager.unregister("a");
    manager.register({ name: "a", onBatchEnd: () => {} });
    manager.clear();
    manager.register({ name: "a", onBatchEnd: () => {} });
    expect(manager.list()).toHaveLength(1);
  });

  it("does not keep a hook whose set-up fails", () => {
    const calls: string[] = [];
    const { manager, at } = testHost();
    const cause = new Error("the port is taken");
    const error = failureOf(() =>
      manager.register(
        recorded("server", calls, {
          onRegister: () => {
            throw cause;
          },
        }),
      ),
    );
    expect(error.message).toContain('hook "server" failed in onRegister: the port is taken');
    expect(error.cause).toBe(cause);
    expect(manager.list()).toEqual([]);
    at("onBatchEnd");
    expect(calls).toEqual([]);
    manager.register(recorded("server", calls));
    expect(calls).toEqual(["server set up"]);
  });

  it("raises the failure of an asynchronous set-up at the next event, once", async () => {
    const { at } = testHost().register({
      name: "server",
      onRegister: () => Promise.reject(new Error("the port is taken")),
      onBatchEnd: () => {},
    });
    const error = await rejectionOf(at("onBatchEnd"));
    expect(error.message).toContain('hook "server" failed in onRegister: the port is taken');
    expect(at("onBatchEnd")).toBeUndefined();
  });
});

describe("unregister", () => {
  it("takes the hook itself or its name", () => {
    const a: TestHook = { name: "a", onBatchEnd: () => {} };
    const { manager } = testHost().register(a, { name: "b", onBatchEnd: () => {} });
    expect(manager.unregister(a)).toBe(true);
    expect(manager.unregister("b")).toBe(true);
    expect(manager.list()).toEqual([]);
  });

  it("returns false for an unknown hook", () => {
    const { manager } = testHost();
    expect(manager.unregister("a")).toBe(false);
    expect(manager.unregister({ name: "a", onBatchEnd: () => {} })).toBe(false);
    expect(manager.enable("a")).toBe(false);
    expect(manager.disable("a")).toBe(false);
  });

  it("refuses to take away what another hook needs", () => {
    const scores = slot<number>("scores");
    const { manager } = testHost().register(
      { name: "evaluation", provides: [scores], onEpochEnd: () => {} },
      { name: "checkpoint", needs: [scores], onEpochEnd: () => {} },
    );
    const error = failureOf(() => manager.unregister("evaluation"));
    expect(error.code).toBe("HOOK_NEEDED");
    expect(error.message).toContain(
      '"evaluation" cannot be unregistered: "checkpoint" needs its slot "scores"',
    );
    expect(error.fix).toContain('unregister "checkpoint" first');
    expect(manager.list()).toHaveLength(2);
    expect([manager.unregister("checkpoint"), manager.unregister("evaluation")]).toEqual([true, true]);
  });

  it("lets go of what others only want", () => {
    const scores = slot<number>("scores");
    const { manager } = testHost().register(
      { name: "evaluation", provides: [scores], onEpochEnd: () => {} },
      { name: "metrics", wants: [scores], onEpochEnd: () => {} },
    );
    expect(manager.unregister("evaluation")).toBe(true);
  });

  it("does not refuse because another name looks alike", () => {
    const { manager, at, warnings } = testHost().register(
      { name: "eval1", onBatchEnd: () => {} },
      { name: "eval2", onBatchEnd: () => {} },
      { name: "report", after: ["eval1"], onBatchEnd: () => {} },
    );
    at("onBatchEnd");
    expect(manager.unregister("eval1")).toBe(true);
    expect(warnings.join()).toContain('did you mean "eval2"?');
  });
});

describe("replace", () => {
  it("takes the place of the old hook and cleans that up", () => {
    const calls: string[] = [];
    const { manager, at } = testHost().register(recorded("a", calls), recorded("b", calls));
    manager.replace("a", recorded("c", calls));
    calls.push("--");
    at("onBatchEnd");
    expect(calls).toEqual(["a set up", "b set up", "a replaced", "c set up", "--", "c runs", "b runs"]);
    expect(manager.list().map(({ name }) => name)).toEqual(["c", "b"]);
  });

  it("may keep the name", () => {
    const calls: string[] = [];
    const { manager } = testHost().register(recorded("a", calls));
    const next = recorded("a", calls);
    manager.replace("a", next);
    expect(manager.list()).toEqual([next]);
    expect(manager.unregister("a")).toBe(true);
  });

  it("says which hooks there are when the old one is unknown", () => {
    const { manager } = testHost().register({ name: "a", onBatchEnd: () => {} });
    const error = failureOf(() => manager.replace("b", { name: "c", onBatchEnd: () => {} }));
    expect(error.code).toBe("HOOK_UNKNOWN");
    expect(error.message).toContain('no hook "b" to replace');
    expect(error.fix).toContain("name one of a");
  });

  it("changes nothing when the new hook is refused", () => {
    const calls: string[] = [];
    const scores = slot<number>("scores");
    const { manager, at } = testHost().register(
      recorded("evaluation", calls, { provides: [scores] }),
      recorded("checkpoint", calls, { needs: [scores] }),
    );
    at("onBatchEnd");
    calls.length = 0;
    const error = failureOf(() => manager.replace("evaluation", recorded("other", calls)));
    expect(error.code).toBe("SLOT_NOT_PROVIDED");
    at("onBatchEnd");
    expect(calls).toEqual(["evaluation runs", "checkpoint runs"]);
    manager.replace("evaluation", recorded("other", calls, { provides: [scores] }));
    expect(manager.plan().order).toEqual(["other", "checkpoint"]);
  });
});

describe("enable and disable", () => {
  it("keep a hook from running and let it run again", () => {
    const calls: string[] = [];
    const { manager, at } = testHost().register(recorded("a", calls));
    expect(manager.disable("a")).toBe(true);
    at("onBatchEnd");
    expect(manager.enable("a")).toBe(true);
    at("onBatchEnd");
    expect(calls).toEqual(["a set up", "a runs"]);
  });

  it("work on a composite as a whole and on its children alone", () => {
    const calls: string[] = [];
    const inner = compositeHook({ name: "inner", hooks: [recorded("b", calls), recorded("c", calls)] });
    const { manager, at } = testHost().register(
      compositeHook({ name: "outer", hooks: [recorded("a", calls), inner] }),
    );
    const ran = (): string[] => {
      calls.length = 0;
      at("onBatchEnd");
      return calls.map((call) => call.slice(0, 1));
    };
    manager.disable("outer");
    expect(ran()).toEqual([]);
    manager.enable("inner");
    expect(ran()).toEqual(["b", "c"]);
    manager.disable("b");
    expect(ran()).toEqual(["c"]);
    manager.enable("outer");
    expect(ran()).toEqual(["a", "b", "c"]);
  });
});

describe("while an event runs", () => {
  /** Runs an event in which the first hook makes a change, then another event; gives who ran in each. */
  function changing(change: (host: ReturnType<typeof testHost>, calls: string[]) => void): string[][] {
    const calls: string[] = [];
    const host = testHost();
    let changed = false;
    host.register(
      {
        name: "first",
        onBatchEnd: () => {
          if (!changed) change(host, calls);
          changed = true;
        },
      },
      recorded("second", calls),
    );
    calls.length = 0;
    host.at("onBatchEnd");
    const then = calls.splice(0);
    host.at("onBatchEnd");
    return [then, calls];
  }

  it("a hook that comes runs from the next event on", () => {
    expect(changing(({ manager }, calls) => manager.register(recorded("new", calls)))).toEqual([
      ["new set up", "second runs"],
      ["second runs", "new runs"],
    ]);
  });

  it("a hook that goes runs to the end of the event, and is cleaned up after it", () => {
    expect(changing(({ manager }) => manager.unregister("second"))).toEqual([
      ["second runs", "second unregistered"],
      [],
    ]);
  });

  it("a hook that is replaced runs for the last time", () => {
    expect(changing(({ manager }, calls) => manager.replace("second", recorded("new", calls)))).toEqual([
      ["new set up", "second runs", "second replaced"],
      ["new runs"],
    ]);
  });

  it("a hook that is disabled runs for the last time", () => {
    expect(changing(({ manager }) => manager.disable("second"))).toEqual([["second runs"], []]);
  });

  it("a hook that is enabled runs from the next event on", () => {
    const calls: string[] = [];
    const host = testHost();
    host.register(
      { name: "first", onBatchEnd: () => void host.manager.enable("second") },
      { name: "second", onBatchEnd: () => void calls.push("second") },
    );
    host.manager.disable("second");
    host.at("onBatchEnd");
    expect(calls).toEqual([]);
    host.at("onBatchEnd");
    expect(calls).toEqual(["second"]);
  });

  it("all may go", () => {
    expect(changing(({ manager }) => manager.clear())).toEqual([["second runs", "second cleared"], []]);
  });

  it("a hook may unregister itself", () => {
    const calls: string[] = [];
    const host = testHost();
    host.register(
      recorded("once", calls, {
        onBatchEnd: () => {
          calls.push("once runs");
          host.manager.unregister("once");
          calls.push("once goes on");
        },
      }),
    );
    host.at("onBatchEnd");
    host.at("onBatchEnd");
    expect(calls).toEqual(["once set up", "once runs", "once goes on", "once unregistered"]);
  });

  it("an asynchronous event counts as running until it ends", async () => {
    const calls: string[] = [];
    const host = testHost();
    const gate = deferred();
    host.register({ name: "first", onBatchEnd: () => gate.promise }, recorded("second", calls));
    const running = host.at("onBatchEnd");
    host.manager.unregister("second");
    expect(calls).toEqual(["second set up"]);
    gate.resolve();
    await running;
    expect(calls).toEqual(["second set up", "second runs", "second unregistered"]);
  });

  it("a hook that goes is cleaned up even where the event fails", () => {
    const calls: string[] = [];
    const host = testHost();
    host.register(recorded("a", calls), {
      name: "failing",
      onBatchEnd: () => {
        host.manager.unregister("a");
        throw new Error("no");
      },
    });
    expect(() => host.at("onBatchEnd")).toThrow("no");
    expect(calls).toContain("a unregistered");
  });
});

describe("clean-up", () => {
  it("happens exactly once, whatever happens first", async () => {
    const ways: readonly ((host: ReturnType<typeof testHost>, hook: TestHook) => unknown)[] = [
      ({ manager }, hook) => manager.unregister(hook),
      ({ manager }, hook) => manager.list().includes(hook) && manager.replace(hook, recorded("new", [])),
      ({ manager }) => manager.clear(),
      ({ manager }) => manager.close(),
    ];
    for (const first of ways)
      for (const second of ways) {
        const calls: string[] = [];
        const host = testHost();
        const hook = recorded("a", calls);
        host.register(hook);
        await first(host, hook);
        await second(host, hook);
        await host.manager.close();
        expect(calls.slice(1)).toHaveLength(1);
      }
  });

  it("says why", async () => {
    const calls: string[] = [];
    const host = testHost().register(...["a", "b", "c", "d"].map((name) => recorded(name, calls)));
    calls.length = 0;
    host.manager.unregister("a");
    host.manager.replace("b", recorded("e", []));
    await host.manager.close();
    expect(calls).toEqual(["a unregistered", "b replaced", "d closed", "c closed"]);
    expect(host.manager.list().map(({ name }) => name)).toEqual(["e", "c", "d"]);
  });

  it("reaches every hook although one fails", () => {
    const calls: string[] = [];
    const failing = recorded("b", calls, {
      onUnregister: () => {
        throw new Error("cannot close");
      },
    });
    const { manager } = testHost().register(recorded("a", calls), failing, recorded("c", calls));
    calls.length = 0;
    const error = failureOf(() => manager.clear());
    expect(error.message).toContain('hook "b" failed in onUnregister: cannot close');
    expect(calls).toEqual(["c cleared", "a cleared"]);
    expect(manager.list()).toEqual([]);
  });

  it("reaches every hook although one rejects, and close says so", async () => {
    const calls: string[] = [];
    const rejecting = recorded("b", calls, {
      onUnregister: () => Promise.reject(new Error("cannot close")),
    });
    const { manager, warnings } = testHost().register(recorded("a", calls), rejecting, {
      ...rejecting,
      name: "c",
    });
    const error = await rejectionOf(manager.close());
    expect(error.message).toContain("failed in onUnregister: cannot close");
    expect(warnings.join()).toContain("failed in onUnregister: cannot close");
    expect(calls).toContain("a closed");
    await manager.close();
  });

  it("goes by the hook's failure policy", async () => {
    const rejecting = (name: string, onFailure: "warn" | "disable") =>
      recorded(name, [], { onFailure, onUnregister: () => Promise.reject(new Error("cannot close")) });
    const { manager, warnings } = testHost().register(rejecting("a", "warn"), rejecting("b", "disable"));
    await manager.close();
    expect(warnings.join()).toMatch(/hook "b" failed in onUnregister.*hook "a" failed in onUnregister/s);
    expect(manager.failures().map(({ hook, event }) => `${hook} ${event}`)).toEqual([
      "a onUnregister",
      "b onUnregister",
    ]);
  });

  it("within an event surfaces at the next one", () => {
    const host = testHost();
    host.register(
      { name: "first", onBatchEnd: () => void host.manager.unregister("second") },
      {
        name: "second",
        onUnregister: () => {
          throw new Error("cannot close");
        },
        onBatchEnd: () => {},
      },
    );
    expect(() => host.at("onBatchEnd")).not.toThrow();
    expect(() => host.at("onBatchEnd")).toThrow('hook "second" failed in onUnregister: cannot close');
    expect(() => host.at("onBatchEnd")).not.toThrow();
  });

  it("that takes time is waited for by settle and close", async () => {
    const calls: string[] = [];
    const gate = deferred();
    const { manager } = testHost().register(
      recorded("a", calls, {
        onUnregister: async () => {
          await gate.promise;
          calls.push("a closed its file");
        },
      }),
    );
    manager.unregister("a");
    const settled = manager.settle().then(() => calls.push("settled"));
    gate.resolve();
    await settled;
    expect(calls).toEqual(["a set up", "a closed its file", "settled"]);
  });

  it("undoes what was set up of a composite that fails half-way", () => {
    const calls: string[] = [];
    const broken = recorded("b", calls, {
      onRegister: () => {
        throw new Error("no");
      },
    });
    const { manager } = testHost();
    expect(() =>
      manager.register(compositeHook({ name: "all", hooks: [recorded("a", calls), broken] })),
    ).toThrow('hook "b" failed in onRegister: no');
    expect(calls).toEqual(["a set up", "a unregistered"]);
    expect(manager.list()).toEqual([]);
  });
});

describe("a hook as it comes in", () => {
  const register = (hook: unknown) => failureOf(() => testHost().manager.register(hook as TestHook));

  it("may not misspell an event", () => {
    const error = register({ name: "checkpoint", onEpochEnds: () => {} });
    expect(error.code).toBe("HOOK_HANDLER_UNKNOWN");
    expect(error.message).toContain(
      'hook "checkpoint" handles "onEpochEnds", which is no event; did you mean "onEpochEnd"?',
    );
    expect(error.fix).toBe("the events are onStart, onBatchEnd, onEpochEnd");
  });

  it("may not misspell an event in a class either", () => {
    class Mine {
      readonly name = "mine";
      onBatchEnd(): void {}
      onEpochEdn(): void {}
    }
    expect(register(new Mine()).message).toContain('did you mean "onEpochEnd"?');
  });

  it.each([
    [{ onBatchEnd: () => {} }, "HOOK_NAMELESS", "has no name"],
    [{ name: "", onBatchEnd: () => {} }, "HOOK_NAMELESS", "has no name"],
    [null, "HOOK_NAMELESS", "has no name"],
    [{ name: "a" }, "HOOK_INVALID", "it handles no event"],
    [{ name: "a", onBatchEnd: undefined }, "HOOK_INVALID", "it handles no event"],
    [{ name: "a", onBatchEnd: 3 }, "HOOK_INVALID", "its onBatchEnd is a number"],
    [{ name: "a", onFailure: "ignore" }, "HOOK_INVALID", 'its onFailure is "ignore"'],
    [{ name: "a", ranks: "none" }, "HOOK_INVALID", 'its ranks is "none"'],
    [{ name: "a", priority: Number.NaN }, "HOOK_INVALID", "its priority is NaN"],
    [{ name: "a", timeBudget: 0 }, "HOOK_INVALID", "its timeBudget is 0"],
    [{ name: "a", schedule: 100 }, "HOOK_INVALID", "its schedule is 100"],
    [{ name: "a", schedule: null }, "HOOK_INVALID", "its schedule is null"],
    [{ name: "a", shouldRun: true }, "HOOK_INVALID", "its shouldRun is true"],
    [{ name: "a", needs: slot("scores") }, "HOOK_INVALID", 'its needs is {"name":"scores"'],
    [{ name: "a", provides: ["scores"] }, "HOOK_INVALID", 'its provides is ["scores"]'],
    [{ name: "a", after: "evaluation" }, "HOOK_INVALID", 'its after is "evaluation"'],
    [{ name: "a", background: {} }, "HOOK_INVALID", "its background is {}"],
    [
      { name: "a", shedule: every({ epochs: 1 }), onBatchEnd: () => {} },
      "HOOK_INVALID",
      'did you mean "schedule"?',
    ],
    [{ name: "a", want: [slot("x")], onBatchEnd: () => {} }, "HOOK_INVALID", 'did you mean "wants"?'],
  ])("is refused: %o", (hook, code, message) => {
    const error = register(hook);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(error.fix).toBeTruthy();
  });

  it("may be of a class that has fields of its own", () => {
    class Mine {
      readonly name = "mine";
      readonly shedule = "not ours to judge";
      runs = 0;
      onBatchEnd(): void {
        this.runs++;
      }
    }
    const mine = new Mine();
    testHost().register(mine).at("onBatchEnd");
    expect(mine.runs).toBe(1);
  });

  it("may have fields that are only named like a setting", () => {
    const hook = { name: "a", runs: 0, stats: [1], onBatchEnd: () => {} };
    expect(() => testHost().register(hook)).not.toThrow();
  });

  it("is not asked for more than its handlers", () => {
    const { at } = testHost().register({
      name: "a",
      onBatchEnd: () => {},
      __proto__: {
        get expensive(): never {
          throw new Error("nobody asked");
        },
      },
    } as TestHook);
    expect(at("onBatchEnd")).toBeUndefined();
  });
});

describe("what is saved", () => {
  it("may be a plain object, which is copied out and filled in place", async () => {
    class StatefulHook extends PeriodicHook {
      state: { runs: number; totals: readonly number[] } = { runs: 0, totals: [] };
      override run(): void {
        this.state.runs++;
        this.state.totals = [...this.state.totals, this.state.runs];
      }
    }
    const [first, second] = [new StatefulHook({ frequency: 1 }), new StatefulHook({ frequency: 1 })];
    const host = testHost().register(first);
    host.at("onBatchEnd", { batches: 1 });
    const saved = (await host.manager.components["hook.StatefulHook"]?.getState()) as StateTree;
    host.at("onBatchEnd", { batches: 2 });
    expect(saved).toEqual({ runs: 1, totals: [1] });
    const held = second.state;
    const resumed = testHost().register(second);
    await resumed.manager.components["hook.StatefulHook"]?.setState(saved);
    expect(second.state).toBe(held);
    resumed.at("onBatchEnd", { batches: 2 });
    expect(second.state).toEqual({ runs: 2, totals: [1, 2] });
    expect(saved).toEqual({ runs: 1, totals: [1] });
  });

  it.each([
    ["a map", new Map(), "plain object"],
    ["what cannot be saved", { seen: new Set() }, "plain object"],
    ["half of a component", { getState: () => 1 }, "getState and setState"],
    ["a frozen object", Object.freeze({ runs: 0 }), "plain object"],
  ])("is refused where it is %s", (_name, state, fix) => {
    const error = failureOf(() => testHost().register({ name: "a", state, onBatchEnd: () => {} } as never));
    expect(error.code).toBe("HOOK_INVALID");
    expect(error.fix).toContain(fix);
  });

  it("are the hooks' states, their schedules' and the shared values, by name", () => {
    const state = { getState: () => 1, setState: () => {} };
    const schedule = { ...every({ epochs: 1 }), state };
    const child: TestHook = { name: "child", state, onBatchEnd: () => {} };
    const { manager } = testHost().register(
      { name: "a", state, onBatchEnd: () => {} },
      { name: "b", schedule, onBatchEnd: () => {} },
      compositeHook({ name: "c", hooks: [child] }),
    );
    expect(Object.keys(manager.components)).toEqual(["slots", "hook.a", "hook.b.schedule", "hook.child"]);
    expect(manager.components["hook.a"]).toBe(state);
    expect(manager.components.slots).toBe(manager.slots);
  });
});
