import { describe, expect, it } from "vitest";
import type { MetricRecord } from "../../record.ts";
import { chooser, followWindows } from "./entries.ts";
import { recordOf, windowOf } from "./records.test-support.ts";

function chosen(records: readonly MetricRecord[], options: Partial<Parameters<typeof chooser>[0]> = {}) {
  const [window] = followWindows()(records);
  const { entries, more } = chooser({ important: [], limit: 12, ...options })(window?.entries ?? []);
  return { keys: entries.map(({ key }) => key), more };
}

describe("the choice of metrics", () => {
  it("puts the loss first, then validation and evaluation, then the others", () => {
    const records = windowOf(1000, {
      "system/cpu": 1,
      "train/lr": 1,
      "train/policy_loss": 1,
      "eval/return": 1,
      "valid/accuracy": 1,
      "valid/loss": 1,
      "train/loss": 1,
    });
    expect(chosen(records)).toEqual({
      keys: [
        "train/loss",
        "valid/loss",
        "valid/accuracy",
        "eval/return",
        "train/policy_loss",
        "train/lr",
        "system/cpu",
      ],
      more: 0,
    });
  });

  it("leaves out what is too much, and says how much", () => {
    const values = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`train/m${i}`, i]));
    const { keys, more } = chosen(windowOf(1000, { ...values, "train/loss": 1 }));
    expect(keys).toEqual(["train/loss", ...Array.from({ length: 11 }, (_, i) => `train/m${i}`)]);
    expect(more).toBe(38);
  });

  it("does not take a word that contains the name of a category for it", () => {
    const records = windowOf(1, { "train/a": 1, "evaluator/b": 1, "eval-fast/c": 1 });
    expect(chosen(records).keys).toEqual(["eval-fast/c", "train/a", "evaluator/b"]);
  });

  it("shows what the user calls important first and always, in the user's order", () => {
    const records = windowOf(1, { "train/loss": 1, "train/lr": 1, "train/a": 1, "train/b": 1, "x/lr": 1 });
    expect(chosen(records, { important: ["train/b", "*/lr"], limit: 2 })).toEqual({
      keys: ["train/b", "train/lr", "x/lr"],
      more: 2,
    });
    expect(chosen(records, { important: ["x/*"], limit: 2 }).keys).toEqual(["x/lr", "train/loss"]);
  });

  it("takes signs of regular expressions in a pattern for themselves", () => {
    const records = windowOf(1, { "train/a.b": 1, "train/axb": 1 });
    expect(chosen(records, { important: ["train/a.b"], limit: 1 }).keys).toEqual(["train/a.b"]);
  });

  it("never leaves out what is not finite for what is, and leaves it in its place", () => {
    const records = [
      ...windowOf(1, { "train/loss": 1, "train/a": 1 }),
      recordOf("train/z", Number.NaN, 1),
      recordOf("train/partly", 1, 1, { count: 10, notFinite: 1 }),
    ];
    expect(chosen(records, { limit: 3 })).toEqual({
      keys: ["train/loss", "train/z", "train/partly"],
      more: 1,
    });
    expect(chosen(records).keys).toEqual(["train/loss", "train/a", "train/z", "train/partly"]);
  });
});
