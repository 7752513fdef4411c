import { describe, expect, it } from "vitest";
import { byInterest, mainLoss, matching, telling } from "./choose-metrics.ts";

const metrics = (...keys: string[]) => keys.map((key) => ({ key }));
const keys = (found: readonly { readonly key: string }[]) => found.map(({ key }) => key);
const all = metrics(
  "health/nan",
  "system/cpu",
  "time/rate",
  "train/accuracy",
  "eval/score",
  "train/value_loss",
  "val/loss",
  "train/loss",
);

describe("byInterest", () => {
  it("puts losses first, then validation and evaluation, then the rest, the machine last", () => {
    expect(keys(byInterest(all))).toEqual([
      "train/loss",
      "val/loss",
      "eval/score",
      "train/value_loss",
      "train/accuracy",
      "time/rate",
      "system/cpu",
      "health/nan",
    ]);
  });
});

describe("telling", () => {
  it("leaves out what tells of the machine, but for the throughput", () => {
    const found = telling(
      metrics("time/hooks/a", "time/stepsPerSecond", "system/cpu", "train/x", "health/nan"),
    );
    expect(keys(found)).toEqual(["train/x", "time/stepsPerSecond"]);
  });
});

describe("mainLoss", () => {
  it("is the training loss, or what comes next to it", () => {
    expect(mainLoss(all)?.key).toBe("train/loss");
    expect(mainLoss(metrics("train/accuracy", "train/policy_loss"))?.key).toBe("train/policy_loss");
    expect(mainLoss(metrics("train/accuracy", "health/loss_spikes"))).toBeUndefined();
  });
});

describe("matching", () => {
  it("takes full names and patterns, each metric once, in the order asked for", () => {
    expect(keys(matching(all, ["train/accuracy", "*loss", "train/*"]))).toEqual([
      "train/accuracy",
      "train/loss",
      "val/loss",
      "train/value_loss",
    ]);
    expect(keys(matching(metrics("a/b/c"), ["*/b/c"]))).toEqual(["a/b/c"]);
  });

  it("takes letters that mean something in patterns as they are", () => {
    expect(keys(matching(metrics("a/x.y", "a/xzy"), ["a/x.y"]))).toEqual(["a/x.y"]);
  });

  it("says what is near and what there is", () => {
    expect(() => matching(all, ["train/acuracy"])).toThrow(
      /no metric "train\/acuracy"; did you mean "train\/accuracy"\? \[METRIC_UNKNOWN\]\n.*it has train\/loss, val\/loss/,
    );
    expect(() => matching([], ["train/loss"])).toThrow(/it has no metrics yet/);
  });
});
