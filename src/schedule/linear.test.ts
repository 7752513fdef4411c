import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { counted, range } from "./moments.test-support.ts";
import { cosine, linear, type Ramp, sawtooth } from "./ramps.ts";

const valuesOf = (ramp: Ramp, counts: readonly number[], unit = "updates") =>
  counts.map((count) => ramp.at(counted({ [unit]: count })));

describe("linear", () => {
  const ramp = linear({ from: 0.1, to: 0.02, over: { updates: 8 } });

  it("goes in a straight line and stays at its end", () => {
    const expected = [0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02];
    valuesOf(ramp, range(0, 9)).forEach((value, i) => {
      expect(value).toBeCloseTo(expected[i] as number, 15);
    });
  });

  it("goes by any unit", () => {
    const up = { from: 0, to: 1 };
    expect(valuesOf(linear({ ...up, over: { epochs: 4 } }), [1, 2], "epochs")).toEqual([0.25, 0.5]);
    expect(valuesOf(linear({ ...up, over: { seconds: 0.5 } }), [0.25], "seconds")).toEqual([0.5]);
    expect(valuesOf(linear({ ...up, over: { episodes: 2 } }), [1], "episodes")).toEqual([0.5]);
  });

  it("says it in words", () => {
    expect(ramp.describe()).toBe("linear from 0.1 to 0.02 over 8 updates");
  });
});

describe("cosine", () => {
  it("equals PyTorch's", () => {
    // torch 2.15: CosineAnnealingLR(SGD(lr=0.1), T_max=10, eta_min=0.001), the rate before each step.
    const torch = [
      0.1, 0.09757729755661011, 0.0905463412215599, 0.07959536998847742, 0.0657963412215599, 0.0505,
      0.03520365877844011, 0.02140463001152259, 0.010453658778440109, 0.0034227024433899004, 0.001,
    ];
    const ramp = cosine({ from: 0.1, to: 0.001, over: { updates: 10 } });
    valuesOf(ramp, range(0, 10)).forEach((value, i) => {
      expect(value).toBeCloseTo(torch[i] as number, 14);
    });
    expect(ramp.describe()).toBe("cosine from 0.1 to 0.001 over 10 updates");
  });
});

describe("sawtooth", () => {
  it("begins again", () => {
    const ramp = sawtooth({ from: 1, to: 0, over: { epochs: 4 } });
    expect(valuesOf(ramp, range(0, 9), "epochs")).toEqual([1, 0.75, 0.5, 0.25, 1, 0.75, 0.5, 0.25, 1, 0.75]);
    expect(ramp.describe()).toBe("sawtooth from 1 to 0 over each 4 epochs");
  });

  it("in cosines equals PyTorch's warm restarts", () => {
    // torch 2.15: CosineAnnealingWarmRestarts(SGD(lr=0.1), T_0=4, eta_min=0.001), the rate before each step.
    const tooth = [0.1, 0.0855017856687341, 0.0505, 0.0154982143312659];
    const ramp = sawtooth({ from: 0.1, to: 0.001, over: { updates: 4 }, shape: "cosine" });
    valuesOf(ramp, range(0, 9)).forEach((value, i) => {
      expect(value).toBeCloseTo(tooth[i % 4] as number, 14);
    });
  });
});

describe.each([
  ["linear", linear],
  ["cosine", cosine],
])("%s", (_name, make) => {
  it("is exact at both ends and after, and never outside them", () => {
    const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(value, value, fc.integer({ min: 1, max: 1e9 }), fc.nat(1e9), (from, to, updates, count) => {
        const ramp = make({ from, to, over: { updates } });
        expect(valuesOf(ramp, [0, updates, updates + count])).toEqual([from, to, to]);
        const [between] = valuesOf(ramp, [Math.min(count, updates)]) as [number];
        const slack = 1e-9 * (Math.abs(from) + Math.abs(to));
        expect(between).toBeGreaterThanOrEqual(Math.min(from, to) - slack);
        expect(between).toBeLessThanOrEqual(Math.max(from, to) + slack);
      }),
    );
  });
});
