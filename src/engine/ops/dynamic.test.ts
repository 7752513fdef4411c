import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { programOf } from "../trace/program.ts";
import { tensorType } from "../trace/type.ts";
import { placeholder, type Value, withTrace } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { writeModule } from "../xla/writer.ts";
import { dynamicSlice, dynamicUpdateSlice } from "./dynamic.ts";
import { mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import { distance, given, gradients, mappedAndLooped, result, wave } from "./rule-checks.test-support.ts";

const count = (n: number) => Array.from({ length: n }, (_, i) => i);
const x = given("f32", [4, 3], count(12));
const start = (n: number) => given("i32", [], [n]);
const part =
  (...sizes: number[]) =>
  (value: Value, ...starts: Value[]) =>
    dynamicSlice(value, starts, sizes);
const write = (value: Value, update: Value, ...starts: Value[]) => dynamicUpdateSlice(value, update, starts);

describe.each(testEngines())("dynamicSlice on %s", (engine) => {
  it("takes the part that begins at run-time starts", () => {
    expect(result(engine, part(2, 2), x, start(1), start(1))).toEqual([4, 5, 7, 8]);
    expect(result(engine, part(1, 3), x, start(2), start(0))).toEqual([6, 7, 8]);
  });

  it("moves starts so that the part fits", () => {
    // lax.dynamic_slice(x, (2, -5), (3, 2)) begins at (1, 0)
    expect(result(engine, part(3, 2), x, start(2), start(-5))).toEqual([3, 4, 6, 7, 9, 10]);
    expect(result(engine, part(4, 1), x, start(99), start(2))).toEqual([2, 5, 8, 11]);
  });

  it("gives the whole and the empty part", () => {
    expect(result(engine, part(4, 3), x, start(2), start(2))).toEqual([...x.data]);
    expect(result(engine, part(0, 3), x, start(2), start(0))).toEqual([]);
    expect(result(engine, (value) => dynamicSlice(value, [], []), given("f32", [], [5]))).toEqual([5]);
  });

  it.each(["i32", "u32", "u8", "bool"] as const)("takes %s", (dtype) => {
    const value = given(dtype, [4], [0, 1, 1, 0]);
    expect(result(engine, part(2), value, start(0))).toEqual([0, 1]);
  });

  it("has a gradient", () => {
    const { byRule, byDifference } = gradients(engine, part(2, 2), 0.5, wave([4, 3]), start(3), start(1));
    expect(distance(byRule, byDifference)).toBeLessThan(1e-5);
  });

  it("has a second derivative", () => {
    const cubes = (value: Value, at: Value) => {
      const y = dynamicSlice(value, [at], [2]);
      return reduceSum(mul(mul(y, y), y), [0]);
    };
    const slope = (value: Value, at: Value) => reduceSum(grad(cubes)(value, at), [0]);
    const values = given("f32", [4], [1, 2, 3, 4]);
    expect(result(engine, (v, at) => grad(slope)(v, at), values, start(1))).toEqual([0, 12, 18, 0]);
  });

  it.each([
    ["the value", [true, false, false]],
    ["value and starts", [true, true, true]],
    ["one start", [false, false, true]],
    ["the start of a whole axis", [true, true, false], [2, 3, 2]],
  ] as const)("maps over %s", (_name, mapped, sizes: readonly number[] = [2, 1, 2]) => {
    const starts = (yes: boolean | undefined, at: number[]) => (yes ? given("i32", [3], at) : start(1));
    const value = wave(mapped[0] ? [3, 4, 3, 2] : [4, 3, 2]);
    const fn = (v: Value, a: Value, b: Value) => dynamicSlice(v, [a, b, b], [...sizes]);
    const args = [value, starts(mapped[1], [0, 5, -2]), starts(mapped[2], [2, 1, 0])];
    const both = mappedAndLooped(engine, fn as (...args: Value[]) => Value, mapped, ...args);
    expect(both.mapped).toEqual(both.looped);
  });
});

describe.each(testEngines())("dynamicUpdateSlice on %s", (engine) => {
  const update = given("f32", [2, 2], [-1, -2, -3, -4]);

  it("writes over the part that begins at run-time starts, moved so that it fits", () => {
    // lax.dynamic_update_slice
    const written = [0, 1, 2, 3, 4, 5, 6, -1, -2, 9, -3, -4];
    expect(result(engine, write, x, update, start(2), start(1))).toEqual(written);
    expect(result(engine, write, x, update, start(7), start(1))).toEqual(written);
    expect(result(engine, write, x, update, start(-7), start(-1))).toEqual([
      -1, -2, 2, -3, -4, 5, 6, 7, 8, 9, 10, 11,
    ]);
  });

  it("writes one row, whole axes, everything and nothing", () => {
    const row = given("f32", [1, 3], [-1, -2, -3]);
    expect(result(engine, write, x, row, start(3), start(9))).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3,
    ]);
    const column = given("f32", [4, 1], [-1, -2, -3, -4]);
    expect(result(engine, write, x, column, start(0), start(1))).toEqual([
      0, -1, 2, 3, -2, 5, 6, -3, 8, 9, -4, 11,
    ]);
    expect(result(engine, write, x, wave([4, 3]), start(1), start(1))).toEqual([...wave([4, 3]).data]);
    expect(result(engine, write, x, given("f32", [0, 3], []), start(1), start(0))).toEqual([...x.data]);
  });

  it.each(["i32", "u32", "u8", "bool"] as const)("writes %s", (dtype) => {
    const one = given(dtype, [2], [1, 0]);
    expect(result(engine, write, given(dtype, [4], [0, 1, 1, 1]), one, start(1))).toEqual([0, 1, 0, 1]);
  });

  it("says what is wrong", () => {
    expect(() => result(engine, write, x, wave([5, 1]), start(0), start(0))).toThrow(
      "does not fit into [4, 3]",
    );
    expect(() => result(engine, write, x, update, start(0))).toThrow("1 starts for the 2 axes");
    expect(() => result(engine, write, x, update, start(0), given("f32", [], [0]))).toThrow("scalars of i32");
    const ints = given("i32", [1, 1], [0]);
    expect(() => result(engine, write, x, ints, start(0), start(0))).toThrow("the update is i32[1,1]");
    expect(() => result(engine, part(0, 4), x, start(0), start(0))).toThrow("does not fit");
  });

  it("has the gradients of both values", () => {
    const both = gradients(engine, write, 0.5, wave([4, 3]), wave([2, 2], 4), start(3), start(1));
    expect(distance(both.byRule, both.byDifference)).toBeLessThan(1e-5);
  });

  it.each([
    ["the value", [true, false, false, false]],
    ["the update", [false, true, false, false]],
    ["starts", [false, false, true, false]],
    ["everything", [true, true, true, true]],
  ] as const)("maps over %s", (_name, mapped) => {
    const starts = (yes: boolean, at: number[]) => (yes ? given("i32", [3], at) : start(1));
    const args = [
      wave(mapped[0] ? [3, 4, 3, 2] : [4, 3, 2]),
      wave(mapped[1] ? [3, 2, 1, 2] : [2, 1, 2], 4),
      starts(mapped[2], [0, 5, -2]),
      starts(mapped[3], [2, 1, 0]),
    ];
    const fn = (...[v, u, a, b]: Value[]) => dynamicUpdateSlice(v as Value, u as Value, [a, b, b] as Value[]);
    const both = mappedAndLooped(engine, fn, mapped, ...args);
    expect(both.mapped).toEqual(both.looped);
  });
});

it("is the plain operation in StableHLO, so that loops update in place", () => {
  const text = withTrace(
    () => undefined,
    ({ root }) => {
      const [value, row] = [
        placeholder(tensorType("f32", [3]), root),
        placeholder(tensorType("f32", [1]), root),
      ];
      const at = placeholder(tensorType("i32", []), root);
      const outputs = [dynamicUpdateSlice(value, row, [at]), dynamicSlice(value, [at], [1])];
      return writeModule(programOf([value, row, at], outputs));
    },
  );
  expect(text).toContain("stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 :");
  expect(text).toContain("stablehlo.dynamic_slice %arg0, %arg2, sizes = [1] :");
});
