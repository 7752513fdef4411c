import { describe, expect, it } from "vitest";
import { SeededRandom } from "./random.ts";

const many = <T>(n: number, draw: () => T): T[] => Array.from({ length: n }, draw);
const mean = (x: readonly number[]): number => x.reduce((sum, v) => sum + v, 0) / x.length;

describe("random numbers of environments", () => {
  it("are those of xoshiro128++", () => {
    const random = new SeededRandom(0);
    random.setState(Uint32Array.of(1, 2, 3, 4));
    // The first ones after the state 1 2 3 4 by the reference implementation in C of its authors.
    expect(many(10, () => random.bits())).toEqual([
      641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732, 1355841295, 495546011,
      621204420,
    ]);
  });

  it("are the same for the same seed and go on from a state", () => {
    const [a, b, c] = [new SeededRandom(5), new SeededRandom(5), new SeededRandom(6)];
    const first = many(5, () => a.uniform());
    expect(many(5, () => b.uniform())).toEqual(first);
    expect(many(5, () => c.uniform())).not.toEqual(first);
    c.setState(a.getState());
    expect(many(5, () => c.normal())).toEqual(many(5, () => a.normal()));
  });

  it("are spread as they say", () => {
    const random = new SeededRandom(1);
    const uniform = many(10_000, () => random.uniform(-1, 3));
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(-1);
    expect(Math.max(...uniform)).toBeLessThan(3);
    expect(mean(uniform)).toBeCloseTo(1, 1);
    const normal = many(10_000, () => random.normal(2, 3));
    expect(Math.abs(mean(normal) - 2)).toBeLessThan(0.15);
    expect(Math.abs(mean(normal.map((x) => (x - 2) ** 2)) - 9)).toBeLessThan(0.7);
    const whole = many(3000, () => random.integer(3));
    for (const one of [0, 1, 2])
      expect(Math.abs(whole.filter((n) => n === one).length - 1000)).toBeLessThan(150);
    expect(new Set(many(50, () => random.pick(["a", "b"])))).toEqual(new Set(["a", "b"]));
    expect(random.permutation(6).sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(random.permutation(30)).not.toEqual(random.permutation(30));
  });

  it("refuse what is no number of choices and no state", () => {
    const random = new SeededRandom(1);
    expect(() => random.integer(0)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
    expect(() => random.setState([1, 2, 3, 4])).toThrow(expect.objectContaining({ code: "STATE_INVALID" }));
  });
});
