import { describe, expect, it } from "vitest";
import { sampler } from "./sampler.test-support.ts";

describe("random choices", () => {
  it("are the same for the same seed and others for another", () => {
    const draw = (seed: number) => sampler(seed).numbers("f32", [5]).data;
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  it("make shapes of all kinds: scalars, axes of length 1, axes without elements", () => {
    const random = sampler(3);
    const shapes = Array.from({ length: 100 }, () => random.shape());
    expect(shapes.some((shape) => shape.length === 0)).toBe(true);
    expect(shapes.some((shape) => shape.includes(1))).toBe(true);
    expect(shapes.every((shape) => !shape.includes(0))).toBe(true);
    expect(random.shape({ minRank: 2, maxRank: 2, empty: true })).toContain(0);
  });

  it("make pairs of shapes that broadcast", () => {
    const random = sampler(4);
    for (let i = 0; i < 50; i++) {
      const { from, to } = random.broadcastPair();
      const tail = to.slice(to.length - from.length);
      expect(from.every((n, d) => n === 1 || n === tail[d])).toBe(true);
    }
  });

  it("stay within their limits", () => {
    const random = sampler(5);
    expect(random.numbers("u8", [100]).data.every((x) => x >= 0 && x <= 9)).toBe(true);
    expect(random.numbers("f32", [100], 2, 3).data.every((x) => x >= 2 && x <= 3)).toBe(true);
    expect(new Set(random.numbers("bool", [50]).data)).toEqual(new Set([0, 1]));
  });
});
