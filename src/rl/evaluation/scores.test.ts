import { describe, expect, it } from "vitest";
import type { EpisodeResult } from "./play.ts";
import { allScores, scoresOf } from "./suites.ts";

const episode = (total: number, length: number): EpisodeResult => ({
  ...{ return: total, length, terminated: true, lesson: 0, seed: 0 },
});

describe("scores", () => {
  it("are mean, extremes and deviation of returns, mean length, and the share above 0", () => {
    expect(scoresOf([episode(1, 2), episode(0, 4), episode(-3, 3), episode(6, 3)])).toEqual({
      return: 1,
      "return.min": -3,
      "return.max": 6,
      "return.deviation": Math.sqrt((0 + 1 + 16 + 25) / 4),
      length: 3,
      positive: 0.5,
      episodes: 4,
    });
    expect(() => scoresOf([])).toThrow(/no episodes to score/);
  });

  it("of all suites are those of all episodes together, and each suite's under its name", () => {
    const [a, b] = [[episode(1, 2), episode(3, 4)], [episode(-5, 9)]] as const;
    const all = allScores([
      { suite: "a", scores: scoresOf(a) },
      { suite: "b", scores: scoresOf(b) },
    ]);
    for (const [name, value] of Object.entries(scoresOf([...a, ...b])))
      expect(all[name]).toBeCloseTo(value, 12);
    expect(all).toMatchObject({ "a.return": 2, "b.return": -5, "b.episodes": 1 });
  });
});
