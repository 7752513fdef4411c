import { describe, expect, it } from "vitest";
import { sweepEngines } from "../run/engines.test-support.ts";
import type { DType } from "../trace/dtype.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { cumlogsumexp, cummax, cummin, cumprod, cumsum } from "./cumulative.ts";
import { mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import { distance, given, gradients, mappedAndLooped, result, wave } from "./rule-checks.test-support.ts";

const x = given("f32", [2, 3], [1, 2, -3, 4, 0, 6]);
const inf = Number.POSITIVE_INFINITY;
const along =
  (fn: (x: Value, axis: number, reverse?: boolean) => Value, axis: number, reverse = false) =>
  (value: Value) =>
    fn(value, axis, reverse);

describe.each(sweepEngines())("cumsum on %s", (engine) => {
  it("adds up along an axis, either way", () => {
    // jax.lax.cumsum
    expect(result(engine, along(cumsum, 1), x)).toEqual([1, 3, 0, 4, 4, 10]);
    expect(result(engine, along(cumsum, 0), x)).toEqual([1, 2, -3, 5, 2, 3]);
    expect(result(engine, along(cumsum, -1, true), x)).toEqual([0, -1, -3, 10, 6, 6]);
  });

  // Lengths on both sides of where each engine changes its way.
  it.each([2, 3, 64, 65, 256, 257, 700])("adds up %i numbers", (n) => {
    const numbers = Array.from({ length: 2 * n }, (_, i) => ((i * 7) % 11) - 5);
    const expected = (order: readonly number[]) => {
      const sums = new Array<number>(2 * n).fill(0);
      for (const start of [0, n]) {
        let sum = 0;
        for (const k of order) {
          sum += numbers[start + k] as number;
          sums[start + k] = sum;
        }
      }
      return sums;
    };
    const up = Array.from({ length: n }, (_, i) => i);
    for (const dtype of ["f32", "i32"] as const) {
      const rows = given(dtype, [2, n], numbers);
      expect(result(engine, along(cumsum, 1), rows)).toEqual(expected(up));
      expect(result(engine, along(cumsum, 1, true), rows)).toEqual(expected([...up].reverse()));
    }
  });

  it.each([
    ["u8", [200, 100, 50], [200, 44, 94]],
    ["u32", [4294967295, 2, 3], [4294967295, 1, 4]],
    ["i32", [2147483647, 1, 1], [2147483647, -2147483648, -2147483647]],
  ] as const)("wraps %s", (dtype: DType, data, expected) => {
    // numpy.cumsum(data, dtype=dtype)
    expect(result(engine, along(cumsum, 0), given(dtype, [3], data))).toEqual(expected);
    const long = given(dtype, [80], [...data, ...new Array<number>(77).fill(0)]);
    expect(result(engine, along(cumsum, 0), long).slice(0, 3)).toEqual(expected);
  });

  it("does not let what is not finite reach back", () => {
    const odd = given("f32", [4], [1, inf, Number.NaN, 2]);
    expect(result(engine, along(cumsum, 0), odd)).toEqual([1, inf, Number.NaN, Number.NaN]);
  });

  it("leaves empty axes and single elements alone", () => {
    expect(result(engine, along(cumsum, 0), given("f32", [0], []))).toEqual([]);
    expect(result(engine, along(cumsum, 0), given("f32", [1, 2], [3, 4]))).toEqual([3, 4]);
  });

  it("says what is wrong", () => {
    expect(() => result(engine, along(cumsum, 0), given("bool", [2], [1, 0]))).toThrow(
      "numbers, not booleans",
    );
    expect(() => result(engine, along(cumsum, 2), x)).toThrow("axis 2 of a value with 2 axes");
  });

  it("has a gradient, either way", () => {
    for (const reverse of [false, true]) {
      const { byRule, byDifference } = gradients(engine, along(cumsum, 1, reverse), 0.5, wave([2, 4]));
      expect(distance(byRule, byDifference)).toBeLessThan(1e-5);
    }
  });

  it("has a second derivative", () => {
    const squares = (v: Value) => {
      const y = cumsum(v, 0);
      return reduceSum(mul(y, y), [0]);
    };
    const slope = (v: Value) => reduceSum(grad(squares)(v), [0]);
    // Row sums of the Hessian: 2 (n - max(i, j)) summed over j.
    expect(result(engine, (v) => grad(slope)(v), given("f32", [3], [1, 2, 3]))).toEqual([12, 10, 6]);
  });

  it("maps over the value", () => {
    const both = mappedAndLooped(engine, along(cumsum, 0, true), [true], wave([3, 4, 2]));
    expect(distance(both.mapped, both.looped)).toBeLessThan(1e-6);
  });
});

describe.each(sweepEngines())("other cumulative functions on %s", (engine) => {
  it("multiply, compare and add in logarithms, either way", () => {
    // jax.lax.cumprod, cummax, cummin
    expect(result(engine, along(cumprod, 1), x)).toEqual([1, 2, -6, 4, 0, 0]);
    expect(result(engine, along(cumprod, 1, true), x)).toEqual([-6, -6, -3, 0, 0, 6]);
    expect(result(engine, along(cummax, 1), x)).toEqual([1, 2, 2, 4, 4, 6]);
    expect(result(engine, along(cummin, 1), x)).toEqual([1, 1, -3, 4, 0, 0]);
    expect(result(engine, along(cummax, 0, true), x)).toEqual([4, 2, 6, 4, 0, 6]);
  });

  it("add in logarithms without overflow and from nothing", () => {
    const logs = given("f32", [6], [-inf, -inf, 0.5, 2, 100, -3]);
    // jax.lax.cumlogsumexp
    const up = result(engine, along(cumlogsumexp, 0), logs);
    expect(up.slice(0, 2)).toEqual([-inf, -inf]);
    expect(distance([up.slice(2)], [[0.5, 2.20141339302063, 100, 100]])).toBeLessThan(1e-5);
    const down = result(engine, along(cumlogsumexp, 0, true), logs);
    expect(distance([down], [[100, 100, 100, 100, 100, -3]])).toBeLessThan(1e-5);
    expect(() => result(engine, along(cumlogsumexp, 0), given("i32", [2], [1, 2]))).toThrow(
      "floating-point values",
    );
  });

  it.each(["i32", "u32", "u8"] as const)("take %s", (dtype) => {
    const ints = given(dtype, [5], [3, 1, 4, 1, 5]);
    expect(result(engine, along(cummax, 0), ints)).toEqual([3, 3, 4, 4, 5]);
    expect(result(engine, along(cumprod, 0), ints)).toEqual([3, 3, 12, 12, 60]);
  });

  it("leave empty axes and single elements alone", () => {
    expect(result(engine, along(cumprod, 0), given("f32", [0], []))).toEqual([]);
    expect(result(engine, along(cummax, 1), given("f32", [2, 1], [3, 4]))).toEqual([3, 4]);
  });

  it.each([
    ["cumprod", cumprod],
    ["cummax", cummax],
    ["cummin", cummin],
    ["cumlogsumexp", cumlogsumexp],
  ] as const)("%s has a gradient, either way", (_name, fn) => {
    for (const reverse of [false, true]) {
      const { byRule, byDifference } = gradients(engine, along(fn, 1, reverse), 0.01, wave([2, 5]));
      expect(distance(byRule, byDifference)).toBeLessThan(5e-3);
    }
  });

  it("cumprod has its gradient through a zero", () => {
    const weighted = (v: Value, w: Value) => reduceSum(mul(cumprod(v, 0), w), [0]);
    const [v, w] = [given("f32", [4], [2, 0, 3, 4]), given("f32", [4], [1, 2, 3, 4])];
    // jax.grad of the same
    expect(result(engine, (a, b) => grad(weighted)(a, b), v, w)).toEqual([1, 118, 0, 0]);
  });

  it("map over the value", () => {
    const both = mappedAndLooped(engine, along(cummax, 0), [true], wave([3, 5, 2]));
    expect(both.mapped).toEqual(both.looped);
  });
});
