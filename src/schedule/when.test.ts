import { describe, expect, it } from "vitest";
import { counted } from "./moments.test-support.ts";
import { always, never, when } from "./periods.ts";
import type { Moment } from "./schedule.ts";

const counters = counted({ updates: 5 });

describe("when", () => {
  it("asks its condition, with the whole context", () => {
    const schedule = when((context: Moment & { readonly rank: number }) => context.rank === 0);
    expect(schedule.due({ counters, rank: 0 })).toBe(true);
    expect(schedule.due({ counters, rank: 1 })).toBe(false);
  });

  it("cannot know its next time", () => {
    const schedule = when(() => true);
    expect(schedule.nextDue(counters)).toBeUndefined();
    expect(schedule.not().nextDue(counters)).toBeUndefined();
  });

  it("refuses what is neither true nor false, promises above all", () => {
    expect(() => when((async () => true) as never, "when late").due({ counters })).toThrow(
      /when late: the condition gave a promise, which is not true or false/,
    );
    expect(() => when((() => 3) as never).due({ counters })).toThrow(/the condition gave 3/);
    expect(() => when(true as never)).toThrow(/when: true is not a function/);
  });

  it("is named by its words, or by its condition", () => {
    const lossIsLow = () => true;
    expect(when(lossIsLow).describe()).toBe("when lossIsLow");
    expect(when(() => true).describe()).toBe("when a condition holds");
    expect(when(() => true, "on Mondays").describe()).toBe("on Mondays");
  });
});

describe("never and always", () => {
  it("are never and always due, and know it", () => {
    expect(never().due({ counters })).toBe(false);
    expect(never().nextDue(counters)).toEqual([]);
    expect(always().due({ counters })).toBe(true);
    expect(
      always()
        .nextDue(counters)
        ?.every(({ unit, at }) => (counters[unit] ?? 0) >= at),
    ).toBe(true);
  });

  it("are each other's opposite", () => {
    expect(never().not().due({ counters })).toBe(true);
    expect(never().not().nextDue(counters)).toEqual(always().nextDue(counters));
    expect(always().not().due({ counters })).toBe(false);
    expect(always().not().nextDue(counters)).toEqual([]);
  });

  it("say it in words", () => {
    expect(never().or(always()).describe()).toBe("never or always");
  });
});
