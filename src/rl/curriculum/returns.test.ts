import { describe, expect, it } from "vitest";
import { Returns } from "./lesson-curriculum.ts";

const plateau = { over: 50, results: 5, slope: 0.01, variation: 0.1 };
const of = (values: readonly number[], episodes = 1): Returns => {
  const returns = new Returns(1000, 5);
  for (const value of values) returns.add(episodes, value);
  return returns;
};
const line = (from: number, slope: number, n = 50): number[] =>
  Array.from({ length: n }, (_, i) => from + slope * i);

describe("a plateau of returns", () => {
  it("needs 50 episodes", () => {
    expect(of(line(1, 0, 49)).isPlateau(plateau)).toBe(false);
    expect(of(line(1, 0)).isPlateau(plateau)).toBe(true);
  });

  it("is one while |slope| / mean |r| is below 0.01", () => {
    const wide = { ...plateau, variation: 10 };
    // From 1 by 0.013 a step: the mean is 1 + 0.013 * 24.5 = 1.3185, and 0.013 / 1.3185 = 0.00986.
    expect(of(line(1, 0.013)).isPlateau(wide)).toBe(true);
    // 0.0135 / 1.33075 = 0.010145.
    expect(of(line(1, 0.0135)).isPlateau(wide)).toBe(false);
    expect(of(line(-1, -0.013)).isPlateau(wide)).toBe(true);
    expect(of(line(-1, -0.0135)).isPlateau(wide)).toBe(false);
  });

  it("is one while the coefficient of variation is below 0.1", () => {
    // Of 1 + d and 1 - d in turn it is d.
    const around = (d: number): number[] => Array.from({ length: 50 }, (_, i) => (i % 2 ? 1 + d : 1 - d));
    expect(of(around(0.099)).isPlateau(plateau)).toBe(true);
    expect(of(around(0.101)).isPlateau(plateau)).toBe(false);
    expect(of(around(0.099).map((x) => -x)).isPlateau(plateau)).toBe(true);
  });

  it("is one of zeros, and none of numbers whose mean is 0", () => {
    expect(of(line(0, 0)).isPlateau(plateau)).toBe(true);
    expect(of(Array.from({ length: 50 }, (_, i) => (i % 2 ? 1 : -1))).isPlateau(plateau)).toBe(false);
  });

  it("is judged by the newest 50 alone", () => {
    expect(of([...line(0, 5, 30), ...line(1, 0)]).isPlateau(plateau)).toBe(true);
    expect(of([...line(0, 5, 30), ...line(1, 0, 49)]).isPlateau(plateau)).toBe(false);
  });

  it("counts every episode of a result with the result's mean", () => {
    const apart = of([1, 1.2, 1.3, 1.1, 1.25].flatMap((mean) => Array<number>(10).fill(mean)));
    const together = of([1, 1.2, 1.3, 1.1, 1.25], 10);
    for (const slope of [0.001, 0.002, 0.0025, 0.003, 0.004])
      for (const variation of [0.05, 0.08, 0.09, 0.1])
        expect(together.isPlateau({ ...plateau, slope, variation })).toBe(
          apart.isPlateau({ ...plateau, slope, variation }),
        );
  });

  it("needs five results, however many episodes each has", () => {
    expect(of(line(1, 0, 4), 500).isPlateau(plateau)).toBe(false);
    expect(of(line(1, 0, 5), 500).isPlateau(plateau)).toBe(true);
    expect(of([2, 1, 1, 1, 1], 500).isPlateau(plateau)).toBe(false);
  });
});

describe("what is remembered", () => {
  it("is of 1000 episodes, whole results", () => {
    const returns = of([100, 1, 1, 1, 1, 1], 250);
    expect(returns.mean).toBe(1);
    expect(of([100, 1, 1, 1, 1], 249).mean).toBeCloseTo((100 + 4) / 5, 12);
    expect(new Returns(10, 5).mean).toBeUndefined();
  });
});
