import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { didYouMean, nearest } from "./suggest.ts";

const EVENTS = ["onTrainingStart", "onEpochStart", "onEpochEnd", "onBatchEnd"];

describe("nearest", () => {
  it.each([
    ["onEpochEmd", "onEpochEnd"],
    ["onEpochsEnd", "onEpochEnd"],
    ["onepochend", "onEpochEnd"],
    ["onEpohcEnd", "onEpochEnd"],
  ])("takes %s for %s", (typo, meant) => {
    expect(nearest(typo, EVENTS)).toBe(meant);
  });

  it("prefers the nearest, whatever the order", () => {
    expect(nearest("relu", ["gelu", "relu6", "relu"])).toBe("relu");
    expect(nearest("relu", ["relu", "relu6", "gelu"])).toBe("relu");
  });

  it("says nothing rather than something far off", () => {
    expect(nearest("checkpoint", EVENTS)).toBeUndefined();
    expect(nearest("sum", ["transpose", "matmul"])).toBeUndefined();
    expect(nearest("sum", [])).toBeUndefined();
  });

  it("finds any name again after one character was lost", () => {
    const name = fc.string({ minLength: 2, maxLength: 20, unit: fc.constantFrom(..."abcdefgh") });
    fc.assert(
      fc.property(name, fc.nat(), (word, at) => {
        const i = at % word.length;
        const typo = word.slice(0, i) + word.slice(i + 1);
        expect(nearest(typo, ["zzzzzzzzzz", word, "yyyyyyyyyy"])).toBe(word);
      }),
    );
  });
});

describe("didYouMean", () => {
  it("ends a sentence", () => {
    expect(`no event "onEpochEmd"${didYouMean("onEpochEmd", EVENTS)}`).toBe(
      'no event "onEpochEmd"; did you mean "onEpochEnd"?',
    );
  });

  it("adds nothing when nothing is near", () => {
    expect(didYouMean("checkpoint", EVENTS)).toBe("");
  });
});
