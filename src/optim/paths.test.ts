import { describe, expect, it } from "vitest";
import { compile, type Value } from "../engine/index.ts";
import { leavesOf, type Mask, matcher, matchMask } from "./leaves.ts";

describe("patterns", () => {
  it.each([
    ["encoder.dense0.w", "encoder.dense0.w", true],
    ["encoder", "encoder.dense0.w", true],
    ["encoder.*", "encoder.dense0.w", true],
    ["*", "encoder.dense0.w", true],
    ["**", "w", true],
    ["*.w", "dense0.w", true],
    ["*.w", "encoder.dense0.w", false],
    ["**.w", "encoder.dense0.w", true],
    ["**.w", "w", true],
    ["**.w", "encoder.dense0.wide", false],
    ["enc", "encoder.w", false],
    ["encoder.**.b", "encoder.b", true],
    ["encoder.**.b", "head.b", false],
    ["dense*.w", "dense12.w", true],
    ["dense*.w", "head.w", false],
    ["layers[1].w", "layers[1].w", true],
    ["layers.*.w", "layers[1].w", true],
    ["layers.1", "layers[10].w", false],
    ["a+b", "aab", false],
    ["**.a.**.b", "a.x.b", true],
  ])("%s for %s: %s", (pattern, path, expected) => {
    expect(matcher(pattern)(path)).toBe(expected);
  });
});

/** The paths a mask chooses of a small model. */
function chosen(mask: Mask): readonly string[] {
  let found: readonly string[] = [];
  const look = compile(
    (params: { encoder: { w: Value; b: Value }; head: Value[] }) => {
      const leaves = leavesOf("adamw", params);
      const yes = matchMask("adamw", mask, leaves);
      found = leaves.paths.filter((_, i) => yes[i]);
      return params;
    },
    { engine: "wasm" },
  );
  look({ encoder: { w: Float32Array.of(1), b: 1 }, head: [1, 2] });
  return found;
}

describe("masks", () => {
  it("are one pattern, several, or a function", () => {
    expect(chosen("head")).toEqual(["head[0]", "head[1]"]);
    expect(chosen(["**.w", "head[1]"])).toEqual(["encoder.w", "head[1]"]);
    expect(chosen((path, value) => path !== "head[0]" && value.ndim === 0)).toEqual(["encoder.b", "head[1]"]);
  });

  it("take away what a ! names, from all or from what comes before", () => {
    expect(chosen("!encoder")).toEqual(["head[0]", "head[1]"]);
    expect(chosen(["encoder", "!**.b"])).toEqual(["encoder.w"]);
    expect(chosen(["!encoder", "encoder.b"])).toEqual(["encoder.b"]);
  });

  it("must match something: the error names the paths and a near one", () => {
    expect(() => chosen("encodr")).toThrow(/adamw: "encodr" matches no parameter; did you mean "encoder"\?/);
    expect(() => chosen(["**.w", "!encoder.v"])).toThrow(/"encoder.v".*did you mean "encoder/);
    expect(() => chosen("zzzzzzzz")).toThrow(/the paths are encoder.b, encoder.w, head\[0\], head\[1\]/);
    expect(() => chosen("zzzzzzzz")).toThrow(expect.objectContaining({ code: "PATH_UNKNOWN" }));
  });
});
