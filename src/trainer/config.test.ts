import { describe, expect, it } from "vitest";
import { every } from "../schedule/index.ts";
import { trainingConfig } from "./config.ts";

describe("trainingConfig", () => {
  it("completes a partial object", () => {
    expect(trainingConfig({ epochs: 3, fuse: undefined as never })).toEqual({
      epochs: 3,
      seed: 0,
      name: "run",
      validate: expect.objectContaining({ due: expect.any(Function) }),
      validateAtEnd: true,
      fuse: true,
      onEmpty: "error",
      onNonFinite: "stop",
      maxUpdates: Infinity,
      maxSamples: Infinity,
      maxSeconds: Infinity,
      rank: 0,
      ranks: 1,
      handleSignals: true,
      deterministic: false,
      trace: false,
    });
    expect(trainingConfig().epochs).toBe(1);
    expect(trainingConfig().validate.describe()).toBe(every({ epochs: 1 }).describe());
  });

  it("is frozen, and stays as it is when it is given again", () => {
    const config = trainingConfig({ name: "first" });
    expect(Object.isFrozen(config)).toBe(true);
    expect(trainingConfig(config)).toBe(config);
  });

  it("takes objects of other kinds", () => {
    class Legacy {
      epochs = 4;
    }
    expect(trainingConfig(new Legacy()).epochs).toBe(4);
  });

  it("refuses unknown fields with a suggestion", () => {
    expect(() => trainingConfig({ epoch: 3 } as never)).toThrow(
      /"epoch"; did you mean "epochs"\? \[CONFIG_UNKNOWN\]/,
    );
  });

  it.each([
    [{ epochs: -1 }, "epochs is -1, which is not a whole number from 0 on"],
    [{ epochs: 1.5 }, "epochs is 1.5"],
    [{ epochs: "3" }, 'epochs is "3"'],
    [{ seed: -1 }, "seed is -1"],
    [{ name: "" }, 'name is ""'],
    [{ validate: 5 }, "validate is 5, which is not a schedule"],
    [{ fuse: 0 }, "fuse is 0"],
    [{ onEmpty: "skip" }, 'onEmpty is "skip"'],
    [{ maxUpdates: 0 }, "maxUpdates is 0"],
    [{ maxSeconds: Number.NaN }, "maxSeconds is NaN"],
    [{ rank: 2, ranks: 2 }, "rank is 2 and ranks is 2"],
    [{ handleSignals: 1 }, "handleSignals is 1"],
    [{ trace: "yes" }, 'trace is "yes"'],
    [null, "the training config"],
  ])("refuses %j", (config, message) => {
    expect(() => trainingConfig(config as never)).toThrow(message);
    expect(() => trainingConfig(config as never)).toThrow(/CONFIG_INVALID[\s\S]*fix: give/);
  });
});
