import { describe, expect, it } from "vitest";
import { counted, moment, range, timesDue } from "./moments.test-support.ts";
import { between } from "./periods.ts";

describe("between", () => {
  it("is due at every moment from the first to the second, both included", () => {
    expect(timesDue(between({ epochs: [2, 4] }), "epochs", range(0, 6))).toEqual([2, 3, 4]);
    expect(between({ epochs: [2, 4] }).due(moment({ epochs: 3 }, { epochs: 3 }))).toBe(true);
    expect(timesDue(between({ epochs: [2, 2] }), "epochs", range(0, 6))).toEqual([2]);
  });

  it("looks at now, not at what was passed over", () => {
    expect(between({ samples: [10, 20] }).due(moment({ samples: 5 }, { samples: 25 }))).toBe(false);
  });

  it("may have no end", () => {
    const schedule = between({ updates: [3, Number.POSITIVE_INFINITY] });
    expect(timesDue(schedule, "updates", [2, 3, 1e12])).toEqual([3, 1e12]);
    expect(schedule.not().nextDue(counted({ updates: 5 }))).toEqual([]);
    expect(schedule.describe()).toBe("from update 3 on");
  });

  it("knows when it begins, that it goes on, and that it is over", () => {
    const schedule = between({ epochs: [2, 4] });
    const reached = (epochs: number) => schedule.nextDue(counted({ epochs }))?.map(({ at }) => at <= epochs);
    expect(schedule.nextDue(counted({}))).toEqual([{ unit: "epochs", at: 2 }]);
    expect([2, 3, 4].map(reached)).toEqual([[true], [true], [true]]);
    expect(reached(5)).toEqual([]);
  });

  it("knows when it ends", () => {
    const next = (epochs: number) =>
      between({ epochs: [2, 4] })
        .not()
        .nextDue(counted({ epochs }));
    expect(next(3)).toEqual([{ unit: "epochs", at: 5 }]);
    expect(
      between({ seconds: [2, 4] })
        .not()
        .nextDue(counted({ seconds: 3 })),
    ).toEqual([{ unit: "seconds", at: 4 }]);
  });

  it("says it in words", () => {
    expect(between({ epochs: [2, 10] }).describe()).toBe("between epochs 2 and 10");
  });
});
