import { describe, expect, it } from "vitest";
import {
  build,
  dense,
  element,
  expectAllSame,
  expectSame,
  isClose,
  parseTensor,
  rounded,
  stacked,
  unravel,
  unstacked,
  varied,
} from "./dense.test-support.ts";

describe("arrays of plain JavaScript", () => {
  it("hold what their element type holds", () => {
    expect(dense("i32", [2], [2147483648, -1.5]).data).toEqual([-2147483648, -1]);
    expect(dense("u32", [2], [-1, 4294967296]).data).toEqual([4294967295, 0]);
    expect(dense("u8", [2], [256, -1]).data).toEqual([0, 255]);
    expect(dense("bool", [3], [0, 2, -1]).data).toEqual([0, 1, 1]);
    expect(dense("f32", [1], [0.1]).data).toEqual([Math.fround(0.1)]);
  });

  it("round 16-bit floats to the nearest, halves to even", () => {
    // From numpy 2 and ml_dtypes: float16 and bfloat16 of the same numbers.
    expect([0.1, 1.0009765625, 2049, 70000, 3e-8].map((x) => rounded("f16", x))).toEqual([
      0.0999755859375,
      1.0009765625,
      2048,
      Number.POSITIVE_INFINITY,
      2 ** -24,
    ]);
    expect([0.1, 1.00390625, 3e38, -257].map((x) => rounded("bf16", x))).toEqual([
      0.10009765625,
      1,
      226 * 2 ** 120,
      -256,
    ]);
  });

  it("are indexed row by row", () => {
    const x = build("i32", [2, 3], ([i, k]) => 10 * (i as number) + (k as number));
    expect(x.data).toEqual([0, 1, 2, 10, 11, 12]);
    expect(element(x, [1, 2])).toBe(12);
    expect(unravel(5, [2, 3])).toEqual([1, 2]);
    expect(build("i32", [], () => 7).data).toEqual([7]);
  });

  it("stack and come apart again", () => {
    const parts = [dense("i32", [2], [1, 2]), dense("i32", [2], [3, 4])];
    expect(stacked(parts)).toEqual(dense("i32", [2, 2], [1, 2, 3, 4]));
    expect(unstacked(stacked(parts))).toEqual(parts);
  });

  it("vary, a lone element too", () => {
    expect(varied(dense("i32", [3], [1, 2, 3]), 1).data).toEqual([2, 3, 1]);
    for (const dtype of ["f32", "i32", "bool"] as const) {
      const one = dense(dtype, [], [1]);
      expect(varied(one, 1).data).not.toEqual(one.data);
    }
  });
});

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

describe("tensors of fixtures", () => {
  it("are read with all their numbers", () => {
    const { POSITIVE_INFINITY: inf, NaN: nan } = Number;
    expect(parseTensor("f32[2,3] 0.5 -1 inf nan -0 -inf")).toEqual(
      dense("f32", [2, 3], [0.5, -1, inf, nan, -0, -inf]),
    );
    expect(parseTensor("u32[1] 4294967295")).toEqual(dense("u32", [1], [4294967295]));
  });

  it("may be scalars, or have no elements", () => {
    expect(parseTensor("bool[] 1")).toEqual(dense("bool", [], [1]));
    expect(parseTensor("f32[0,3]")).toEqual(dense("f32", [0, 3], []));
  });

  it("are told from other text", () => {
    expect(parseTensor("i32")).toBeUndefined();
    expect(parseTensor("ij,jk->ik")).toBeUndefined();
  });
});
