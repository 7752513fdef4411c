import { describe, expect, it } from "vitest";
import { every } from "../schedule/index.ts";
import { failureOf, type TestEvents, type TestHook, testHost } from "./hooks.test-support.ts";
import { compositeHook, loggingHook } from "./ready-made.ts";
import { slot } from "./slots.ts";

describe("compositeHook", () => {
  it("lets each child keep its schedule", () => {
    const ran: string[] = [];
    const child = (name: string, epochs: number): TestHook => ({
      name,
      schedule: every({ epochs }),
      onEpochEnd: ({ counters }) => void ran.push(`${name} at ${counters.epochs}`),
    });
    const { at } = testHost().register(
      compositeHook({ name: "both", hooks: [child("a", 2), child("b", 3)] }),
    );
    for (let epochs = 1; epochs <= 4; epochs++) at("onEpochEnd", { epochs });
    expect(ran).toEqual(["a at 2", "b at 3", "a at 4"]);
  });

  it("comes and goes as one, and is listed as one", async () => {
    const calls: string[] = [];
    const child = (name: string): TestHook => ({
      name,
      onRegister: () => void calls.push(`${name} set up`),
      onUnregister: (reason) => void calls.push(`${name} ${reason}`),
      onEpochEnd: () => {},
    });
    const both = compositeHook({ name: "both", hooks: [child("a"), child("b")] });
    const { manager } = testHost().register(both);
    expect(manager.list()).toEqual([both]);
    expect(manager.plan().order).toEqual(["a", "b"]);
    expect(manager.unregister("a")).toBe(false);
    expect(manager.unregister(both)).toBe(true);
    await manager.close();
    expect(calls).toEqual(["a set up", "b set up", "b unregistered", "a unregistered"]);
  });

  it("lets children have their own place in the order", () => {
    const scores = slot<number>("scores");
    const onEpochEnd = (): void => {};
    const { manager } = testHost().register(
      compositeHook({
        name: "both",
        hooks: [
          { name: "report", needs: [scores], onEpochEnd },
          { name: "first", priority: 1, onEpochEnd },
        ],
      }),
      { name: "evaluation", provides: [scores], onEpochEnd },
    );
    expect(manager.plan().order).toEqual(["first", "evaluation", "report"]);
  });

  it("refuses to go while others need what a child provides, and names that are taken", () => {
    const scores = slot<number>("scores");
    const onEpochEnd = (): void => {};
    const { manager } = testHost().register(
      compositeHook({ name: "both", hooks: [{ name: "evaluation", provides: [scores], onEpochEnd }] }),
      { name: "report", needs: [scores], onEpochEnd },
    );
    expect(failureOf(() => manager.unregister("both")).message).toContain('"report" needs its slot "scores"');
    for (const name of ["both", "evaluation"])
      expect(failureOf(() => manager.register({ name, onEpochEnd })).code).toBe("HOOK_NAME_TAKEN");
    const twice = compositeHook({
      name: "twice",
      hooks: [
        { name: "a", onEpochEnd },
        { name: "a", onEpochEnd },
      ],
    });
    expect(failureOf(() => manager.register(twice)).code).toBe("HOOK_NAME_TAKEN");
  });

  it("names a child that misspells an event", () => {
    const wrong = { name: "child", onEpochEdn: () => {} } as unknown as TestHook;
    expect(() => testHost().register(compositeHook({ name: "a", hooks: [wrong] }))).toThrow(
      'hook "child" handles "onEpochEdn", which is no event; did you mean "onEpochEnd"?',
    );
  });

  it.each([[[]], [undefined]])("needs hooks: %o", (hooks) => {
    const error = failureOf(() =>
      compositeHook<TestEvents>({ name: "a", hooks: hooks as readonly TestHook[] }),
    );
    expect(error.message).toContain('the composite hook "a" has no hooks');
    expect(error.fix).toContain("hooks: [first, second]");
  });
});

describe("loggingHook", () => {
  it("logs the counters every 100 steps where nothing else is said", () => {
    const { at, logged } = testHost().register(loggingHook());
    for (let batches = 1; batches <= 200; batches++) at("onBatchEnd", { batches });
    expect(logged.map(({ counters }) => counters.batches)).toEqual([100, 200]);
    expect(logged[0]).toMatchObject({
      owner: "logging",
      category: undefined,
      values: { batches: 100, epochs: 0 },
    });
  });

  it("logs what it is told, when and where it is told", async () => {
    const hook = loggingHook<TestEvents>({
      name: "progress",
      schedule: every({ epochs: 2 }),
      values: async ({ counters }) => ({ "progress.epochs": counters.epochs }),
      category: "progress",
    });
    const { at, logged } = testHost().register(hook);
    for (let epochs = 1; epochs <= 4; epochs++) await at("onEpochEnd", { epochs });
    expect(logged.map(({ owner, values, category }) => [owner, values, category])).toEqual([
      ["progress", { "progress.epochs": 2 }, "progress"],
      ["progress", { "progress.epochs": 4 }, "progress"],
    ]);
  });

  it("stays synchronous where its values are", () => {
    const { at } = testHost().register(
      loggingHook<TestEvents>({ on: "onEpochEnd", schedule: every({ steps: 1 }) }),
    );
    expect(at("onEpochEnd", { batches: 1 })).toBeUndefined();
  });
});
