import { describe, expect, it } from "vitest";
import { hostRandom } from "../engine/index.ts";
import { normalProbability, normalQuantile } from "./draw.ts";
import * as initializers from "./initializers.ts";

const key = hostRandom.hostKey(0);
const draw = (init: initializers.Initializer, shape: readonly number[]) => [...init(key, shape)];
const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length;
const std = (xs: readonly number[]) => {
  const middle = mean(xs);
  return Math.sqrt(mean(xs.map((x) => (x - middle) ** 2)));
};

describe("the normal quantile", () => {
  it("is Python's statistics.NormalDist().inv_cdf to all digits", () => {
    const known = [
      [1e-300, -37.0470962993612],
      [1e-10, -6.361340902404056],
      [0.01, -2.3263478740408408],
      [0.3, -0.5244005127080407],
      [0.5, 0],
      [0.9, 1.2815515655446008],
      [0.99999, 4.26489079392384],
    ] as const;
    for (const [p, x] of known)
      expect(Math.abs(normalQuantile(p) - x)).toBeLessThanOrEqual(1e-15 * Math.max(1, Math.abs(x)));
  });

  it("is undone by the probability", () => {
    expect(normalProbability(-2)).toBeCloseTo(0.022750131948179195, 16);
    expect(normalProbability(1.96)).toBeCloseTo(0.9750021048517795, 15);
    expect(normalProbability(-8) / 6.220960574271785e-16).toBeCloseTo(1, 10);
  });
});

describe("initializers", () => {
  it("fill with one number", () => {
    expect(draw(initializers.zeros, [2, 2])).toEqual([0, 0, 0, 0]);
    expect(draw(initializers.ones, [3])).toEqual([1, 1, 1]);
    expect(draw(initializers.constant(0.5), [2])).toEqual([0.5, 0.5]);
  });

  it("draw the same numbers from the same key and others from another", () => {
    const init = initializers.normal();
    expect(draw(init, [8])).toEqual(draw(init, [8]));
    expect(draw(init, [8])).not.toEqual([...init(hostRandom.hostKey(1), [8])]);
    expect(draw(init, [8]).slice(0, 4)).toEqual(draw(init, [4]));
  });

  it("have the spread they promise", () => {
    // 72 inputs, 144 outputs; 18432 numbers in all, so that a standard deviation is known to half a percent.
    const shape = [3, 3, 8, 16];
    const wanted = [
      ["xavierUniform", initializers.xavierUniform(), 2 / 216],
      ["xavierNormal", initializers.xavierNormal(), 2 / 216],
      ["kaimingUniform", initializers.kaimingUniform(), 2 / 72],
      ["kaimingNormal", initializers.kaimingNormal(), 2 / 72],
      ["lecunUniform", initializers.lecunUniform(), 1 / 72],
      ["lecunNormal", initializers.lecunNormal(), 1 / 72],
    ] as const;
    for (const [name, init, variance] of wanted) {
      const expected = Math.sqrt(variance);
      const numbers = Array.from({ length: 16 }, (_, i) => [...init(hostRandom.hostKey(i), shape)]).flat();
      expect(std(numbers) / expected, name).toBeGreaterThan(0.98);
      expect(std(numbers) / expected, name).toBeLessThan(1.02);
      expect(Math.abs(mean(numbers)) / expected, name).toBeLessThan(0.03);
    }
    expect(std(draw(initializers.normal({ mean: 3, std: 0.5 }), [20_000]))).toBeCloseTo(0.5, 1);
    expect(mean(draw(initializers.normal({ mean: 3, std: 0.5 }), [20_000]))).toBeCloseTo(3, 1);
    expect(std(draw(initializers.kaimingNormal({ gain: 1, mode: "fanOut" }), [100, 200]))).toBeCloseTo(
      0.0707,
      2,
    );
  });

  it("stay within their bounds", () => {
    const uniform = draw(initializers.uniform({ min: -2, max: 3 }), [10_000]);
    expect([Math.min(...uniform) >= -2, Math.max(...uniform) <= 3]).toEqual([true, true]);
    expect(mean(uniform)).toBeCloseTo(0.5, 1);
    const cut = draw(initializers.truncatedNormal({ mean: 1, std: 2, min: -1, max: 0.5 }), [10_000]);
    expect(Math.min(...cut)).toBeGreaterThanOrEqual(-1);
    expect(Math.max(...cut)).toBeLessThanOrEqual(2);
    const far = draw(initializers.truncatedNormal({ min: 9, max: 10 }), [1000]);
    expect([Math.min(...far) >= 9, new Set(far).size > 900]).toEqual([true, true]);
    expect(std(draw(initializers.truncatedNormal(), [20_000]))).toBeCloseTo(0.8796, 2);
  });

  it("make matrices orthogonal, tall, wide and of kernels", () => {
    for (const [shape, gain] of [
      [[6, 4], 1],
      [[4, 6], 2],
      [[5, 5], 1],
      [[2, 3, 4], 1],
      [[1, 1], 1],
    ] as const) {
      const columns = shape.at(-1) as number;
      const numbers = draw(initializers.orthogonal({ gain }), shape);
      const rows = numbers.length / columns;
      const at = (i: number, j: number) => numbers[i * columns + j] as number;
      const short = Math.min(rows, columns);
      for (let a = 0; a < short; a++)
        for (let b = 0; b < short; b++) {
          let sum = 0;
          for (let k = 0; k < Math.max(rows, columns); k++)
            sum += rows < columns ? at(a, k) * at(b, k) : at(k, a) * at(k, b);
          expect(sum).toBeCloseTo(a === b ? gain * gain : 0, 5);
        }
    }
  });

  it("prefer no sign of an orthogonal matrix", () => {
    const init = initializers.orthogonal();
    const corners = Array.from({ length: 400 }, (_, i) => init(hostRandom.hostKey(i), [2, 2])[0] as number);
    expect(Math.abs(mean(corners))).toBeLessThan(0.12);
    const positive = corners.filter((x) => x > 0).length / corners.length;
    expect(Math.abs(positive - 0.5)).toBeLessThan(0.1);
  });

  it("refuse what they do not know", () => {
    const { constant, kaimingNormal, normal, orthogonal, truncatedNormal, uniform, xavierUniform } =
      initializers;
    expect(() => normal({ sdt: 1 } as never)).toThrow(
      /no option "sdt"; did you mean "std"\? \[OPTION_UNKNOWN\]/,
    );
    expect(() => normal({ std: -1 })).toThrow(/std is -1.*OPTION_INVALID/);
    expect(() => uniform({ min: 2 })).toThrow(/min is 2 and max is 1/);
    expect(() => truncatedNormal({ min: 1, max: 1 })).toThrow(/OPTION_INVALID/);
    expect(() => constant(Number.NaN)).toThrow(/OPTION_INVALID/);
    expect(() => kaimingNormal({ mode: "fan_in" as never })).toThrow(/did you mean "fanIn"/);
    expect(() => xavierUniform()(key, [4])).toThrow(/shape \[4\] has no inputs and outputs/);
    expect(() => orthogonal()(key, [4])).toThrow(/no matrix/);
    expect(() => (orthogonal as unknown as initializers.Initializer)(key, [4, 4])).toThrow(/call it/);
  });
});
