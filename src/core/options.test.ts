import { describe, expect, it } from "vitest";
import {
  checkNames,
  checkOptions,
  checkSize,
  checkWord,
  option,
  optionsSchema,
  resolveOptions,
  shown,
} from "./options.ts";

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

const isFunction = (value: unknown): boolean => typeof value === "function";

describe("a table of options", () => {
  const table = {
    batchSize: option.integer({ min: 1, required: true, doc: "Examples in a batch." }),
    share: option.number({ min: 0, max: 1, default: 0.5 }),
    rate: option.either(
      option.number({ above: 0 }),
      option.made<() => number>("a function", isFunction, {}),
      {},
    ),
    limit: option.number({ above: 0, infinite: true, default: Number.POSITIVE_INFINITY }),
    lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
    normalize: option.group<{ readonly rewards?: boolean }>({ rewards: option.flag({}) }, { default: {} }),
    name: option.text({}),
    each: option.made<() => void>("a function", isFunction, {}),
  };

  it("fills in defaults and gives nothing else", () => {
    expect(resolveOptions("loader", { batchSize: 3, share: undefined }, table)).toEqual({
      batchSize: 3,
      share: 0.5,
      limit: Number.POSITIVE_INFINITY,
      lastBatch: "keep",
      normalize: {},
    });
  });

  it.each([
    [{}, "OPTION_INVALID", /loader: batchSize is missing.*\n.*a whole number from 1 on/],
    [{ batchSize: 0 }, "OPTION_INVALID", /batchSize is 0, which is not a whole number from 1 on/],
    [{ batchSize: 1.5 }, "OPTION_INVALID", /1\.5/],
    [{ batchSize: 1, share: 2 }, "OPTION_INVALID", /share is 2, .*a number from 0 to 1/],
    [{ batchSize: 1, share: Number.NaN }, "OPTION_INVALID", /NaN/],
    [
      { batchSize: 1, rate: Number.POSITIVE_INFINITY },
      "OPTION_INVALID",
      /a finite number above 0, or a function/,
    ],
    [{ batchSize: 1, limit: Number.NaN }, "OPTION_INVALID", /a number above 0/],
    [{ batchSize: 1, lastBatch: "kep" }, "OPTION_INVALID", /"kep".*"keep" or "drop".*did you mean "keep"/],
    [{ batchSize: 1, normalize: 3 }, "OPTION_INVALID", /normalize is 3/],
    [
      { batchSize: 1, normalize: { reward: true } },
      "OPTION_UNKNOWN",
      /loader: normalize.*"reward".*"rewards"/,
    ],
    [{ batchSize: 1, name: "" }, "OPTION_INVALID", /name is ""/],
    [{ batchSize: 1, n_batch: 2 }, "OPTION_UNKNOWN", /n_batch/],
    [null, "OPTION_INVALID", /null/],
  ])("refuses %j", (given, code, facts) => {
    const refused = () => checkOptions("loader", given as object, table);
    expect(refused).toThrow(expect.objectContaining({ code }));
    expect(refused).toThrow(facts);
  });

  it("has a JSON schema of what a file can express", () => {
    expect(optionsSchema(table)).toEqual({
      type: "object",
      properties: {
        batchSize: { type: "integer", minimum: 1, description: "Examples in a batch." },
        share: { type: "number", minimum: 0, maximum: 1, default: 0.5 },
        rate: { type: "number", exclusiveMinimum: 0 },
        limit: { type: "number", exclusiveMinimum: 0 },
        lastBatch: { type: "string", enum: ["keep", "drop"], default: "keep" },
        normalize: {
          type: "object",
          properties: { rewards: { type: "boolean" } },
          additionalProperties: false,
          default: {},
        },
        name: { type: "string", minLength: 1 },
      },
      required: ["batchSize"],
      additionalProperties: false,
    });
  });
});
