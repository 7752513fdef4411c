import { describe, expect, it } from "vitest";
import { counted, range, timesDue } from "./moments.test-support.ts";
import { cycle } from "./periods.ts";

const inEpoch = (epoch: number) => counted({ epoch, epochs: epoch });

describe("cycle", () => {
  it("counts epochs from 0 and positions from 1", () => {
    const schedule = cycle({ epochs: 8, active: [1, 2] });
    const due = range(0, 17).filter((epoch) => schedule.due({ counters: inEpoch(epoch) }));
    expect(due).toEqual([0, 1, 8, 9, 16, 17]);
  });

  it("holds during all of an epoch, its end included", () => {
    const schedule = cycle({ epochs: 3, active: [1] });
    expect(schedule.due({ counters: counted({ epoch: 3, epochs: 3, batches: 100 }) })).toBe(true);
    expect(schedule.due({ counters: counted({ epoch: 3, epochs: 4 }) })).toBe(true);
    expect(schedule.due({ counters: counted({ epoch: 4, epochs: 4 }) })).toBe(false);
  });

  it("goes by the count in other units", () => {
    expect(timesDue(cycle({ updates: 4, active: [4, 1] }), "updates", range(0, 9))).toEqual([0, 3, 4, 7, 8]);
    const seconds = cycle({ seconds: 10, active: [1] });
    expect(timesDue(seconds, "seconds", [0, 0.9, 1, 9.9, 10.5, 11])).toEqual([0, 0.9, 10.5]);
  });

  it("knows when it begins and when it ends", () => {
    const schedule = cycle({ epochs: 8, active: [3, 4, 7] });
    const next = (epoch: number) => schedule.nextDue(inEpoch(epoch))?.[0];
    expect(next(0)).toEqual({ unit: "epochs", at: 2 });
    expect(next(4)).toEqual({ unit: "epochs", at: 6 });
    expect(next(15)).toEqual({ unit: "epochs", at: 18 });
    const end = (epoch: number) => schedule.not().nextDue(inEpoch(epoch))?.[0];
    expect(end(2)).toEqual({ unit: "epochs", at: 4 });
    expect(end(6)).toEqual({ unit: "epochs", at: 7 });
  });

  it("may be due at any moment while it is active", () => {
    const counters = inEpoch(2);
    const points = cycle({ epochs: 8, active: [3] }).nextDue(counters);
    expect(points?.some(({ unit, at }) => (counters[unit] ?? 0) >= at)).toBe(true);
  });

  it("knows that an always active cycle never ends", () => {
    expect(
      cycle({ updates: 2, active: [1, 2] })
        .not()
        .nextDue(counted({})),
    ).toEqual([]);
  });

  it("says it in words", () => {
    expect(cycle({ epochs: 8, active: [2, 1] }).describe()).toBe("in epochs 1 and 2 of every 8");
    expect(cycle({ batches: 8, active: [3] }).describe()).toBe("in batch 3 of every 8");
  });
});
