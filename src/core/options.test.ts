import { describe, expect, it } from "vitest";
import { checkNames, checkSize, checkWord, shown } from "./options.ts";

describe("options", () => {
  it("that are not there are refused, with the one that was meant", () => {
    expect(() => checkNames("dense", { sise: 3 }, ["size", "bias"])).toThrow(
      /dense: there is no option "sise"; did you mean "size"\? \[OPTION_UNKNOWN\]\n.*the options of dense are size, bias/,
    );
    expect(() => checkNames("relu", { size: 3 }, [])).toThrow(/relu has no options/);
    checkNames("dense", { size: 3 }, ["size", "bias"]);
  });

  it("that are none are refused, with what to give", () => {
    for (const bad of ["runs/mine", 3, null, [1]])
      expect(() => checkNames("dense", bad as never, ["size", "bias"])).toThrow(
        `dense: its options are ${shown(bad)} [OPTION_INVALID]\n  fix: give an object: { size: ... }`,
      );
    expect(() => checkNames("relu", "x" as never, [])).toThrow("leave them out");
  });

  it("that are sizes are whole numbers from 1 on", () => {
    expect(checkSize("dense", "size", 3)).toBe(3);
    for (const bad of [0, -1, 1.5, Number.NaN, "3", undefined])
      expect(() => checkSize("dense", "size", bad)).toThrow(`dense: size is ${shown(bad)}`);
  });

  it("that are words are among those known", () => {
    expect(checkWord("norm", "kind", "layer", ["layer", "rms"])).toBe("layer");
    expect(() => checkWord("norm", "kind", "lyer", ["layer", "rms"])).toThrow(
      /norm: kind cannot be "lyer"; did you mean "layer"\? \[OPTION_INVALID\]\n.*use "layer", "rms"/,
    );
    expect(() => checkWord("norm", "kind", 3, ["layer", "rms"])).toThrow("norm: kind cannot be 3");
  });

  it("are shown as they were given", () => {
    expect([Number.NaN, "a", undefined, () => 1, [1]].map(shown)).toEqual([
      ...'NaN|"a"|undefined|a function|[1]'.split("|"),
    ]);
  });

  it("are shown whatever they are, and cut where they are long", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    class Ring {
      readonly self = this;
    }
    const list: unknown[] = [];
    list.push(list);
    const bare = Object.assign(Object.create(null), { circle });
    expect([circle, new Ring(), list, bare, 3n, { n: 3n }].map(shown)).toEqual([
      ..."an object|an object of class Ring|a list|an object|3n|an object".split("|"),
    ]);
    expect(shown("x".repeat(500))).toBe(`"${"x".repeat(116)}...`);
  });
});
