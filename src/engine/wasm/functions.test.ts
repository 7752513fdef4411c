import { describe, expect, it } from "vitest";
import { atan2, cos, log, log1p, pow, sin } from "../ops/elementwise.ts";
import { compile } from "../run/compile.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";

const engine = "wasm" as const;

/** The largest error over numbers spread from `low` to `high`: absolute, and relative to the result. */
function errors(f: (x: Value) => Value, exact: (x: number) => number, low: number, high: number) {
  const x = Float32Array.from({ length: 5000 }, (_, i) => low + ((high - low) * (i + 0.5)) / 5000);
  const y = compile((v: Value) => f(v), { engine })(put(x, { engine })).readSync();
  const off = Array.from(y, (value, i) => Math.abs(value - exact(x[i] as number)));
  return {
    absolute: Math.max(...off),
    relative: Math.max(...off.map((error, i) => error / Math.abs(exact(x[i] as number)))),
  };
}

describe("functions on wasm keep the digits of f32", () => {
  it.each([
    [1e-6, 1e-3],
    [0.5, 2],
    [0.999, 1.001],
    [2, 1e6],
  ])("log from %d to %d", (low, high) => {
    expect(errors(log, Math.log, low, high).relative).toBeLessThan(1e-6);
  });

  it.each([
    [-0.9, -0.1],
    [-1e-3, 1e-3],
    [0.1, 10],
  ])("log1p from %d to %d", (low, high) => {
    expect(errors(log1p, Math.log1p, low, high).relative).toBeLessThan(2e-6);
  });

  it("sine and cosine of many turns", () => {
    expect(errors(sin, Math.sin, -1e4, 1e4).absolute).toBeLessThan(2e-6);
    expect(errors(cos, Math.cos, -1e4, 1e4).absolute).toBeLessThan(2e-6);
  });

  it("powers with fractions", () => {
    expect(
      errors(
        (x) => pow(x, x),
        (x) => x ** x,
        0.1,
        10,
      ).relative,
    ).toBeLessThan(1e-5);
  });

  it("angles in every octant", () => {
    const around = (x: Value) => atan2(sin(x), cos(x));
    expect(errors(around, (x) => x, -3.1, 3.1).absolute).toBeLessThan(2e-6);
  });
});
