import { describe, expect, it } from "vitest";
import type { StateTree } from "../state/index.ts";
import { type ByMetricOptions, byMetric } from "./by-metric.ts";
import { noCounters } from "./counters.ts";

/** The values after each observation of `reward`. */
function follow(options: Partial<ByMetricOptions>, rewards: readonly number[]): number[] {
  const ramp = byMetric({ metric: "train/reward", initial: 0.5, ...options });
  return rewards.map((reward) => {
    ramp.observe?.({ "train/reward": reward, other: 100 });
    return ramp.at(noCounters);
  });
}

describe("byMetric", () => {
  it("has its initial value until it has seen the metric, then the metric", () => {
    expect(byMetric({ metric: "train/reward", initial: 0.5 }).at(noCounters)).toBe(0.5);
    expect(follow({}, [1, 3])).toEqual([1, 3]);
  });

  it("takes the mean of the last epochs, of as many as there are", () => {
    expect(follow({ mean: 3 }, [3, 5, 10, 15])).toEqual([3, 4, 6, 10]);
  });

  it("transforms the mean, averages, then clamps, in this order", () => {
    const transform = (x: number) => 2 * x;
    expect(follow({ mean: 2, transform }, [1, 3])).toEqual([2, 4]);
    expect(follow({ transform, ema: 0.5, initial: 0 }, [4, 4])).toEqual([4, 6]);
    // The average goes on beyond the clamp: 4, 6, then 3 + 0 = 3.
    expect(follow({ transform, ema: 0.5, clamp: [0, 5], initial: 0 }, [4, 4, 0])).toEqual([4, 5, 3]);
  });

  it("keeps its value in epochs without the metric, or with one that is not finite", () => {
    const ramp = byMetric({ metric: "train/reward", initial: 0.5, transform: Math.log });
    ramp.observe?.({ "train/loss": 1 });
    ramp.observe?.({ "train/reward": Number.NaN });
    expect(ramp.at(noCounters)).toBe(0.5);
    ramp.observe?.({ "train/reward": 1 });
    ramp.observe?.({ "train/reward": 0 });
    expect(ramp.at(noCounters)).toBe(0);
  });

  it("goes on from its state as if it had never stopped", async () => {
    const make = () => byMetric({ metric: "train/reward", initial: 1, mean: 3, ema: 0.9 });
    const [whole, resumed] = [make(), make()];
    for (const reward of [1, 2, 5, 3]) whole.observe?.({ "train/reward": reward });
    const saved = (await whole.state?.getState()) as StateTree;
    await resumed.state?.setState(JSON.parse(JSON.stringify(saved)));
    expect(resumed.at(noCounters)).toBe(whole.at(noCounters));
    for (const ramp of [whole, resumed]) ramp.observe?.({ "train/reward": 7 });
    expect(resumed.at(noCounters)).toBe(whole.at(noCounters));
    expect(await whole.state?.getState()).not.toEqual(saved);
  });

  it.each([null, {}, { seen: [1] }, { seen: 1, value: 1 }, { seen: [], value: "1" }])(
    "refuses a state that is none: %j",
    (state) => {
      const ramp = byMetric({ metric: "train/reward", initial: 0.5 });
      expect(() => ramp.state?.setState(state)).toThrow(/not a state of a ramp that follows train\/reward/);
      expect(ramp.at(noCounters)).toBe(0.5);
    },
  );

  it("says what it follows, and how", () => {
    expect(byMetric({ metric: "train/reward", initial: 0.5 }).follows).toEqual(["train/reward"]);
    const all = { metric: "train/reward", initial: 0.5, mean: 5, transform: Math.sqrt, ema: 0.9 };
    expect(byMetric({ ...all, clamp: [0, 1] }).describe()).toBe(
      "following train/reward, its mean over 5 epochs, transformed, keeping 0.9 of the old value, from 0 to 1, 0.5 at first",
    );
  });
});
