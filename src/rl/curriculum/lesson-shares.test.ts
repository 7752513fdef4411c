import { describe, expect, it } from "vitest";
import { lessonShares } from "./lesson-curriculum.ts";

const standing = (score: number, episodes = 0) => ({ score, episodes });

describe("lessonShares", () => {
  it("weighs by 4s - 4s^2 and by how new a lesson is", () => {
    // 4 * 0.5 - 4 * 0.25 = 1, twice 1 at 0 episodes; 4 * 0.9 - 4 * 0.81 = 0.36, times 1 + e^-1 at 100.
    const second = 0.36 * (1 + Math.exp(-1));
    const shares = lessonShares([standing(0.5), standing(0.9, 100)], 0.01, 0);
    expect(shares[0]).toBeCloseTo(2 / (2 + second), 12);
    expect(shares[1]).toBeCloseTo(second / (2 + second), 12);
  });

  it("gives none less than the floor, and then sums to 1 again", () => {
    // One lesson has all the weight: 1, 0.1 and 0.1 of 1.2.
    const shares = lessonShares([standing(0.5), standing(1), standing(0)], 0.01, 0.1);
    expect(shares[0]).toBeCloseTo(1 / 1.2, 12);
    expect(shares[1]).toBeCloseTo(0.1 / 1.2, 12);
    expect(shares[2]).toBeCloseTo(0.1 / 1.2, 12);
  });

  it("is even where nothing is half known", () => {
    expect(lessonShares([standing(1), standing(0)], 0.01, 0.1)).toEqual([0.5, 0.5]);
    expect(lessonShares([standing(1), standing(0)], 0.01, 0)).toEqual([0.5, 0.5]);
  });
});
