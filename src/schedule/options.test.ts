import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import * as time from "./index.ts";

const { every, at, between, cycle } = time;
const over = { updates: 10 };
const inf = Number.POSITIVE_INFINITY;

/** What users' options look like when the compiler is not there to refuse them. */
const loose = time as unknown as Readonly<Record<string, (...options: unknown[]) => unknown>>;
const make = (kind: string, ...options: unknown[]) => loose[kind]?.(...options);

describe.each([
  ["every", 10],
  ["at", [1, 5]],
  ["between", [2, 10]],
])("the unit of %s", (kind, value) => {
  it.each([
    ["nothing", undefined, "UNIT_MISSING", /write the unit/],
    ["a bare number", 100, "UNIT_MISSING", /100 has no unit/],
    ["no unit", {}, "UNIT_MISSING", /no unit is given/],
    ["an undefined unit", { epochs: undefined }, "UNIT_MISSING", /no unit is given/],
    [
      "two units",
      { epochs: value, updates: value },
      "UNITS_SEVERAL",
      /one unit is needed, and epochs and updates/,
    ],
    ["the index", { epoch: value }, "UNIT_UNKNOWN", /"epoch" is not a unit; did you mean "epochs"\?/],
    ["a singular", { batch: value }, "UNIT_UNKNOWN", /did you mean "batches"\?/],
    ["another case", { Updates: value }, "UNIT_UNKNOWN", /did you mean "updates"\?/],
  ])("is refused: %s", (_name, options, code, message) => {
    expect(() => make(kind, options)).toThrow(message);
    expect(() => make(kind, options)).toThrow(expect.objectContaining({ code }));
  });
});

