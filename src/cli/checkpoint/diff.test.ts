import { describe, expect, it } from "vitest";
import { numberDifference, placeOf } from "./diff.ts";

const tensor = (
  data: Float32Array | Float64Array | Uint8Array,
  shape: readonly number[] = [data.length],
) => ({
  dtype: "f32" as const,
  shape,
  data,
});

describe("numberDifference", () => {
  it("is none where all bits are the same, NaN included", () => {
    const numbers = [0, -0, Number.NaN, Number.POSITIVE_INFINITY];
    expect(
      numberDifference(tensor(Float32Array.from(numbers)), tensor(Float32Array.from(numbers))),
    ).toBeUndefined();
    expect(
      numberDifference(tensor(Float64Array.from(numbers)), tensor(Float64Array.from(numbers))),
    ).toBeUndefined();
  });

  it("gives the first place, how many and the greatest", () => {
    const [a, b] = [Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 2.5, 3, 1)];
    expect(numberDifference(tensor(a, [2, 2]), tensor(b, [2, 2]))).toEqual({
      index: [0, 1],
      values: [2, 2.5],
      count: 2,
      of: 4,
      greatest: 3,
    });
  });

  it("tells 0 from -0, and a number from none", () => {
    expect(numberDifference(tensor(Float32Array.of(0)), tensor(Float32Array.of(-0)))).toMatchObject({
      greatest: 0,
    });
    const found = numberDifference(tensor(Float32Array.of(1, 5)), tensor(Float32Array.of(Number.NaN, 6)));
    expect(found?.greatest).toBeNaN();
    expect(found?.count).toBe(2);
  });
});

describe("placeOf", () => {
  it("counts the last axis first; a scalar has no place", () => {
    expect(placeOf(5, [2, 3])).toEqual([1, 2]);
    expect(placeOf(0, [])).toEqual([]);
  });
});
