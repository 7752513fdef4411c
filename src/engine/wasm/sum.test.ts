import { describe, expect, it } from "vitest";
import * as np from "../np/index.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";

/** The sum of an array over axes of a shape, in f64. */
function exactSum(data: Float32Array, shape: readonly number[], axes: readonly number[]): number[] {
  const kept = shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const sums = new Array<number>(kept.reduce((n, i) => n * (shape[i] as number), 1)).fill(0);
  data.forEach((value, flat) => {
    let rest = flat;
    const at = shape.map(() => 0);
    for (let i = shape.length - 1; i >= 0; i--) {
      at[i] = rest % (shape[i] as number);
      rest = Math.floor(rest / (shape[i] as number));
    }
    const place = kept.reduce((n, i) => n * (shape[i] as number) + (at[i] as number), 0);
    sums[place] = (sums[place] as number) + value;
  });
  return sums;
}

describe.each(testEngines())("long sums on %s", (engine) => {
  it("keep the digits of numbers that a running sum would swallow", () => {
    const ones = compile(() => np.sum(np.ones([20_000_000])), { engine });
    expect(ones().readSync()[0]).toBe(20_000_000);
    const tenths = compile((x: Value) => [np.sum(x), np.mean(x), np.var(x)], { engine });
    const [sum, mean, variance] = tenths(put(new Float32Array(1_000_000).fill(0.1), { engine }));
    expect(sum?.readSync()[0]).toBeCloseTo(100_000, 0);
    expect(mean?.readSync()[0]).toBeCloseTo(0.1, 6);
    expect(variance?.readSync()[0]).toBeLessThan(1e-10);
  });

  it.each([
    { shape: [1025], axes: [0] },
    { shape: [100_003], axes: [0] },
    { shape: [131_072], axes: [0] },
    { shape: [3, 10_007], axes: [1] },
    { shape: [10_007, 3], axes: [0] },
    { shape: [5003, 2], axes: [0, 1] },
    { shape: [300, 7, 11], axes: [0, 1, 2] },
    { shape: [65, 3, 67], axes: [0, 2] },
    { shape: [4, 2048, 2, 3], axes: [1, 2] },
    { shape: [1, 2, 1031, 1, 5], axes: [0, 2, 3] },
    { shape: [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], axes: [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11] },
  ])("are those of f64 over axes $axes of $shape", ({ shape, axes }) => {
    const size = shape.reduce((n, length) => n * length, 1);
    const data = Float32Array.from({ length: size }, (_, i) => 0.1 + ((i * 7919) % 1000) / 1000);
    const sums = compile((x: Value) => np.sum(np.multiply(x, 1), { axis: axes }), { engine })(
      put(data, { shape, engine }),
    );
    const exact = exactSum(data, shape, axes);
    expect(sums.size).toBe(exact.length);
    const worst = Math.max(...[...sums.readSync()].map((got, i) => Math.abs(got / (exact[i] as number) - 1)));
    expect(worst).toBeLessThan(2e-6);
  });

  it("come back in gradients of what is repeated", () => {
    const bias = compile(
      grad((b: Value, x: Value) => np.sum(np.multiply(np.add(x, b), 0.1))),
      { engine },
    );
    const rows = 200_000;
    const got = bias(put([0, 0], { engine }), put(new Float32Array(2 * rows), { shape: [rows, 2], engine }));
    for (const number of got.readSync()) expect(Math.abs(number / (0.1 * rows) - 1)).toBeLessThan(1e-6);
  });
});
