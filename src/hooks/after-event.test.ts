import { describe, expect, it } from "vitest";
import { deferred, rejectionOf, type TestHook, testHost } from "./hooks.test-support.ts";
import { slot } from "./slots.ts";

describe("afterEvent", () => {
  it("does its work when all hooks of the event have run, in the order in which it was asked for", async () => {
    const order: string[] = [];
    const hook = (name: string, more: Partial<TestHook> = {}): TestHook => ({
      name,
      onEpochEnd: ({ afterEvent }) => {
        order.push(name);
        afterEvent(() => {
          order.push(`after ${name}`);
          afterEvent(() => order.push(`at last ${name}`));
        });
      },
      ...more,
    });
    const slow: TestHook = {
      name: "slow",
      onEpochEnd: async () => {
        await Promise.resolve();
        order.push("slow");
      },
    };
    const host = testHost().register(hook("a"), hook("b"), slow);
    await host.at("onEpochEnd");
    expect(order).toEqual(["a", "b", "slow", "after a", "after b", "at last a", "at last b"]);
    order.length = 0;
    await host.at("onEpochEnd");
    expect(order).toHaveLength(7);
  });

  it("holds the host, fails as the hook does, and is forgotten where a handler fails", async () => {
    const gate = deferred();
    let done = false;
    const waiting: TestHook = {
      name: "waiting",
      onBatchEnd: ({ afterEvent }) =>
        afterEvent(async () => {
          await gate.promise;
          done = true;
        }),
    };
    const host = testHost().register(waiting);
    const event = host.at("onBatchEnd");
    expect(done).toBe(false);
    gate.resolve();
    await event;
    expect(done).toBe(true);

    for (const onFailure of ["stop", "warn", "disable"] as const) {
      let calls = 0;
      const failing: TestHook = {
        name: "failing",
        onFailure,
        onBatchEnd: ({ afterEvent }) => {
          calls++;
          afterEvent(() => {
            throw new Error("too late");
          });
        },
      };
      const other = testHost().register(failing);
      const result = other.at("onBatchEnd");
      if (onFailure === "stop")
        expect(String(await rejectionOf(result))).toMatch(/"failing" failed in onBatchEnd: too late/);
      else await result;
      await Promise.resolve(other.at("onBatchEnd")).catch(() => {});
      expect(calls).toBe(onFailure === "disable" ? 1 : 2);
      expect(other.warnings).toHaveLength(onFailure === "stop" ? 0 : 1);
    }

    let late = 0;
    const asks: TestHook = { name: "asks", onBatchEnd: ({ afterEvent }) => afterEvent(() => late++) };
    let fails = true;
    const breaks: TestHook = {
      name: "breaks",
      onBatchEnd: () => {
        if (fails) throw new Error("no");
      },
    };
    const third = testHost().register(asks, breaks);
    expect(() => third.at("onBatchEnd")).toThrow(/no/);
    fails = false;
    await third.at("onBatchEnd");
    expect(late).toBe(1);
  });

  it("gives a promise only where it was asked for", () => {
    const host = testHost().register({ name: "plain", onBatchEnd: () => {} });
    expect(host.at("onBatchEnd")).toBeUndefined();
  });
});

describe("inBackground", () => {
  const working = (work: Promise<unknown>, more: Partial<TestHook> = {}): TestHook => ({
    name: "working",
    onBatchEnd: ({ inBackground }) => inBackground(work),
    ...more,
  });

  it("does not hold the host; its failure surfaces at the next event in the hook's name", async () => {
    const { promise, reject } = deferred();
    const host = testHost().register(working(promise), { name: "other", onEpochEnd: () => {} });
    expect(host.at("onBatchEnd")).toBeUndefined();
    reject(new Error("disk full"));
    await promise.catch(() => {});
    await Promise.resolve();
    expect(() => host.at("onEpochEnd")).toThrow(/hook "working" failed in onBatchEnd: disk full/);
    await host.manager.settle();
  });

  it("is waited for at the end, before the hook is cleaned up", async () => {
    const { promise, resolve } = deferred();
    const order: string[] = [];
    const work = promise.then(() => order.push("done"));
    const host = testHost().register(working(work, { onUnregister: () => void order.push("cleaned up") }));
    host.at("onBatchEnd");
    const closing = host.manager.close();
    resolve();
    await closing;
    expect(order).toEqual(["done", "cleaned up"]);
  });

  it("respects onFailure", async () => {
    const host = testHost().register(working(Promise.reject(new Error("no")), { onFailure: "warn" }));
    host.at("onBatchEnd");
    await host.manager.settle();
    expect(host.warnings).toEqual([
      expect.stringMatching(/"working" failed in onBatchEnd: no; training goes on/),
    ]);
  });
});

describe("a hook's children", () => {
  it("may use the slots that it declares", () => {
    const [shared, given] = [slot<number>("shared"), slot<number>("given")];
    const child: TestHook = {
      name: "child",
      onStart: ({ slots }) => slots.set(shared, (slots.get(given) ?? 0) + 1),
    };
    const host = testHost().register({
      name: "parent",
      provides: [shared],
      wants: [given],
      children: [child],
    });
    host.at("onStart");
    expect(host.manager.slots.get(shared)).toBe(1);
  });
});

describe("onRegister", () => {
  it("may tell what does not stop the run", () => {
    const host = testHost().register({
      name: "careful",
      onRegister: ({ warn }) => warn("no network"),
      onStart: () => {},
    });
    expect(host.warnings).toEqual(["no network"]);
  });
});
