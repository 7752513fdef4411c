import { describe, expect, it } from "vitest";
import { behavesAsReward, fails, sample, samples } from "./reward-conformance.test-support.ts";
import { troubled } from "./rewards.test-support.ts";
import { exactAnswer, scoreAll, type TextReward } from "./rewards.ts";

type RewardFunction = Extract<TextReward, (...args: never[]) => unknown>;
const reward = troubled as RewardFunction;

describe("scoreAll", () => {
  behavesAsReward([
    ["a function", reward, "waits"],
    ["an asynchronous function", async (one) => reward(one), "waits"],
  ]);

  it("gives 1 where the text is the answer, without a reward", async () => {
    const scores = await scoreAll(samples("yes", "no", "yes\n", ""));
    expect(scores).toEqual({ rewards: Float32Array.of(1, 0, 0, 0), dropped: new Uint8Array(4), failures: 0 });
    expect(exactAnswer(sample("yes"))).toBe(1);
    expect((await scoreAll([])).rewards).toHaveLength(0);
  });

  it("refuses what is no reward", async () => {
    const odd: unknown = "length";
    await expect(scoreAll(samples("a"), odd as TextReward)).rejects.toThrow(
      fails("OPTION_INVALID", /"length"/),
    );
    const module = { module: import.meta.url, name: "x", threads: 0 };
    await expect(scoreAll(samples("a"), module)).rejects.toThrow(fails("OPTION_INVALID", /threads is 0/));
  });
});
