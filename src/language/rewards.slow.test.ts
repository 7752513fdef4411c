import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { behavesAsReward, fails, sample, samples } from "./reward-conformance.test-support.ts";
import { type RewardModule, scoreAll } from "./rewards.ts";

const thread: RewardModule = {
  module: new URL("./rewards.test-support.ts", import.meta.url).href,
  name: "troubled",
  timeout: 500,
};

describe("scoreAll on threads", () => {
  behavesAsReward([["a thread", thread, "hangs"]]);

  it("judges samples in their order on several threads, and replaces those that are lost", async () => {
    const texts = Array.from({ length: 60 }, (_, i) => (i % 20 === 7 ? "exits" : "x".repeat(i)));
    const reward = { ...thread, threads: 3 };
    const { rewards, failures } = await scoreAll(samples(...texts), reward, { onFailure: "zero" });
    expect([...rewards]).toEqual(texts.map((text, i) => (text === "exits" ? 0 : i)));
    expect(failures).toBe(3);
  });

  it("keeps a thread for the next samples, and replaces one that is lost", async () => {
    const own = { ...thread, module: `${thread.module}?own` };
    const calls = async () => (await scoreAll(samples("calls"), own)).rewards[0] as number;
    const before = await calls();
    expect(await calls()).toBe(before + 1);
    const { failures, rewards } = await scoreAll(samples("a", "exits", "breaks", "bb"), own, {
      onFailure: "zero",
    });
    expect([failures, ...rewards]).toEqual([2, 1, 0, 0, 2]);
    await expect(scoreAll(samples("exits"), own)).rejects.toThrow(
      fails("REWARD_FAILED", /ended with code 3/),
    );
    expect(await calls()).toBe(1);
  });

  it("says what is wrong with a module, whatever the policy", async () => {
    const fail = (given: Partial<RewardModule>) =>
      scoreAll(samples("a"), { ...thread, ...given }, { onFailure: "zero" });
    await expect(fail({ name: "notAFunction" })).rejects.toThrow(
      fails("REWARD_MODULE", /rewards\.test-support\.ts.*no function "notAFunction"/),
    );
    await expect(fail({ module: "/nowhere/reward.mjs" })).rejects.toThrow(
      fails("REWARD_MODULE", /\/nowhere\/reward\.mjs/),
    );
    await expect(fail({ module: "/nowhere/reward.ts" })).rejects.toThrow(
      fails("REWARD_MODULE", /Cannot find module .*\/nowhere\/reward\.ts/),
    );
    await expect(fail({ module: "./reward.ts" })).rejects.toThrow(fails("OPTION_INVALID", /\.\/reward\.ts/));
  });

  it("does not keep a program alive that is done", () => {
    const [rewards, sample] = [new URL("./rewards.ts", import.meta.url).href, samples("abc")[0]];
    const program = `
      import { scoreAll } from ${JSON.stringify(rewards)};
      const { rewards } = await scoreAll([${JSON.stringify(sample)}], ${JSON.stringify(thread)});
      console.log(rewards[0]);`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 50_000 });
    expect([status, stdout]).toEqual([0, "3\n"]);
  }, 60_000);

  it("fails for a sample that cannot be sent to a thread", async () => {
    const bad = [sample("a", { data: () => 1 }), sample("bb")];
    const { rewards, failure } = await scoreAll(bad, thread, { onFailure: "drop" });
    expect([...rewards]).toEqual([0, 2]);
    expect(failure).toEqual(fails("REWARD_FAILED", /sample 0 .*could not be cloned/));
  });
});
