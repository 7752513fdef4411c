import { describe, expect, it } from "vitest";
import { nn as functions } from "../engine/index.ts";
import { nn as front } from "../index.ts";
import * as nn from "./index.ts";

describe("nn", () => {
  it("has every function of the engine's, and the layers beside them", () => {
    const lost = Object.entries(functions).filter(([name, fn]) => Object(nn)[name] !== fn);
    expect(lost.map(([name]) => name)).toEqual([]);
    expect(Object.keys(nn)).toEqual(
      expect.arrayContaining(["dense", "sequential", "crossEntropy", "relu", "conv"]),
    );
  });

  it("is what the front door gives", () => {
    expect(front.dense).toBe(nn.dense);
  });
});
