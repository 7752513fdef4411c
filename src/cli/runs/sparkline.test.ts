import { describe, expect, it } from "vitest";
import { sparkline } from "./sparkline.ts";

const points = (...values: number[]) => values.map((value, step) => ({ step, value }));

describe("sparkline", () => {
  it("draws each value between the least and the greatest", () => {
    expect(sparkline(points(0, 1, 2, 3, 4, 5, 6, 7), { width: 20 })).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline(points(7, 0), { width: 20, ascii: true })).toBe("#_");
  });

  it("draws a flat line low, whatever its height", () => {
    expect(sparkline(points(3, 3, 3), { width: 20 })).toBe("▁▁▁");
    expect(sparkline(points(1e-9), { width: 20 })).toBe("▁");
  });

  it("shows the mean of a stretch where there are more values than columns", () => {
    // 0 and 2, 4 and 4, 8 and 0: their means are 1, 4 and 4.
    expect(sparkline(points(0, 2, 4, 4, 8, 0), { width: 3 })).toBe("▁██");
  });

  it("marks each stretch with NaN or infinity, also among finite values", () => {
    expect(sparkline(points(0, Number.NaN, 7, Number.POSITIVE_INFINITY), { width: 20 })).toBe("▁×█×");
    expect(sparkline(points(0, 0, 7, Number.NaN, 7, 7), { width: 3 })).toBe("▁×█");
    expect(sparkline(points(Number.NaN, Number.NaN), { width: 9, ascii: true })).toBe("xx");
  });

  it("leaves a stretch without values blank", () => {
    const gap = [0, 1, 2, 8, 9].map((step) => ({ step, value: step }));
    expect(sparkline(gap, { width: 5 })).toBe("▁▂  █");
  });

  it("draws nothing of nothing, and is at its ends with the greatest numbers there are", () => {
    expect(sparkline([], { width: 5 })).toBe("");
    expect(sparkline(points(-Number.MAX_VALUE, 0, Number.MAX_VALUE), { width: 5 })).toBe("▁▅█");
    expect(sparkline(points(-Number.MAX_VALUE, Number.MAX_VALUE, 5, 5), { width: 2 })).toBe("▁█");
  });

  it("takes no column more than it is given", () => {
    const many = Array.from({ length: 1000 }, (_, step) => ({ step, value: Math.sin(step / 50) }));
    expect([...sparkline(many, { width: 40 })]).toHaveLength(40);
  });
});
