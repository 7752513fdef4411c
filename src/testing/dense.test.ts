import { describe, expect, it } from "vitest";
import { build, dense, element, rounded, stacked, unravel, unstacked, varied } from "./dense.ts";

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
