import { describe, expect, it } from "vitest";
import { box, dict, discrete, multiDiscrete, type Space } from "./index.ts";

describe("spaces", () => {
  it("are plain data that can be sent", () => {
    const space = dict({ camera: box({ shape: [2, 2], low: 0, high: 255 }), gear: discrete(5) });
    expect(structuredClone(space)).toEqual({
      kind: "dict",
      spaces: {
        camera: { kind: "box", shape: [2, 2], low: 0, high: 255 },
        gear: { kind: "discrete", n: 5 },
      },
    });
  });

  it("a box has no bounds unless told, and one axis where its shape is a number", () => {
    expect(box({ shape: 3 })).toEqual({ kind: "box", shape: [3], low: -Infinity, high: Infinity });
  });

  it.each<[what: string, make: () => Space, words: RegExp]>([
    ["no choices", () => discrete(0), /discrete: n is 0/],
    ["half a choice", () => discrete(2.5), /n is 2.5/],
    ["no choices at all", () => multiDiscrete([]), /no list of choices/],
    ["an impossible choice", () => multiDiscrete([3, -1]), /choices\[1\] is -1/],
    ["an axis without length", () => box({ shape: [3, 0] }), /shape\[1\] is 0/],
    ["no shape", () => box({} as never), /shape is undefined/],
    ["nothing", () => box(undefined as never), /shape is undefined/],
    ["bounds the wrong way", () => box({ shape: [2], low: [0, 2], high: 1 }), /at 1 low is 2 and high is 1/],
    ["bounds that are too few", () => box({ shape: [3], low: [0, 0] }), /low has 2 numbers for 3 elements/],
    ["NaN for a bound", () => box({ shape: [1], high: Number.NaN }), /high is NaN/],
    ["text for a bound", () => box({ shape: [1], high: "1" as never }), /high is "1"/],
    ["what is no space", () => dict({ a: 3 as never }), /"a" is 3, which is no space/],
    ["nothing", () => dict({}), /no parts/],
  ])("refuse %s", (_, make, words) => {
    expect(make).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
    expect(make).toThrow(words);
  });
});
