import { describe, expect, it } from "vitest";
import { normalised, progressShares, rawProgress, reweighted } from "./learning-progress.ts";

const numbers = { baseline: 0.5, smoothing: 0.05, bonus: 0.1, least: 0.1 };

describe("the formulas of learning progress", () => {
  it("clip scores and put the baseline at 0", () => {
    expect([-3, 0, 0.25, 0.5, 0.75, 1, 7].map((s) => normalised(s, 0.5))).toEqual([
      -1, -1, -0.5, 0, 0.5, 1, 1,
    ]);
  });

  it("spread small averages by x (1 - th) / (x + th (1 - 2x))", () => {
    expect(reweighted(0, 0.05)).toBe(0);
    expect(reweighted(1, 0.05)).toBe(1);
    expect(reweighted(0.5, 0.05)).toBeCloseTo(0.475 / 0.5, 12);
    expect(reweighted(0.1, 0.05)).toBeCloseTo(0.095 / 0.14, 12);
    // Below 0 the formula has a pole, at -th / (1 - 2 th).
    expect(reweighted(-0.1, 0.05)).toBeCloseTo(-0.095 / 0.14, 12);
    expect(reweighted(-0.05 / 0.9, 0.05)).toBeGreaterThan(-1);
  });

  it("take the difference of the averages, a bonus for being good, and a least", () => {
    // fast 0.5 is spread to 0.95, slow 0.1 to 0.67857...
    expect(rawProgress(0.5, 0.1, numbers)).toBeCloseTo(0.95 - 0.095 / 0.14 + 0.095, 12);
    expect(rawProgress(0.1, 0.5, numbers)).toBeCloseTo(0.95 - 0.095 / 0.14 + 0.0095 / 0.14, 12);
    expect(rawProgress(0, 0, numbers)).toBe(0.1);
    expect(rawProgress(1, 1, numbers)).toBe(0.1);
    expect(rawProgress(-1, 0, numbers)).toBeCloseTo(1, 12);
  });

  it("give shares by z-score and sigmoid from three lessons on", () => {
    // Mean 0.2, deviation sqrt(0.02 / 3): z is -1.224744871, 0, 1.224744871.
    const shares = progressShares([0.1, 0.2, 0.3]);
    const sigmoid = 1 / (1 + Math.exp(-1.224744871391589));
    expect(shares[0]).toBeCloseTo((1 - sigmoid) / 1.5, 12);
    expect(shares[1]).toBeCloseTo(0.5 / 1.5, 12);
    expect(shares[2]).toBeCloseTo(sigmoid / 1.5, 12);
  });

  it("give shares by sigmoid alone for one and two", () => {
    expect(progressShares([0.7])).toEqual([1]);
    const [a, b] = [1 / (1 + Math.exp(-0.1)), 1 / (1 + Math.exp(-0.9))];
    expect(progressShares([0.1, 0.9])[1]).toBeCloseTo(b / (a + b), 12);
  });

  it("give equal shares where progress is equal", () => {
    expect(progressShares(Array<number>(10).fill(0.1))).toEqual(Array<number>(10).fill(0.1));
  });
});
