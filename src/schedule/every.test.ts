import { describe, expect, it } from "vitest";
import { counted, moment, range, timesDue } from "./moments.test-support.ts";
import { every, everySteps } from "./points.ts";

describe("every", () => {
  it("is due at multiples, and not at 0", () => {
    expect(timesDue(every({ updates: 10 }), "updates", range(0, 35), -1)).toEqual([10, 20, 30]);
    expect(every({ updates: 10 }).due({ counters: counted({}) })).toBe(false);
    expect(timesDue(every({ epochs: 1 }), "epochs", range(1, 3))).toEqual([1, 2, 3]);
  });

  it("begins at `from` and ends at `until`, both included", () => {
    const schedule = every({ updates: 10, from: 5, until: 25 });
    expect(timesDue(schedule, "updates", range(1, 60))).toEqual([5, 15, 25]);
    expect(timesDue(every({ updates: 10, from: 5, until: 24 }), "updates", range(1, 60))).toEqual([5, 15]);
    expect(timesDue(every({ updates: 10, until: 20 }), "updates", range(1, 60))).toEqual([10, 20]);
  });

  it("is due at the start of a run only from 0 on, and only where the start is not already past", () => {
    const schedule = every({ updates: 10, from: 0 });
    expect(schedule.due({ counters: counted({}) })).toBe(true);
    expect(schedule.due(moment({}, {}))).toBe(false);
    expect(schedule.due(moment({}, { updates: 1 }))).toBe(false);
  });

  it("is due once for a jump over several times", () => {
    const jumps = [999, 1000, 1001, 5500, 5999, 6000];
    expect(timesDue(every({ samples: 1000 }), "samples", jumps)).toEqual([1000, 5500, 6000]);
    expect(timesDue(every({ samples: 10, until: 30 }), "samples", [100, 200])).toEqual([100]);
    expect(timesDue(every({ samples: 10, until: 30 }), "samples", [35, 100])).toEqual([35]);
  });

  it("takes a moment without history for one step after the one before", () => {
    const schedule = every({ samples: 100 });
    expect(schedule.due({ counters: counted({ samples: 200 }) })).toBe(true);
    expect(schedule.due({ counters: counted({ samples: 201 }) })).toBe(false);
    expect(schedule.due({ counters: counted({ samples: 200 }), since: undefined })).toBe(true);
  });

  it("counts fractions of seconds", () => {
    const schedule = every({ seconds: 0.1 });
    const tenths = range(1, 100).map((n) => n * 0.1);
    // Each of these is a time of its own, however the numbers round.
    expect(timesDue(schedule, "seconds", tenths)).toEqual(tenths);
    expect(schedule.due(moment({ seconds: 0.3 }, { seconds: 0.39 }))).toBe(true);
    expect(schedule.due(moment({ seconds: 0.31 }, { seconds: 0.39 }))).toBe(false);
  });

  it("understands counters of the host's own", () => {
    expect(timesDue(every({ episodes: 3 }), "episodes", range(1, 7))).toEqual([3, 6]);
  });

  it("knows its next time", () => {
    const schedule = every({ updates: 10, from: 5, until: 25 });
    const next = (updates: number) => schedule.nextDue(counted({ updates }));
    expect(next(0)).toEqual([{ unit: "updates", at: 5 }]);
    expect(next(5)).toEqual([{ unit: "updates", at: 15 }]);
    expect(next(24)).toEqual([{ unit: "updates", at: 25 }]);
    expect(next(25)).toEqual([]);
    expect(every({ seconds: 2.5 }).nextDue(counted({ seconds: 6 }))).toEqual([{ unit: "seconds", at: 7.5 }]);
  });

  it.each([
    [every({ updates: 100 }), "every 100 updates"],
    [every({ batches: 1 }), "every batch"],
    [every({ updates: 100, from: 500 }), "every 100 updates from 500 on"],
    [every({ updates: 100, until: 500 }), "every 100 updates up to 500"],
    [every({ updates: 100, from: 0, until: 500 }), "every 100 updates from 0 to 500"],
  ])("says it in words: %#", (schedule, words) => {
    expect(schedule.describe()).toBe(words);
  });
});

describe("everySteps", () => {
  it("begins at step 0, as frequency and startStep do, unless told otherwise", () => {
    const due = (step: number, start?: number) =>
      everySteps(5, start).due({ counters: counted({ steps: step }) });
    expect(range(0, 12).filter((step) => due(step))).toEqual([0, 5, 10]);
    expect(range(0, 15).filter((step) => due(step, 3))).toEqual([3, 8, 13]);
  });

  it("is every in steps", () => {
    expect(everySteps(50, 200).describe()).toBe(every({ steps: 50, from: 200 }).describe());
  });

  it.each([
    [() => everySteps(0), /everySteps: frequency is 0, which is not a whole number from 1 on/],
    [() => everySteps(5, -1), /everySteps: startStep is -1, which is not a whole number from 0 on/],
  ])("refuses bad numbers: %#", (make, message) => {
    expect(make).toThrow(message);
  });
});
