import { describe, expect, it } from "vitest";
import { hyperparameters } from "./hparams.ts";

describe("hyperparameters", () => {
  it("are the settings by their paths, lists as JSON", () => {
    const config = {
      lr: 0.1,
      net: { width: 64, act: "relu", sizes: [1, [2]], deep: { bias: true } },
      none: null,
    };
    expect([...hyperparameters(config)]).toEqual([
      ["lr", 0.1],
      ["net.width", 64],
      ["net.act", "relu"],
      ["net.sizes", "[1,[2]]"],
      ["net.deep.bias", true],
      ["none", "null"],
    ]);
  });

  it.each([
    [null, []],
    [{}, []],
    [[1, 2], []],
    [7, [["config", 7]]],
    ["fast", [["config", "fast"]]],
  ])("of %j are %j", (config, found) => expect([...hyperparameters(config)]).toEqual(found));
});
