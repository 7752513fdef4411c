import { describe, expect, it } from "vitest";
import { reduceSum } from "../ops/reduce.ts";
import { compile } from "../run/compile.ts";
import { sweepEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { exponential, gumbel, laplace, normal, truncatedNormal } from "./continuous.ts";
import { draw, moments } from "./draw.test-support.ts";
import { hostKey } from "./host.ts";
import fixture from "./random.fixture.json" with { type: "json" };

const functions = { normal, gumbel, exponential, laplace };
const cases = (Object.keys(functions) as (keyof typeof functions)[]).flatMap((name) =>
  fixture[name].map((sample) => ({ name, ...sample })),
);
const near = (x: number, y: number): number => Math.abs(x - y) / Math.max(1, Math.abs(y));

/** The largest distance of two lists, relative above 1; infinite where their lengths differ. */
const farthest = (a: readonly number[], b: readonly number[]): number =>
  a.length === b.length ? Math.max(0, ...a.map((x, i) => near(x, b[i] as number))) : Number.POSITIVE_INFINITY;

describe.each(sweepEngines())("continuous distributions on %s", (engine) => {
  it.each(cases)("draws JAX's $name for seed $seed and shape $shape", ({ name, seed, shape, values }) => {
    const drawn = draw(engine, seed, (k) => functions[name](k, shape));
    expect(drawn.type).toBe(`f32[${shape}]`);
    expect(farthest(drawn.values, values)).toBeLessThan(1e-6);
  });

  it.each(fixture.truncatedNormal)("draws JAX's normal between $lower and $upper", (sample) => {
    const { seed, lower, upper, shape, values } = sample;
    const drawn = draw(engine, seed, (k) => truncatedNormal(k, lower, upper, shape));
    expect(farthest(drawn.values, values)).toBeLessThan(1e-6);
  });

  // Mean and variance as the textbook has them; the seed is fixed, so that the same numbers come every time.
  it.each([
    ["normal", 0, 1],
    ["gumbel", 0.5772, Math.PI ** 2 / 6],
    ["exponential", 1, 1],
    ["laplace", 0, 2],
  ] as const)("draws %s with mean %f and variance %f", (name, mean, variance) => {
    const found = moments(draw(engine, 17, (k) => functions[name](k, [40_000])).values);
    expect(Math.abs(found.mean - mean)).toBeLessThan(0.03);
    expect(Math.abs(found.variance / variance - 1)).toBeLessThan(0.04);
  });

  it("keeps the truncated normal strictly between its ends", () => {
    const { values } = draw(engine, 3, (k) => truncatedNormal(k, 0, 1e-3, [5_000]));
    expect(Math.min(...values)).toBeGreaterThan(0);
    expect(Math.max(...values)).toBeLessThan(Math.fround(1e-3));
  });

  it("truncates far out, at infinity and between traced ends", () => {
    const far = draw(engine, 3, (k) => truncatedNormal(k, 1, Number.POSITIVE_INFINITY, [2_000])).values;
    expect(Math.min(...far)).toBeGreaterThan(1);
    expect(far.every(Number.isFinite)).toBe(true);
    const ends = put([0, -3], { engine });
    const between = (low: Value) => truncatedNormal(hostKey(0), low, new Float32Array([1, -2]));
    const both = compile(between, { engine })(ends);
    expect(both.type.text).toBe("f32[2]");
    const [a, b] = both.readSync() as unknown as [number, number];
    expect(a > 0 && a < 1 && b > -3 && b < -2).toBe(true);
  });

  it("differentiates the truncated normal by its ends", () => {
    const fn = (low: Value): Value => truncatedNormal(hostKey(0), low, 2, [5]);
    const slope = compile((low: Value) => grad((v: Value) => reduceSum(fn(v), [0]))(low), { engine });
    const value = compile((low: Value) => reduceSum(fn(low), [0]), { engine });
    const at = (x: number) => value(put(x, { engine })).readSync()[0] as number;
    const difference = (at(-0.99) - at(-1.01)) / 0.02;
    expect(slope(put(-1, { engine })).readSync()[0]).toBeCloseTo(difference, 2);
  });

  it.each([
    ["ends in the wrong order", (k: Value) => truncatedNormal(k, 1, -1), "ARGUMENT_INVALID"],
    ["a negative length", (k: Value) => normal(k, [-2]), "SHAPE_INVALID"],
    ["integers", (k: Value) => gumbel(k, [], { dtype: "i32" as "f32" }), "DTYPE_UNSUPPORTED"],
    ["a key of the wrong shape", () => laplace(new Uint32Array(4)), "KEY_INVALID"],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(expect.objectContaining({ code }));
  });

  it("rounds to 16 bits where the engine has them", () => {
    const run = () => draw(engine, 11, (k) => normal(k, [40], { dtype: "bf16" }));
    if (engine === "wasm") expect(run).toThrow(expect.objectContaining({ code: "DTYPE_UNSUPPORTED" }));
    else expect(farthest(run().values, fixture.normal.at(-1)?.values ?? [])).toBeLessThan(2 ** -8);
  });
});
