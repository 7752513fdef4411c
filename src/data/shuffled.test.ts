import { describe, expect, it } from "vitest";
import { shuffled } from "./shuffled.ts";

describe("an order", () => {
  it("holds every number once", () => {
    for (const n of [0, 1, 2, 7, 1000])
      expect([...shuffled(Uint32Array.of(5, 9), n)].sort((a, b) => a - b)).toEqual(
        Array.from({ length: n }, (_, i) => i),
      );
  });

  it("follows from the key alone, and another bit gives another order", () => {
    const one = shuffled(Uint32Array.of(1, 2), 100);
    expect(shuffled(Uint32Array.of(1, 2), 100)).toEqual(one);
    for (const key of [Uint32Array.of(0, 2), Uint32Array.of(1, 3), Uint32Array.of(2, 1)]) {
      const same = [...shuffled(key, 100)].filter((row, i) => row === one[i]).length;
      expect(same).toBeLessThan(10);
    }
  });

  it("has every permutation of a few equally often", () => {
    const counts = new Map<string, number>();
    const draws = 24_000;
    for (let i = 0; i < draws; i++) {
      const text = shuffled(Uint32Array.of(i, 77), 4).join();
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    const expected = draws / 24;
    const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    expect(chiSquare).toBeLessThan(49.7); // 23 degrees of freedom, once in a thousand
  });

  it("puts every example at every place", () => {
    const sums = new Float64Array(50);
    for (let i = 0; i < 2000; i++)
      shuffled(Uint32Array.of(3, i), 50).forEach((row, place) => {
        sums[row] = (sums[row] as number) + place;
      });
    for (const sum of sums) expect(Math.abs(sum / 2000 - 24.5)).toBeLessThan(1.6); // five deviations of the mean
  });
});
