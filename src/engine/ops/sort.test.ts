import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import {
  distance,
  given,
  gradients,
  mappedAndLooped,
  result,
  results,
  wave,
} from "./rule-checks.test-support.ts";
import { argsort, sort } from "./sort.ts";

const [inf, nan] = [Number.POSITIVE_INFINITY, Number.NaN];
const special = given("f32", [2, 4], [3, nan, -0, 1, 0, -inf, -0, inf]);
const one = (axis: number) => (x: Value) => sort([x], axis)[0] as Value;

describe.each(testEngines())("sort on %s", (engine) => {
  it("puts NaN last and leaves 0 and -0 in their order", () => {
    // jax.numpy.sort, jax.numpy.argsort(stable=True)
    expect(result(engine, one(1), special)).toEqual([-0, 1, 3, nan, -inf, 0, -0, inf]);
    expect(result(engine, (x) => argsort(x, 1), special)).toEqual([2, 3, 0, 1, 1, 0, 2, 3]);
    expect(result(engine, (x) => argsort(x, 0), special)).toEqual([1, 1, 0, 0, 0, 0, 1, 1]);
    expect(result(engine, (x) => argsort(x, 0), given("f32", [3], [nan, 1, nan]))).toEqual([1, 0, 2]);
  });

  it("moves the others along and keeps the order of equals", () => {
    const keys = given("i32", [6], [2, -1, 2, 7, -1, 2]);
    const others = [given("f32", [6], [10, 11, 12, 13, 14, 15]), given("bool", [6], [1, 0, 0, 1, 1, 0])];
    expect(results(engine, (...xs) => sort(xs, -1), keys, ...others)).toEqual([
      [-1, -1, 2, 2, 2, 7],
      [11, 14, 10, 12, 15, 13],
      [0, 1, 1, 0, 0, 1],
    ]);
  });

  it("keeps the order of equals in long rows", () => {
    const keys = Array.from({ length: 500 }, (_, i) => (i * 7) % 3);
    const expected = [0, 1, 2].flatMap((key) => keys.flatMap((k, i) => (k === key ? [i] : [])));
    expect(result(engine, (x) => argsort(x, 0), given("i32", [500], keys))).toEqual(expected);
  });

  it.each([
    ["i32", [3, -2147483648, 0, 2147483647, -1], [-2147483648, -1, 0, 3, 2147483647]],
    ["u32", [4294967295, 3, 2147483648, 0, 1], [0, 1, 3, 2147483648, 4294967295]],
    ["u8", [255, 3, 128, 0, 127], [0, 3, 127, 128, 255]],
    ["bool", [1, 0, 1, 1, 0], [0, 0, 1, 1, 1]],
  ] as const)("sorts %s", (dtype, data, expected) => {
    expect(result(engine, one(0), given(dtype, [5], data))).toEqual(expected);
  });

  it("sorts along inner axes, results of other operations too", () => {
    const x = given("f32", [2, 2, 3], [5, 4, 3, 2, 1, 0, 0, 1, 2, 5, 4, 3]);
    // numpy.sort(x, axis=1)
    expect(result(engine, one(1), x)).toEqual([2, 1, 0, 5, 4, 3, 0, 1, 2, 5, 4, 3]);
    expect(result(engine, (v) => one(0)(mul(v, v)), x)).toEqual([0, 1, 4, 4, 1, 0, 25, 16, 9, 25, 16, 9]);
  });

  it("leaves empty axes and single elements alone", () => {
    expect(result(engine, one(0), given("f32", [0], []))).toEqual([]);
    expect(result(engine, (x) => argsort(x, 1), given("f32", [2, 0], []))).toEqual([]);
    expect(results(engine, (x) => [one(1)(x), argsort(x, 1)], given("f32", [2, 1], [2, 1]))).toEqual([
      [2, 1],
      [0, 0],
    ]);
  });

  it("says what is wrong", () => {
    expect(() => results(engine, (...xs) => sort(xs, 0), wave([2]), wave([3]))).toThrow(
      "argument 1 has shape [3]",
    );
    expect(() => result(engine, one(1), wave([2]))).toThrow("axis 1 of a value with 1 axis");
  });

  it("has the gradients of keys and of what moves along", () => {
    const product = (x: Value, y: Value) => {
      const [a, b] = sort([x, y], 1) as [Value, Value];
      return mul(a, b);
    };
    const { byRule, byDifference } = gradients(
      engine,
      product as (...xs: Value[]) => Value,
      0.01,
      wave([2, 4]),
      wave([2, 4], 9),
    );
    expect(distance(byRule, byDifference)).toBeLessThan(1e-3);
    const inner = gradients(engine, one(0), 0.01, wave([4, 3]));
    expect(distance(inner.byRule, inner.byDifference)).toBeLessThan(1e-3);
  });

  it("has a second derivative", () => {
    const weighted = (x: Value, w: Value) => {
      const y = one(0)(x);
      return reduceSum(mul(mul(mul(y, y), y), w), [0]);
    };
    const slope = (x: Value, w: Value) => reduceSum(grad(weighted)(x, w), [0]);
    // 6 x w with the weight of its place in order.
    const [x, w] = [given("f32", [3], [3, 1, 2]), given("f32", [3], [1, 10, 100])];
    expect(result(engine, (a, b) => grad(slope)(a, b), x, w)).toEqual([1800, 6, 120]);
  });

  it.each([[[true, true]], [[true, false]], [[false, true]]])("maps over %j", (mapped) => {
    const shape = (yes: boolean | undefined) => (yes ? [2, 4, 3] : [4, 3]);
    const args = [wave(shape(mapped[0])), wave(shape(mapped[1]), 2)];
    const both = mappedAndLooped(engine, (x, y) => sort([x as Value, y as Value], 0), mapped, ...args);
    expect(both.mapped).toEqual(both.looped);
  });
});