describe("bad options are refused, with what is right", () => {
  it.each([
    ["every 0", () => every({ epochs: 0 }), /epochs is 0, which is not a whole number from 1 on.*never\(\)/s],
    ["every -3", () => every({ updates: -3 }), /updates is -3, which is not a whole number from 1 on/],
    ["every NaN", () => every({ samples: Number.NaN }), /samples is NaN/],
    ["every Infinity", () => every({ samples: inf }), /samples is Infinity/],
    ["every half", () => every({ batches: 2.5 }), /batches is 2.5, which is not a whole number/],
    ["every 0 seconds", () => every({ seconds: 0 }), /seconds is 0, which is not a number above 0/],
    ["every word", () => make("every", { steps: "10" }), /steps is "10"/],
    [
      "a bad from",
      () => every({ updates: 1, from: -1 }),
      /from is -1, which is not a whole number from 0 on/,
    ],
    ["a bad until", () => every({ updates: 1, until: 1.5 }), /until is 1.5/],
    [
      "until before from",
      () => every({ updates: 1, from: 5, until: 4 }),
      /until is 4, before the first time at 5/,
    ],
    ["until too early", () => every({ updates: 9, until: 8 }), /until is 8, before the first time at 9/],
    [
      "a misspelt from",
      () => make("every", { updates: 1, form: 5 }),
      /updates and form are given; did you mean "from"/,
    ],
    ["at nothing", () => at({ epochs: [] }), /the list of epochs is empty.*never\(\)/s],
    ["at -1", () => at({ epochs: [3, -1] }), /epochs is -1, which is not a whole number from 0 on/],
    ["at half", () => at({ updates: 0.5 }), /updates is 0.5/],
    ["between one", () => make("between", { epochs: [1] }), /epochs is \[1\], which is not two numbers/],
    ["between number", () => make("between", { epochs: 1 }), /epochs is 1, which is not two numbers/],
    [
      "between turned",
      () => between({ epochs: [5, 2] }),
      /2 comes before 5.*write between\(\{ epochs: \[2, 5\] \}\)/s,
    ],
    ["between NaN", () => between({ epochs: [0, Number.NaN] }), /the second of epochs is NaN/],
    ["cycle 0", () => cycle({ epochs: 0, active: [1] }), /cycle: epochs is 0/],
    ["cycle half", () => cycle({ seconds: 1.5, active: [1] }), /seconds is 1.5, which is not a whole number/],
    ["cycle empty", () => cycle({ epochs: 8, active: [] }), /active is empty.*never\(\)/s],
    ["cycle without", () => make("cycle", { epochs: 8 }), /active is undefined, which is not a list/],
    [
      "cycle at 0",
      () => cycle({ epochs: 8, active: [0] }),
      /the position 0 is not in a cycle of 8.*from 1 to 8/s,
    ],
    ["cycle outside", () => cycle({ epochs: 8, active: [9] }), /the position 9 is not in a cycle of 8/],
    ["cycle misspelt", () => make("cycle", { epochs: 8, activ: [1] }), /did you mean "active"/],
    ["constant", () => time.constant(Number.NaN), /constant: the value is NaN/],
    ["linear from", () => time.linear({ from: inf, to: 0, over }), /linear: from is Infinity/],
    ["linear to", () => make("linear", { from: 0, over }), /linear: to is missing/],
    [
      "linear over",
      () => make("linear", { from: 0, to: 1, over: 10 }),
      /linear: over: 10 has no unit.*over: \{ updates: 1000 \}/s,
    ],
    ["linear over 0", () => time.linear({ from: 0, to: 1, over: { epochs: 0 } }), /linear: over.epochs is 0/],
    ["linear extra", () => make("linear", { from: 0, too: 1, over }), /no option "too"; did you mean "to"\?/],
    ["cosine", () => make("cosine"), /cosine: its options are undefined/],
    ["warmup", () => time.warmup({ updates: -1 }, 1), /warmup: over.updates is -1/],
    ["warmup of what", () => make("warmup", over), /neither a number nor a ramp/],
    [
      "oneCycle",
      () => time.oneCycle({ peak: 1, over, peakAt: 1 }),
      /peakAt is 1, which is not a number above 0 to below 1/,
    ],
    ["oneCycle peak", () => make("oneCycle", { over }), /oneCycle: peak is missing/],
    [
      "sawtooth",
      () => make("sawtooth", { from: 0, to: 1, over, shape: "sine" }),
      /sawtooth: shape is "sine"/,
    ],
    ["piecewise", () => time.piecewise({ epochs: [] }), /epochs is \[\], which is not a list of times/],
    ["pieces", () => make("piecewise", { epochs: [1, 2] }), /1 is not a time and a value/],
    [
      "pieces' order",
      () =>
        time.piecewise({
          epochs: [
            [3, 1],
            [3, 2],
          ],
        }),
      /3 does not come after 3/,
    ],
    [
      "pieces' values",
      () => time.piecewise({ epochs: [[3, inf]] }),
      /the value from 3 epochs on is Infinity/,
    ],
    ["pieces' lines", () => make("piecewise", { epochs: [[0, 1]], interpolate: 1 }), /interpolate is 1/],
    ["byMetric", () => make("byMetric", { initial: 1 }), /metric is missing/],
    ["a bare name", () => time.byMetric({ metric: "loss", initial: 1 }), /metric is "loss".*"train\/loss"/s],
    ["dots", () => time.byMetric({ metric: "validation.loss", initial: 1 }), /write "validation\/loss"/],
    ["scores", () => time.byMetric({ metric: "evaluation/return", initial: 1 }), /"evaluation\/return"/],
    ["initial", () => make("byMetric", { metric: "train/a" }), /initial is missing/],
    [
      "mean",
      () => time.byMetric({ metric: "train/a", initial: 1, mean: 0 }),
      /mean is 0, which is not a whole number/,
    ],
    [
      "ema",
      () => time.byMetric({ metric: "train/a", initial: 1, ema: 1 }),
      /ema is 1, which is not a number from 0 to below 1/,
    ],
    ["transform", () => make("byMetric", { metric: "train/a", initial: 1, transform: 2 }), /transform is 2/],
    ["clamp", () => time.byMetric({ metric: "train/a", initial: 1, clamp: [2, 0] }), /clamp has 2 before 0/],
    [
      "clamped",
      () => time.byMetric({ metric: "train/a", initial: 3, clamp: [0, 2] }),
      /initial is 3, outside clamp/,
    ],
  ])("%s", (_name, attempt, message) => {
    expect(attempt).toThrow(EspalierError);
    expect(attempt).toThrow(message);
  });

  it("but options that are undefined count as left out", () => {
    expect(every({ updates: 5, epochs: undefined, from: undefined }).describe()).toBe("every 5 updates");
  });
});
