import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Stopwatch } from "./entry.ts";
import { testHost } from "./hooks.test-support.ts";

const gathered = (durations: readonly number[]): Stopwatch => {
  const watch = new Stopwatch();
  for (const duration of durations) watch.add(duration);
  return watch;
};

describe("Stopwatch", () => {
  it("has nothing to tell before the first call", () => {
    expect(new Stopwatch().read("a")).toEqual({ hook: "a", count: 0, mean: 0, p99: 0, max: 0, total: 0 });
  });

  it("counts, sums, and finds the mean and the longest", () => {
    const { count, total, mean, max } = gathered([1, 2, 6]).read("a");
    expect({ count, total, mean, max }).toEqual({ count: 3, total: 9, mean: 3, max: 6 });
  });

  it("gives the 99th percentile of the sorted list, to within a tenth above it", () => {
    const durations = fc.array(fc.double({ min: 1e-3, max: 1e7, noNaN: true }), {
      minLength: 1,
      maxLength: 400,
    });
    fc.assert(
      fc.property(durations, (list) => {
        const sorted = list.toSorted((a, b) => a - b);
        const exact = sorted[Math.ceil(list.length * 0.99) - 1] as number;
        const { p99 } = gathered(list).read("a");
        expect(p99).toBeGreaterThanOrEqual(exact * (1 - 1e-12));
        if (exact < 2 ** 17) expect(p99).toBeLessThanOrEqual(exact * 1.1);
        else expect(p99).toBeLessThanOrEqual(Math.max(...list));
      }),
    );
  });

  it("does not cut calls that take many minutes", () => {
    expect(gathered([1, 900_000]).read("a").p99).toBe(900_000);
  });

  it("takes calls that took no time", () => {
    expect(gathered([0, 0, 0]).read("a")).toMatchObject({ count: 3, p99: 0, total: 0 });
  });
});

describe("timings", () => {
  it("are kept a hook, over all its events, by the injected clock", () => {
    const { manager, clock, at } = testHost().register(
      {
        name: "slow",
        onBatchEnd: () => clock.advance(30),
        onEpochEnd: () => clock.advance(10),
      },
      { name: "idle", onStart: () => {} },
    );
    at("onBatchEnd");
    at("onBatchEnd");
    at("onEpochEnd");
    const [slow, idle] = manager.timings();
    expect(slow).toMatchObject({ hook: "slow", count: 3, max: 30, total: 70 });
    expect(slow?.mean).toBeCloseTo(70 / 3);
    expect(idle).toMatchObject({ hook: "idle", count: 0, total: 0 });
  });

  it("count calls that failed and calls that waited", async () => {
    const { manager, clock, at } = testHost().register({
      name: "slow",
      onFailure: "warn",
      onBatchEnd: async () => {
        await Promise.resolve();
        clock.advance(20);
      },
      onEpochEnd: () => {
        clock.advance(5);
        throw new Error("no");
      },
    });
    await at("onBatchEnd");
    at("onEpochEnd");
    expect(manager.timings()[0]).toMatchObject({ count: 2, total: 25 });
  });

  it("do not count hooks that were asked and not due", () => {
    const { manager, at } = testHost().register({ name: "a", shouldRun: () => false, onBatchEnd: () => {} });
    at("onBatchEnd");
    expect(manager.timings()[0]?.count).toBe(0);
  });
});
