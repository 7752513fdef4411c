import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { mul } from "./elementwise.ts";
import { gather, takeAlongAxis } from "./gather.ts";
import { reduceSum } from "./reduce.ts";
import { distance, given, gradients, mappedAndLooped, result, wave } from "./rule-checks.test-support.ts";

const count = (n: number) => Array.from({ length: n }, (_, i) => i);

describe.each(testEngines())("gather on %s", (engine) => {
  it("takes rows by indices of any rank and clamps those out of range", () => {
    const x = given("f32", [4, 3], count(12));
    const i = given("i32", [2, 2], [3, 0, 9, -2]);
    // jax.numpy.take(x, i, axis=0, mode="clip")
    expect(result(engine, (a, b) => gather(a, b), x, i)).toEqual([9, 10, 11, 0, 1, 2, 9, 10, 11, 0, 1, 2]);
  });

  it("takes one row by a scalar", () => {
    expect(
      result(engine, (a, b) => gather(a, b), given("f32", [4, 3], count(12)), given("i32", [], [2])),
    ).toEqual([6, 7, 8]);
  });

  it("lets leading axes run along", () => {
    const x = given("f32", [2, 4, 3], count(24));
    const i = given("i32", [2, 2], [3, 3, 0, 7]);
    // jax.vmap(lambda a, k: jnp.take(a, k, axis=0, mode="clip"))(x, i)
    expect(result(engine, (a, b) => gather(a, b, 1), x, i)).toEqual([
      9, 10, 11, 9, 10, 11, 12, 13, 14, 21, 22, 23,
    ]);
  });

  it("lets several leading axes run along, one index each", () => {
    const x = given("i32", [2, 2, 3], count(12));
    expect(result(engine, (a, b) => gather(a, b, 2), x, given("i32", [2, 2], [2, 1, 0, -4]))).toEqual([
      2, 4, 6, 9,
    ]);
  });

  it.each(["i32", "u32", "u8", "bool"] as const)("takes %s", (dtype) => {
    const x = given(dtype, [3], [0, 1, dtype === "bool" ? 1 : 200]);
    expect(result(engine, (a, b) => gather(a, b), x, given("i32", [4], [2, 0, 1, 2]))).toEqual(
      dtype === "bool" ? [1, 0, 1, 1] : [200, 0, 1, 200],
    );
  });

  it("gives nothing for no indices, even from an empty axis", () => {
    expect(result(engine, (a, b) => gather(a, b), wave([2, 3]), given("i32", [0], []))).toEqual([]);
    expect(result(engine, (a, b) => gather(a, b), wave([0, 3]), given("i32", [0], []))).toEqual([]);
    expect(result(engine, (a, b) => gather(a, b), wave([2, 0]), given("i32", [2], [1, 0]))).toEqual([]);
  });

  it("works on axes of length 1", () => {
    expect(result(engine, (a, b) => gather(a, b), given("f32", [1], [7]), given("i32", [2], [0, 5]))).toEqual(
      [7, 7],
    );
  });

  it("says what is wrong", () => {
    const run = (...args: Parameters<typeof given>[]) =>
      result(engine, (a, b) => gather(a, b, 1), ...args.map((arg) => given(...arg)));
    expect(() => run(["f32", [2, 3], count(6)], ["f32", [2], [0, 1]])).toThrow("takes i32 indices");
    expect(() => run(["f32", [2, 3], count(6)], ["i32", [3], [0, 1, 2]])).toThrow("are not alike");
    expect(() => run(["f32", [2, 0], []], ["i32", [2], [0, 0]])).toThrow("no index is in range");
  });

  it("has the gradient of what it takes, clamped rows and repeats included", () => {
    const i = given("i32", [2, 3], [0, 2, 2, 5, -1, 1]);
    const flat = gradients(engine, (a, b) => gather(a, b), 0.5, wave([4, 2]), i);
    expect(distance(flat.byRule, flat.byDifference)).toBeLessThan(1e-5);
    const along = gradients(engine, (a, b) => gather(a, b, 1), 0.5, wave([2, 4, 2]), i);
    expect(distance(along.byRule, along.byDifference)).toBeLessThan(1e-5);
  });

  it("has a second derivative", () => {
    const cubes = (x: Value, i: Value) => {
      const y = gather(x, i);
      return reduceSum(mul(mul(y, y), y), [0]);
    };
    const slope = (x: Value, i: Value) => reduceSum(grad(cubes)(x, i), [0]);
    // The row sums of jax.hessian of the same.
    expect(
      result(engine, (x, i) => grad(slope)(x, i), given("f32", [3], [1, 2, 3]), given("i32", [3], [1, 1, 0])),
    ).toEqual([6, 24, 0]);
  });

  it.each([
    ["both", [true, true], [3, 4, 2], [3, 2]],
    ["the operand", [true, false], [3, 4, 2], [2]],
    ["the indices", [false, true], [4, 2], [3, 2]],
  ] as const)("maps over %s", (_name, mapped, operand, indices) => {
    const i = given("i32", indices, [3, 0, 1, 1, 7, -1].slice(0, indices.length === 1 ? 2 : 6));
    const both = mappedAndLooped(engine, (a, b) => gather(a, b), mapped, wave(operand), i);
    expect(both.mapped).toEqual(both.looped);
  });

  it.each([
    ["both", [true, true], [2, 3, 4], [2, 3, 2]],
    ["the operand", [true, false], [2, 3, 4], [3, 2]],
    ["the indices", [false, true], [3, 4], [2, 3, 2]],
  ] as const)("maps over %s where axes already run along", (_name, mapped, operand, indices) => {
    const i = given(
      "i32",
      indices,
      [3, 0, 1, 1, 7, -1, 2, 2, 0, 3, 1, 0].slice(0, indices.length === 2 ? 6 : 12),
    );
    const both = mappedAndLooped(engine, (a, b) => gather(a, b, 1), mapped, wave(operand), i);
    expect(both.mapped).toEqual(both.looped);
  });
});

describe.each(testEngines())("takeAlongAxis on %s", (engine) => {
  it("picks along any axis", () => {
    const x = given("f32", [2, 3], [10, 11, 12, 20, 21, 22]);
    // numpy.take_along_axis
    expect(result(engine, (a, b) => takeAlongAxis(a, b, 0), x, given("i32", [1, 3], [1, 0, 1]))).toEqual([
      20, 11, 22,
    ]);
    expect(result(engine, (a, b) => takeAlongAxis(a, b, -1), x, given("i32", [2, 1], [2, 0]))).toEqual([
      12, 20,
    ]);
  });
});
