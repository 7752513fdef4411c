import { describe, expect, it } from "vitest";
import type { WatchdogOptions } from "./options.ts";
import { watchdogHook } from "./watchdog-hook.ts";

describe("options of watchdogHook", () => {
  it.each<[string, object, RegExp]>([
    ["no deadlines", {}, /deadlines is undefined.*deadlines: \{ train: 600 \}/s],
    ["not one deadline", { deadlines: { train: undefined } }, /there is no deadline.*leave the hook out/s],
    [
      "an unknown phase",
      { deadlines: { trian: 5 } },
      /deadlines: there is no option "trian"; did you mean "train"/,
    ],
    ["no time at all", { deadlines: { any: 0 } }, /deadlines.any is 0/],
    ["a time for ever", { deadlines: { any: Number.POSITIVE_INFINITY } }, /deadlines.any is Infinity/],
    ["an unknown answer", { deadlines: { any: 5 }, onExceeded: "kill" }, /onExceeded cannot be "kill"/],
    ["a file that is none", { deadlines: { any: 5 }, file: "" }, /file is ""/],
    ["misspelt names", { deadlines: { any: 5 }, onExeeded: "exit" }, /did you mean "onExceeded"/],
  ])("refuse %s", (_title, options, message) => {
    expect(() => watchdogHook(options as WatchdogOptions)).toThrow(message);
  });
});
