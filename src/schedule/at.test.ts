import { describe, expect, it } from "vitest";
import { counted, moment, range, timesDue } from "./moments.test-support.ts";
import { at } from "./points.ts";

describe("at", () => {
  it("is due at each of its times, in any order, each once", () => {
    expect(timesDue(at({ epochs: [5, 1, 5] }), "epochs", range(1, 9))).toEqual([1, 5]);
    expect(timesDue(at({ samples: 100 }), "samples", [64, 128, 192])).toEqual([128]);
  });

  it("is due once for a jump over several", () => {
    expect(timesDue(at({ samples: [10, 20, 30, 40] }), "samples", [5, 35, 39, 80, 90])).toEqual([35, 80]);
  });

  it("is due at 0 where the start stands alone", () => {
    expect(at({ epochs: 0 }).due({ counters: counted({}) })).toBe(true);
    expect(at({ epochs: 0 }).due(moment({}, { epochs: 1 }))).toBe(false);
    expect(at({ epochs: 1 }).due({ counters: counted({}) })).toBe(false);
  });

  it("knows its next time", () => {
    const schedule = at({ epochs: [1, 5] });
    expect([0, 1, 4, 5].map((epochs) => schedule.nextDue(counted({ epochs })))).toEqual([
      [{ unit: "epochs", at: 1 }],
      [{ unit: "epochs", at: 5 }],
      [{ unit: "epochs", at: 5 }],
      [],
    ]);
  });

  it("says it in words", () => {
    expect(at({ epochs: [1, 5, 9] }).describe()).toBe("at epochs 1, 5 and 9");
    expect(at({ batches: 3 }).describe()).toBe("at batch 3");
    expect(at({ epochs: range(1, 20) }).describe()).toBe("at epochs 1, 2, 3, 4, 5, 6 and 14 more");
  });
});
