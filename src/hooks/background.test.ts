import { describe, expect, it } from "vitest";
import type { Counters } from "../schedule/index.ts";
import type { HookContext, HostContext } from "./hook.ts";
import { counted, deferred, rejectionOf, type TestHook, testHost } from "./hooks.test-support.ts";
import { slot } from "./slots.ts";

/** A hook in the background whose calls end when told. */
function slow(more: Partial<TestHook> = {}): {
  readonly hook: TestHook;
  readonly calls: {
    readonly context: HookContext;
    readonly end: () => void;
    readonly fail: (e: unknown) => void;
  }[];
} {
  const calls: ReturnType<typeof slow>["calls"] = [];
  const hook: TestHook = {
    name: "upload",
    background: { reads: ["params"] },
    onEpochEnd: (context) => {
      const { promise, resolve, reject } = deferred();
      calls.push({ context, end: resolve, fail: reject });
      return promise;
    },
    ...more,
  };
  return { hook, calls };
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

describe("a hook in the background", () => {
  it("does not hold the event", async () => {
    const { hook, calls } = slow();
    const { at, manager } = testHost().register(hook);
    expect(at("onEpochEnd", { epochs: 1 })).toBeUndefined();
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]?.end();
    await manager.settle();
  });

  it("sees the counters of the time it was started, wherever the run has got to", async () => {
    const { hook, calls } = slow();
    const { at, manager, logged } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    at("onBatchEnd", { epochs: 1, batches: 9 });
    const { context, end } = calls[0] as (typeof calls)[0];
    expect([context.event, context.counters.epochs, context.counters.batches]).toEqual(["onEpochEnd", 1, 0]);
    context.log({ uploaded: 1 });
    expect(logged[0]?.counters).toEqual(counted({ epochs: 1 }));
    end();
    await manager.settle();
  });

  it("gets what the host froze of what it reads", async () => {
    const asked: unknown[] = [];
    const { hook, calls } = slow();
    const { manager, context: base } = testHost();
    manager.register(hook);
    let params = 1;
    const context = {
      ...base,
      counters: counted({ epochs: 1 }),
      get params() {
        return params;
      },
      freeze(reads: readonly string[]) {
        asked.push(reads);
        return { counters: counted({ epochs: 1 }), params };
      },
    };
    manager.run("onEpochEnd", context as unknown as HostContext);
    params = 2;
    await turn();
    expect(asked).toEqual([["params"]]);
    expect(calls[0]?.context).toHaveProperty("params", 1);
    calls[0]?.end();
    await manager.close();
  });

  it("waits for a host that takes time to freeze", async () => {
    const { hook, calls } = slow();
    const { manager, context } = testHost().register(hook);
    const frozen = deferred<object>();
    const running = manager.run("onEpochEnd", { ...context, freeze: () => frozen.promise });
    expect(running).toBeInstanceOf(Promise);
    frozen.resolve({ counters: counted({ epochs: 5 }) });
    await running;
    await turn();
    expect(calls[0]?.context.counters.epochs).toBe(5);
    calls[0]?.end();
    await manager.close();
  });

  it("makes one call at a time: the next waits for the one before", async () => {
    const { hook, calls } = slow();
    const { at, manager } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    const second = at("onEpochEnd", { epochs: 2 });
    expect(second).toBeInstanceOf(Promise);
    await turn();
    expect(calls).toHaveLength(1);
    calls[0]?.end();
    await second;
    await turn();
    expect(calls.map(({ context }) => context.counters.epochs)).toEqual([1, 2]);
    calls[1]?.end();
    await manager.settle();
  });

  it("is asked at once whether it runs", () => {
    const asked: Counters[] = [];
    const { hook, calls } = slow({
      shouldRun: ({ counters }) => {
        asked.push(counters);
        return false;
      },
    });
    testHost().register(hook).at("onEpochEnd", { epochs: 1 });
    expect(asked).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it("gives no result", async () => {
    const { at, manager } = testHost().register({
      name: "a",
      background: { reads: [] },
      onEpochEnd: () => ({ a: 1 }),
    });
    expect(at("onEpochEnd")).toBeUndefined();
    await manager.settle();
    expect(manager.timings()[0]?.count).toBe(1);
  });

  it("surfaces its failure at the next event, whichever it is", async () => {
    const { hook, calls } = slow();
    const { at } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    calls[0]?.fail(new Error("connection lost"));
    await turn();
    expect(() => at("onBatchEnd")).toThrow('hook "upload" failed in onEpochEnd: connection lost');
    expect(() => at("onBatchEnd")).not.toThrow();
  });

  it("surfaces its failure in settle where no event comes", async () => {
    const { hook, calls } = slow();
    const { at, manager } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    calls[0]?.fail(new Error("connection lost"));
    expect((await rejectionOf(manager.settle())).message).toContain("connection lost");
    await manager.settle();
  });

  it("says all failures in the end, not only the first", async () => {
    const failing = (name: string): TestHook => ({
      name,
      background: { reads: [] },
      onEpochEnd: () => Promise.reject(new Error(`${name} lost`)),
    });
    const { at, manager, warnings } = testHost().register(failing("a"), failing("b"));
    at("onEpochEnd");
    expect((await rejectionOf(manager.close())).message).toContain("a lost");
    expect(warnings.join()).toContain('hook "b" failed in onEpochEnd: b lost');
  });

  it("has the failure policies too", async () => {
    const { hook, calls } = slow({ onFailure: "disable" });
    const { at, manager, warnings } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    calls[0]?.fail(new Error("connection lost"));
    await manager.settle();
    expect(warnings.join()).toContain("it is disabled");
    at("onEpochEnd", { epochs: 2 });
    await turn();
    expect(calls).toHaveLength(1);
  });

  it("is joined by close, which cleans it up afterwards", async () => {
    const order: string[] = [];
    const { hook, calls } = slow({ onUnregister: (reason) => void order.push(reason) });
    const { at, manager } = testHost().register(hook);
    at("onEpochEnd", { epochs: 1 });
    await turn();
    const closed = manager.close().then(() => order.push("done"));
    await turn();
    expect(order).toEqual([]);
    calls[0]?.end();
    await closed;
    expect(order).toEqual(["closed", "done"]);
  });

  it("that is unregistered meanwhile is cleaned up when its call ends, and holds nobody", async () => {
    const order: string[] = [];
    const { hook, calls } = slow({ onUnregister: (reason) => void order.push(reason) });
    const { at, manager } = testHost().register(hook, { name: "other", onBatchEnd: () => ({ other: 1 }) });
    at("onEpochEnd", { epochs: 1 });
    await turn();
    manager.unregister("upload");
    expect(at("onBatchEnd", { epochs: 1, batches: 1 })).toEqual({ other: 1 });
    expect(order).toEqual([]);
    calls[0]?.end();
    await manager.settle();
    expect(order).toEqual(["unregistered"]);
  });

  it("may provide a slot, which others see when it is there", async () => {
    const uri = slot<string>("uri");
    const gate = deferred();
    const seen: (string | undefined)[] = [];
    const { at, manager } = testHost().register(
      {
        name: "upload",
        background: { reads: [] },
        provides: [uri],
        onEpochEnd: async ({ slots }) => {
          await gate.promise;
          slots.set(uri, "store/1");
        },
      },
      { name: "reader", wants: [uri], onBatchEnd: ({ slots }) => void seen.push(slots.get(uri)) },
    );
    at("onEpochEnd");
    at("onBatchEnd");
    gate.resolve();
    await manager.settle();
    at("onBatchEnd");
    expect(seen).toEqual([undefined, "store/1"]);
  });
});
