import { describe, expect, it } from "vitest";
import type { Series } from "../api.ts";
import { nestHooks, stackTimes } from "./timeline.ts";

const series = (key: string, x: number[], mean: (number | null)[]): Series => ({
  run: "a",
  key,
  x,
  mean,
  min: mean,
  max: mean,
  values: x.length,
  notFinite: 0,
});

describe("timeline", () => {
  it("stacks phases, then hooks by their time, then the rest", () => {
    const layers = stackTimes([
      series("time/hooks/small", [10, 20], [0.05, 0.05]),
      series("time/phases/train", [10, 20], [0.5, 0.25]),
      series("time/hooks/large", [10, 20], [0.25, 0.5]),
      series("time/samplesPerSecond", [10, 20], [900, 900]),
    ]);
    expect(layers.map(({ name }) => name)).toEqual(["train", "large", "small", "everything else"]);
    expect(layers.map(({ tops }) => tops.map((one) => Number(one.toFixed(6))))).toEqual([
      [0.5, 0.25],
      [0.75, 0.75],
      [0.8, 0.8],
      [1, 1],
    ]);
    expect(layers.at(-1)?.shares[0]).toBeCloseTo(0.2);
  });

  it("keeps the share of the reading before where a series has none, and 0 before its first", () => {
    const layers = stackTimes([
      series("time/phases/train", [1, 3], [0.5, null]),
      series("time/phases/validation", [2], [0.25]),
    ]);
    expect(layers[0]?.shares).toEqual([0.5, 0.5, 0.5]);
    expect(layers[1]?.shares).toEqual([0, 0.25, 0.25]);
  });

  it("scales a reading in which hooks in the background took more than the time that passed", () => {
    const layers = stackTimes([
      series("time/phases/train", [1, 2], [1, 0.5]),
      series("time/hooks/evaluation", [1, 2], [3, 0.25]),
    ]);
    expect(layers.map(({ shares }) => shares)).toEqual([
      [0.25, 0.5],
      [0.75, 0.25],
      [0, 0.25],
    ]);
  });
});

describe("hooks in one another", () => {
  const hooks = [
    { name: "metrics.time", total: 3 },
    { name: "metrics", total: 1 },
    { name: "metrics.time.probe", total: 2 },
    { name: "checkpoint.keeper", total: 7 },
  ];

  it("puts a hook after the nearest one whose name begins its own, and the longest first", () => {
    // There is no hook "checkpoint": its part stands alone.
    expect(nestHooks(hooks).map(({ name, own, total, depth }) => [name, own, total, depth])).toEqual([
      ["checkpoint.keeper", 7, 7, 0],
      ["metrics", 1, 6, 0],
      ["metrics.time", 3, 5, 1],
      ["metrics.time.probe", 2, 2, 2],
    ]);
  });
});
