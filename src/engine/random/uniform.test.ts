import { describe, expect, it } from "vitest";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { digest, draw, moments } from "./draw.test-support.ts";
import { hostKey } from "./host.ts";
import fixture from "./random.fixture.json" with { type: "json" };
import { bits, uniform } from "./uniform.ts";

describe.each(testEngines())("bits and uniform on %s", (engine) => {
  it.each(fixture.bits)("draws JAX's bits for seed $seed and shape $shape", ({ seed, shape, values }) => {
    expect(draw(engine, seed, (k) => bits(k, shape))).toEqual({ type: `u32[${shape}]`, values });
  });

  it.each(fixture.bytes)("draws JAX's bytes", ({ seed, shape, values }) => {
    expect(draw(engine, seed, (k) => bits(k, shape, { dtype: "u8" }))).toEqual({ type: "u8[6]", values });
  });

  it("draws the same 100,000 words as JAX", () => {
    const { seed, n, ...expected } = fixture.manyBits;
    expect(digest(draw(engine, seed, (k) => bits(k, [n])).values)).toEqual(expected);
  });

  it.each(fixture.uniform)(
    "draws JAX's numbers for seed $seed and shape $shape",
    ({ seed, shape, values }) => {
      expect(draw(engine, seed, (k) => uniform(k, shape))).toEqual({ type: `f32[${shape}]`, values });
    },
  );

  it.each(fixture.uniformBetween)(
    "draws JAX's numbers from $min up to $max",
    ({ seed, min, max, values }) => {
      const drawn = draw(engine, seed, (k) => uniform(k, [6], { min, max })).values;
      const span = max - min;
      // XLA joins the product and the sum into one rounding; wasm rounds twice. A power of two needs no rounding.
      if (engine === "xla" || Number.isInteger(Math.log2(span))) expect(drawn).toEqual(values);
      else drawn.forEach((x, i) => expect(Math.abs(x - (values[i] as number))).toBeLessThan(span * 2 ** -23));
    },
  );

  it("takes traced ends and differentiates by them", () => {
    const ends = put([[1], [10]], { engine });
    const f = (low: Value) => uniform(hostKey(0), [2, 3], { min: low, max: 20 });
    const slope = (low: Value) => grad((v: Value) => reduceSum(f(v), [0, 1]))(low);
    const [drawn, slopes] = compile((low: Value) => [f(low), slope(low)], { engine })(ends);
    const units = draw(engine, 0, (k) => uniform(k, [2, 3])).values;
    const expected = units.map((u, i) => (i < 3 ? 1 + 19 * u : 10 + 10 * u));
    drawn?.readSync().forEach((x, i) => expect(x).toBeCloseTo(expected[i] as number, 4));
    const sums = [0, 1].map((row) => units.slice(3 * row, 3 * row + 3).reduce((sum, u) => sum + 1 - u, 0));
    slopes?.readSync().forEach((x, i) => expect(x).toBeCloseTo(sums[i] as number, 4));
  });

  it("fills the unit interval evenly", () => {
    const { values } = draw(engine, 5, (k) => uniform(k, [20_000]));
    const { mean, variance } = moments(values);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(mean).toBeCloseTo(1 / 2, 2);
    expect(variance).toBeCloseTo(1 / 12, 2);
  });

  it.each([
    ["a negative length", (k: Value) => uniform(k, [-1]), "SHAPE_INVALID"],
    ["a fractional length", (k: Value) => bits(k, [1.5]), "SHAPE_INVALID"],
    ["an empty range", (k: Value) => uniform(k, [1], { min: 1, max: 1 }), "ARGUMENT_INVALID"],
    ["bits of floats", (k: Value) => bits(k, [], { dtype: "f32" as "u32" }), "DTYPE_UNSUPPORTED"],
    ["64-bit floats", (k: Value) => uniform(k, [], { dtype: "f64" as "f32" }), "DTYPE_UNSUPPORTED"],
    [
      "ends longer than the sample",
      (k: Value) => uniform(k, [3], { min: new Float32Array(2) }),
      "SHAPE_MISMATCH",
    ],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(expect.objectContaining({ code }));
  });

  it.each([
    ["bf16", fixture.uniformBf16],
    ["f16", fixture.uniformF16],
  ] as const)("draws JAX's %s numbers, or says that the engine has none", (dtype, [expected]) => {
    const run = () => draw(engine, expected?.seed ?? 0, (k) => uniform(k, [6], { dtype }));
    if (engine === "wasm") expect(run).toThrow(expect.objectContaining({ code: "DTYPE_UNSUPPORTED" }));
    else expect(run()).toEqual({ type: `${dtype}[6]`, values: expected?.values });
  });
});
