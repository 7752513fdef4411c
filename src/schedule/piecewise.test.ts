import { describe, expect, it } from "vitest";
import { counted } from "./moments.test-support.ts";
import { piecewise } from "./ramps.ts";

describe("piecewise", () => {
  it("has each value from its time on", () => {
    const ramp = piecewise({
      epochs: [
        [1, 1e-3],
        [30, 1e-4],
        [60, 1e-5],
      ],
    });
    const values = [0, 1, 29, 30, 59, 60, 1e6].map((epochs) => ramp.at(counted({ epochs })));
    expect(values).toEqual([1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5]);
    expect(ramp.describe()).toBe("piecewise 0.001, 0.0001 from 30, 0.00001 from 60 epochs");
  });

  it("goes in straight lines where it is told to", () => {
    const ramp = piecewise({
      updates: [
        [0, 0],
        [100, 1],
        [900, 1],
        [1000, 0.5],
      ],
      interpolate: true,
    });
    const values = [0, 50, 100, 500, 900, 950, 1000, 2000].map((updates) => ramp.at(counted({ updates })));
    expect(values).toEqual([0, 0.5, 1, 1, 1, 0.75, 0.5, 0.5]);
    expect(ramp.describe()).toBe("lines through 0, 1 at 100, 1 at 900, 0.5 at 1000 updates");
  });

  it("in lines keeps the first value until the first time", () => {
    const ramp = piecewise({
      seconds: [
        [0.5, 2],
        [1.5, 4],
      ],
      interpolate: true,
    });
    expect([0, 0.5, 1].map((seconds) => ramp.at(counted({ seconds })))).toEqual([2, 2, 3]);
  });
});
