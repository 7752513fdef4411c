import { describe, expect, it } from "vitest";
import { sweepEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import {
  distance,
  type Given,
  given,
  gradients,
  mappedAndLooped,
  result,
  wave,
} from "./rule-checks.test-support.ts";
import { scatterAdd, scatterSet } from "./scatter.ts";

const operand = given("f32", [4, 2], [0, 1, 2, 3, 4, 5, 6, 7]);
const indices = given("i32", [5], [2, 0, 2, 4, -1]);
const updates = given("f32", [5, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
const both = [
  ["scatterAdd", scatterAdd],
  ["scatterSet", scatterSet],
] as const;

describe.each(sweepEngines())("scatter on %s", (engine) => {
  it("adds updates up and drops those out of range", () => {
    // operand.at[[2, 0, 2, 4, 7]].add(updates, mode="drop") of jax; here negative indices are dropped too.
    expect(result(engine, (x, i, u) => scatterAdd(x, i, u), operand, indices, updates)).toEqual([
      3, 5, 2, 3, 10, 13, 6, 7,
    ]);
  });

  it("sets rows, the last of several for one row, and drops those out of range", () => {
    expect(result(engine, (x, i, u) => scatterSet(x, i, u), operand, indices, updates)).toEqual([
      3, 4, 2, 3, 5, 6, 6, 7,
    ]);
  });

  it("keeps the last of many writes, whichever way it finds it", () => {
    // 100 writes go to few rows (every row is visited) or to many (writes are compared with each other).
    for (const [rows, used] of [
      [7, 7],
      [20_000, 7],
    ] as const) {
      const at = Array.from({ length: 100 }, (_, k) => (k * k + 3 * k) % used);
      const expected = new Array<number>(rows).fill(-1);
      at.forEach((row, k) => {
        expected[row] = k;
      });
      const numbers = at.map((_, k) => k);
      expect(
        result(
          engine,
          (x, i, u) => scatterSet(x, i, u),
          given("i32", [rows], new Array<number>(rows).fill(-1)),
          given("i32", [100], at),
          given("i32", [100], numbers),
        ),
      ).toEqual(expected);
    }
  });

  it("sets what no sum could keep: NaN, infinities, -0 and the largest integers", () => {
    const x = given("f32", [3], [Number.POSITIVE_INFINITY, 1, Number.NaN]);
    const u = given("f32", [2], [-0, Number.NaN]);
    expect(result(engine, (a, i, b) => scatterSet(a, i, b), x, given("i32", [2], [2, 1]), u)).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NaN,
      -0,
    ]);
    const n = given("u32", [2], [4294967295, 5]);
    const one = given("u32", [1], [4294967294]);
    expect(result(engine, (a, i, b) => scatterSet(a, i, b), n, given("i32", [1], [1]), one)).toEqual([
      4294967295, 4294967294,
    ]);
  });

  it("lets leading axes run along", () => {
    const x = given("f32", [2, 3], [0, 0, 0, 100, 100, 100]);
    const i = given("i32", [2, 2], [1, 1, 2, -1]);
    const u = given("f32", [2, 2], [1, 2, 3, 4]);
    expect(result(engine, (a, b, c) => scatterAdd(a, b, c, 1), x, i, u)).toEqual([0, 3, 0, 100, 100, 103]);
    expect(result(engine, (a, b, c) => scatterSet(a, b, c, 1), x, i, u)).toEqual([0, 2, 0, 100, 100, 3]);
  });

  it("takes indices of any rank", () => {
    const x = given("i32", [3], [0, 0, 0]);
    const i = given("i32", [2, 2], [0, 2, 2, 0]);
    const u = given("i32", [2, 2], [1, 2, 3, 4]);
    expect(result(engine, (a, b, c) => scatterAdd(a, b, c), x, i, u)).toEqual([5, 0, 5]);
    expect(result(engine, (a, b, c) => scatterSet(a, b, c), x, i, u)).toEqual([4, 0, 3]);
    const one = [given("i32", [], [1]), given("i32", [], [9])] as const;
    expect(result(engine, (a, b, c) => scatterSet(a, b, c), x, ...one)).toEqual([0, 9, 0]);
  });

  it.each(["i32", "u32", "u8", "bool"] as const)("sets %s", (dtype) => {
    const high = dtype === "bool" ? 1 : 201;
    const x = given(dtype, [3], [0, 1, 0]);
    const u = given(dtype, [2], [high, 0]);
    expect(result(engine, (a, b, c) => scatterSet(a, b, c), x, given("i32", [2], [2, 1]), u)).toEqual([
      0,
      0,
      high,
    ]);
  });

  it("wraps sums of integers", () => {
    const i = given("i32", [2], [0, 0]);
    const sum = (dtype: "u8" | "u32" | "i32", x: number, u: number) =>
      result(engine, (a, b, c) => scatterAdd(a, b, c), given(dtype, [1], [x]), i, given(dtype, [2], [u, u]));
    expect(sum("u8", 100, 100)).toEqual([44]);
    expect(sum("u32", 2, 4294967295)).toEqual([0]);
    expect(sum("i32", 1, 2147483647)).toEqual([-1]);
  });

  it.each(both)("%s leaves the operand as it is where there is nothing to write", (_name, scatter) => {
    const none = [given("i32", [0], []), given("f32", [0, 2], [])] as const;
    expect(result(engine, (x, i, u) => scatter(x, i, u), operand, ...none)).toEqual([...operand.data]);
    const empty = given("f32", [0, 2], []);
    expect(result(engine, (x, i, u) => scatter(x, i, u), empty, indices, updates)).toEqual([]);
  });

  it("says what is wrong", () => {
    const run = (x: Given, i: Given, u: Given) => result(engine, (a, b, c) => scatterAdd(a, b, c), x, i, u);
    expect(() => run(operand, indices, given("f32", [5], [1, 2, 3, 4, 5]))).toThrow(
      "name rows of shape [5, 2]",
    );
    expect(() => run(operand, indices, given("i32", [5, 2], [...updates.data]))).toThrow(
      "the updates are i32[5,2]",
    );
    expect(() => run(operand, updates, updates)).toThrow("takes i32 indices");
  });

  it.each(both)("%s has the gradients of operand and updates", (_name, scatter) => {
    const i = given("i32", [2, 3], [0, 2, 2, 5, -1, 0]);
    const flat = gradients(engine, (x, at, u) => scatter(x, at, u), 0.5, wave([4, 2]), i, wave([2, 3, 2], 5));
    expect(distance(flat.byRule, flat.byDifference)).toBeLessThan(1e-5);
    const along = gradients(
      engine,
      (x, at, u) => scatter(x, at, u, 1),
      0.5,
      wave([2, 4]),
      i,
      wave([2, 3], 5),
    );
    expect(distance(along.byRule, along.byDifference)).toBeLessThan(1e-5);
  });

  it.each(both)("%s has second derivatives", (_name, scatter) => {
    const cubes = (u: Value, x: Value, i: Value) => {
      const y = scatter(x, i, u);
      return reduceSum(mul(mul(y, y), y), [0]);
    };
    const slope = (u: Value, x: Value, i: Value) => reduceSum(grad(cubes)(u, x, i), [0]);
    const u = given("f32", [2], [1, 2]);
    const x = given("f32", [3], [0, 0, 4]);
    // 6u, as each update stands alone in a row that was 0.
    expect(result(engine, (a, b, c) => grad(slope)(a, b, c), u, x, given("i32", [2], [1, 0]))).toEqual([
      6, 12,
    ]);
  });

  it.each(
    both.flatMap(([name, scatter]) =>
      [
        [true, true, true],
        [true, false, false],
        [false, true, false],
        [false, false, true],
      ].map((mapped) => [name, mapped, scatter] as const),
    ),
  )("%s maps over %j", (_name, mapped, scatter) => {
    const shaped = (shape: readonly number[], yes: boolean | undefined) => (yes ? [2, ...shape] : shape);
    const at = [0, 2, 2, -1, 1, 2, 1, 3, 3, 3, 0, 3];
    const args = [
      wave(shaped([2, 4, 2], mapped[0])),
      given("i32", shaped([2, 3], mapped[1]), at.slice(0, mapped[1] ? 12 : 6)),
      wave(shaped([2, 3, 2], mapped[2]), 3),
    ];
    const { mapped: many, looped } = mappedAndLooped(
      engine,
      (x, i, u) => scatter(x, i, u, 1),
      mapped,
      ...args,
    );
    expect(distance(many, looped)).toBeLessThan(1e-6);
  });
});
