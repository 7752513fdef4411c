import { describe, expect, it } from "vitest";
import { expectAllSame, expectSame, isClose } from "./compare.ts";
import { dense } from "./dense.ts";

const limits = { tolerance: 1e-3, floor: 1 };

describe("comparing", () => {
  it("takes floats within a tolerance relative to their size, but not below the floor", () => {
    expect(isClose(1000.5, 1000, limits)).toBe(true);
    expect(isClose(1001.5, 1000, limits)).toBe(false);
    expect(isClose(0.0005, 0, limits)).toBe(true);
  });

  it("takes NaN for NaN and infinities for themselves alone", () => {
    expect(isClose(Number.NaN, Number.NaN, limits)).toBe(true);
    expect(isClose(Number.NaN, 1, limits)).toBe(false);
    expect(isClose(1, Number.NaN, limits)).toBe(false);
    expect(isClose(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, limits)).toBe(true);
    expect(isClose(1e38, Number.POSITIVE_INFINITY, limits)).toBe(false);
    expect(isClose(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, limits)).toBe(false);
  });

  it("takes whole numbers exactly", () => {
    const check = () =>
      expectSame("it", dense("i32", [2], [1, 1000000]), dense("i32", [2], [1, 1000001]), limits);
    expect(check).toThrow(/it: element \[1\] is 1000000 instead of 1000001 \(1 of 2 elements differ\)/);
  });

  it("refuses other types, shapes and counts", () => {
    const x = dense("f32", [2], [1, 2]);
    expect(() => expectSame("it", x, dense("i32", [2], [1, 2]))).toThrow(
      /gives f32\[2\] instead of i32\[2\]/,
    );
    expect(() => expectSame("it", x, dense("f32", [2, 1], [1, 2]))).toThrow(/instead of f32\[2,1\]/);
    expect(() => expectAllSame("it", [x], [x, x])).toThrow(/1 results instead of 2/);
  });
});
