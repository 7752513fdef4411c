import { describe, expect, it } from "vitest";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { bernoulli, categorical, rademacher } from "./discrete.ts";
import { draw, moments } from "./draw.test-support.ts";
import { hostKey } from "./host.ts";
import fixture from "./random.fixture.json" with { type: "json" };

describe.each(testEngines())("discrete distributions on %s", (engine) => {
  const logits = () => put(Float32Array.from(fixture.logits), { engine, shape: [3, 4] });

  it.each(fixture.bernoulli)("draws JAX's booleans for p = $p", ({ seed, p, shape, values }) => {
    expect(draw(engine, seed, (k) => bernoulli(k, p, shape))).toEqual({ type: "bool[12]", values });
  });

  it("draws with a probability for each element", () => {
    const p = put([0, 1, 0.5], { engine });
    const drawn = compile((x: Value) => [bernoulli(hostKey(0), x), bernoulli(hostKey(0), x, [2, 3])], {
      engine,
    })(p);
    expect(drawn.map((tensor) => tensor.type.text)).toEqual(["bool[3]", "bool[2,3]"]);
    expect([...(drawn[0]?.readSync().slice(0, 2) ?? [])]).toEqual([0, 1]);
  });

  it.each([0.2, 0.9])("is true as often as %f says", (p) => {
    const { mean } = moments(draw(engine, 4, (k) => bernoulli(k, p, [20_000])).values);
    expect(mean).toBeCloseTo(p, 2);
  });

  it.each(fixture.rademacher)("draws JAX's signs for shape $shape", ({ seed, shape, values }) => {
    expect(draw(engine, seed, (k) => rademacher(k, shape))).toEqual({ type: `i32[${shape}]`, values });
    const floats = draw(engine, seed, (k) => rademacher(k, shape, { dtype: "f32" }));
    expect(floats).toEqual({ type: `f32[${shape}]`, values });
  });

  it.each(fixture.categorical)("draws JAX's categories, axis $axis, shape $shape", (sample) => {
    const { seed, axis, shape, values } = sample;
    const given = logits();
    const drawn = draw(engine, seed, (k) => categorical(k, given, { axis, shape }));
    expect(drawn).toEqual({ type: `i32[${shape}]`, values });
  });

  it("takes the shape of the logits' other axes unless told", () => {
    const given = logits();
    const expected = fixture.categorical[0];
    const drawn = draw(engine, expected?.seed ?? 0, (k) => categorical(k, given));
    expect(drawn).toEqual({ type: "i32[3]", values: expected?.values });
  });

  it("draws categories as often as their softmax says", () => {
    const given = put([0, 1, -1], { engine });
    const { values } = draw(engine, 8, (k) => categorical(k, given, { shape: [20_000] }));
    const weights = [1, Math.E, 1 / Math.E];
    const total = weights.reduce((sum, w) => sum + w, 0);
    weights.forEach((w, i) => {
      const share = values.filter((x) => x === i).length / values.length;
      expect(Math.abs(share - w / total)).toBeLessThan(0.01);
    });
  });

  it("never draws a category whose logit is minus infinity", () => {
    const given = put([0, Number.NEGATIVE_INFINITY, 0], { engine });
    expect(draw(engine, 8, (k) => categorical(k, given, { shape: [1000] })).values).not.toContain(1);
  });

  it.each([
    ["a probability above 1", (k: Value) => bernoulli(k, 1.5), "ARGUMENT_INVALID"],
    ["signs without a minus", (k: Value) => rademacher(k, [], { dtype: "u32" }), "DTYPE_UNSUPPORTED"],
    ["integers as logits", (k: Value) => categorical(k, new Int32Array(3)), "DTYPE_MISMATCH"],
    ["no categories", (k: Value) => categorical(k, new Float32Array(0)), "ARGUMENT_INVALID"],
    ["one number as logits", (k: Value) => categorical(k, 1), "AXIS_OUT_OF_RANGE"],
    [
      "a negative length",
      (k: Value) => categorical(k, new Float32Array(2), { shape: [-1] }),
      "SHAPE_INVALID",
    ],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses a sample with fewer axes than the logits leave", () => {
    const given = logits();
    expect(() => draw(engine, 0, (k) => categorical(k, given, { shape: [] }))).toThrow(
      expect.objectContaining({ code: "SHAPE_MISMATCH", message: expect.stringContaining("[3]") }),
    );
  });
});
