import { describe, expect, it } from "vitest";
import * as np from "../np/index.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { vmap } from "../transform/vmap.ts";

describe.each(testEngines())("products over long axes on %s", (engine) => {
  const numbers = (shape: readonly number[], phase = 0) =>
    put(
      Float32Array.from(
        { length: shape.reduce((n, length) => n * length, 1) },
        (_, i) => 0.1 + (((i + phase) * 7919) % 1000) / 1000,
      ),
      { shape, engine },
    );
  /** The largest relative difference to another array. */
  const error = (got: ArrayLike<number>, wanted: ArrayLike<number>) =>
    Math.max(...Array.from(got, (value, i) => Math.abs(value / (wanted[i] as number) - 1)));

  it.each([
    { a: [1_000_000], b: [1_000_000], spec: "k,k->" },
    { a: [1, 50_021], b: [50_021, 4], spec: "mk,kn->mn" },
    { a: [3, 20_000], b: [20_000], spec: "mk,k->m" },
    { a: [2, 40_000, 3], b: [40_000, 2, 2], spec: "bkm,kbn->bmn" },
    { a: [200, 2, 150], b: [150, 200], spec: "imj,ji->m" },
    { a: [3, 130, 131], b: [131, 3, 130], spec: "ijk,kij->" },
  ])("keep their digits: $spec", ({ a, b, spec }) => {
    const [x, y] = [numbers(a), numbers(b, 13)];
    const got = compile((u: Value, v: Value) => np.einsum(spec, u, v), { engine })(x, y);
    expect(error(got.readSync(), exactEinsum(spec, x, y))).toBeLessThan(2e-6);
  });

  it("have their derivatives, and run under vmap", () => {
    const k = 20_000;
    const loss = (u: Value, v: Value) => np.sum(np.square(np.matmul(u, v)));
    const gradients = compile(grad(loss, { argnums: [0, 1] }), { engine });
    const [x, y] = [numbers([2, k]), numbers([k], 5)];
    const [dx, dy] = gradients(x, y);
    const products = exactEinsum("mk,k->m", x, y);
    const [xs, ys] = [x.readSync(), y.readSync()];
    expect(dx?.shape).toEqual([2, k]);
    const wantX = Array.from(
      xs,
      (_, i) => 2 * (products[Math.floor(i / k)] as number) * (ys[i % k] as number),
    );
    expect(error(dx?.readSync() ?? [], wantX)).toBeLessThan(1e-5);
    const wantY = Array.from(ys, (_, i) =>
      [0, 1].reduce((sum, m) => sum + 2 * (products[m] as number) * (xs[m * k + i] as number), 0),
    );
    expect(error(dy?.readSync() ?? [], wantY)).toBeLessThan(1e-5);
    const mapped = compile((u: Value, v: Value) => vmap((row: Value) => np.dot(row, v))(u), { engine });
    expect(error(mapped(x, y).readSync(), products)).toBeLessThan(2e-6);
  });

  it("name shapes that do not fit", () => {
    const f = compile((u: Value, v: Value) => np.dot(u, v), { engine });
    expect(() => f(numbers([20_000]), numbers([20_001]))).toThrow(/SHAPE_MISMATCH/);
  });
});

/** Products summed in f64, by going over all indices. */
function exactEinsum(spec: string, x: ReturnType<typeof put>, y: ReturnType<typeof put>): number[] {
  const [left, right, out] = spec.split(/,|->/) as [string, string, string];
  const letters = [...new Set(left + right)];
  const lengths = letters.map((letter) =>
    left.includes(letter)
      ? (x.shape[left.indexOf(letter)] as number)
      : (y.shape[right.indexOf(letter)] as number),
  );
  const strides = (names: string) =>
    letters.map((letter) => {
      const at = names.indexOf(letter);
      return at < 0
        ? 0
        : [...names.slice(at + 1)].reduce((n, later) => n * (lengths[letters.indexOf(later)] as number), 1);
    });
  const [sx, sy, so] = [strides(left), strides(right), strides(out)];
  const [xs, ys] = [x.readSync(), y.readSync()];
  const sums = new Array<number>(
    [...out].reduce((n, letter) => n * (lengths[letters.indexOf(letter)] as number), 1),
  ).fill(0);
  const walk = (depth: number, i: number, j: number, o: number): void => {
    if (depth === letters.length) {
      sums[o] = (sums[o] as number) + (xs[i] as number) * (ys[j] as number);
      return;
    }
    for (let at = 0; at < (lengths[depth] as number); at++)
      walk(
        depth + 1,
        i + at * (sx[depth] as number),
        j + at * (sy[depth] as number),
        o + at * (so[depth] as number),
      );
  };
  walk(0, 0, 0, 0);
  return sums;
}
