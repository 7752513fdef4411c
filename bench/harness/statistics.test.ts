import { describe, expect, it } from "vitest";
import { deviation, digits, mean, median } from "./statistics.ts";

describe("median", () => {
  it.each([
    [[3], 3],
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 1], 9],
  ])("of %j is %d", (samples, expected) => {
    expect(median(samples)).toBe(expected);
  });
});

describe("mean and deviation", () => {
  it("are those of a sample", () => {
    expect(mean([2, 4, 9])).toBe(5);
    expect(deviation([2, 4, 9])).toBeCloseTo(Math.sqrt(13), 12);
  });
});

describe("digits", () => {
  it.each([
    [0.081234, "0.0812"],
    [1.23456, "1.23"],
    [12.3456, "12.3"],
    [1234.56, "1235"],
    [0, "0"],
    [-2.345, "-2.35"],
  ])("writes %d as %s", (value, expected) => {
    expect(digits(value)).toBe(expected);
  });
});
