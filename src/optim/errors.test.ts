import { describe, expect, it } from "vitest";
import { compile, put, type Value } from "../engine/index.ts";
import * as optim from "./index.ts";
import { someGradients, somePlaces, training } from "./training.test-support.ts";

const engine = "wasm";
const start = somePlaces(engine);
const grads = someGradients(engine);

describe("options", () => {
  it.each([
    [
      "adam",
      () => optim.adam({ learningrate: 1 } as never),
      /adam: there is no option "learningrate"; did you mean "learningRate"\?/,
    ],
    ["sgd", () => optim.sgd({ amsgrad: true } as never), /the options of sgd are learningRate, momentum/],
    [
      "negative",
      () => optim.adam({ learningRate: -1 }),
      /learningRate is -1, which is not a finite number from 0 on/,
    ],
    ["not a number", () => optim.lion({ weightDecay: Number.NaN }), /weightDecay is NaN/],
    ["infinite", () => optim.rmsprop({ epsilon: Number.POSITIVE_INFINITY }), /epsilon is Infinity/],
    ["beta of 1", () => optim.adamw({ beta2: 1 }), /beta2 is 1, which is not a number from 0 to below 1/],
    ["a word", () => optim.muon({ steps: "5" as never }), /steps is "5", which is not a whole number/],
    ["half a step", () => optim.muon({ steps: 2.5 }), /steps is 2.5/],
    ["a wrong mask", () => optim.adamw({ mask: 3 as never }), /mask is 3, which is not a path pattern/],
    ["a flag", () => optim.adam({ amsgrad: 1 as never }), /amsgrad is 1, which is not true or false/],
    ["nesterov alone", () => optim.sgd({ nesterov: true }), /nesterov needs momentum/],
    ["clip", () => optim.clip(0), /maxAbs is 0/],
    ["clipByGlobalNorm", () => optim.clipByGlobalNorm(-1), /maxNorm is -1/],
    ["ema", () => optim.ema({ decay: 2 }), /decay is 2/],
    ["scale", () => optim.scale(Number.NaN), /factor is NaN/],
    ["scaleByRate", () => optim.scaleByRate(""), /names no rate/],
    ["groups", () => optim.groups({}), /there are no groups/],
    [
      "rates at odds",
      () => optim.chain(optim.addDecayedWeights(0.1), optim.adamw()),
      /two parts have the rate weightDecay with different defaults, 0.1 and 0.01/,
    ],
  ])("are refused: %s", (_name, make, message) => {
    expect(make).toThrow(message);
  });

  it("that are undefined count as left out", () => {
    expect(optim.adam({ learningRate: undefined }).rates).toEqual(optim.adam().rates);
  });
});

describe("rates", () => {
  const adam = training(optim.adam(), engine);
  it("nobody knows are refused, with the near one", () => {
    expect(() => adam.step(start, adam.init(start), grads, { learningRat: 1 })).toThrow(
      /adam: there is no rate "learningRat"; did you mean "learningRate"\?/,
    );
    expect(() => adam.step(start, adam.init(start), grads, { weightDecay: 1 })).toThrow(
      /the rates of adam are learningRate, beta1, beta2/,
    );
    const chained = training(optim.chain(optim.clip(1), optim.sgd()), engine);
    expect(() => chained.step(start, {}, grads, { maxabs: 1 })).toThrow(/chain: .*did you mean "maxAbs"/);
    const grouped = training(optim.groups({ body: optim.sgd(), "*": optim.sgd() }), engine);
    expect(() => grouped.step(start, {}, grads, { bdy: { learningRate: 1 } })).toThrow(/did you mean "body"/);
    expect(() => grouped.step(start, {}, grads, { body: { learningRat: 1 } })).toThrow(
      /did you mean "learningRate"/,
    );
    expect(() => grouped.step(start, {}, grads, { body: 1 })).toThrow(
      /rates of "body" are not given by name/,
    );
  });

  it("are one number each", () => {
    expect(() => adam.step(start, adam.init(start), grads, { learningRate: Float32Array.of(1, 2) })).toThrow(
      /the rate learningRate is f32\[2\], which is not one number/,
    );
    expect(() => adam.step(start, adam.init(start), grads, { learningRate: { slow: 1 } })).toThrow(
      /RATE_INVALID/,
    );
  });
});

describe("trees", () => {
  const { step, init } = training(optim.adam(), engine);

  it("of gradients unlike the parameters are named by path", () => {
    const { head: _, ...lacking } = grads;
    expect(() => step(start, init(start), lacking, {})).toThrow(
      /adam: gradients and parameters are built differently: the top has "head" in only one/,
    );
    const wrong = { ...grads, head: { w: put([[1]], { engine }), b: put([1], { engine }) } };
    expect(() => step(start, init(start), wrong, {})).toThrow(
      /the gradients at "head.w" are \[1, 1\] where \[3, 1\] is needed/,
    );
  });

  it("of a state that belongs to others are refused", () => {
    expect(() => step(start, {}, grads, {})).toThrow(/adam: the state holds no count/);
    const { m, ...rest } = init(start);
    expect(m).toBeDefined();
    expect(() => step(start, rest, grads, {})).toThrow(/adam: the state holds no m for "body.b"/);
    const other = init({ ...start, body: { w: put([1], { engine }), b: put([1], { engine }) } });
    expect(() => step(start, other, grads, {})).toThrow(/the state's m at "body.b" are \[1\] where \[3\]/);
    expect(() => training(optim.skipNonFinite(optim.sgd()), engine).step(start, {}, grads, {})).toThrow(
      /skipNonFinite: the state holds no skipped/,
    );
  });

  it("hold floating-point values, made while tracing", () => {
    expect(() => init({ w: Int32Array.of(1) })).toThrow(/adam: the parameters at "w" are i32\[1\]/);
    expect(() => optim.adam().init({ w: 1 })).toThrow(/compile\(optimizer.init\)\(params\)/);
    expect(() => init({ "a.b": 1, a: { b: 2 } })).toThrow(/two of the parameters have the path "a.b"/);
  });

  it("are what applyUpdates takes", () => {
    const apply = compile((p: { w: Value }, u: { w: Value }) => optim.applyUpdates(p, u), { engine });
    expect(() => apply({ w: 1 }, { w: Float32Array.of(1, 2) })).toThrow(/applyUpdates: the updates at "w"/);
  });
});

describe("paths", () => {
  it.each([
    ["adamw", optim.adamw({ mask: "**.weight" }), /adamw: "\*\*.weight" matches no parameter/],
    ["lion", optim.lion({ mask: "boddy" }), /lion: "boddy" matches no parameter; did you mean "body"\?/],
    ["muon", optim.muon({ matrices: "tail" }), /muon: "tail".*the paths are body.b, body.w/s],
    ["vectors for muon", optim.muon({ matrices: "body" }), /muon: matrices names "body.b", which is \[3\]/],
    ["adafactor", optim.adafactor({ mask: "!boddy" }), /did you mean "body"/],
    ["addDecayedWeights", optim.addDecayedWeights(0.1, { mask: "head.v" }), /did you mean "head.[bw]"/],
    ["freeze", optim.freeze("encoder", optim.adam()), /freeze: "encoder" matches no parameter/],
    [
      "groups",
      optim.groups({ boddy: optim.adam(), "*": optim.sgd() }),
      /groups: "boddy".*did you mean "body"/,
    ],
    ["no group", optim.groups({ body: optim.adam() }), /no group takes head.b, head.w/],
    [
      "hidden groups",
      optim.groups({ "*": optim.adam(), body: optim.sgd() }),
      /groups before "body" take all it matches/,
    ],
  ])("that lead nowhere are refused at init and update: %s", (_name, optimizer, message) => {
    const { step, init } = training(optimizer, engine);
    expect(() => init(start)).toThrow(message);
    const state = { count: put(Int32Array.of(0), { shape: [], engine }) };
    expect(() => step(start, state, grads, {})).toThrow(message);
  });
});

describe("parts of a state", () => {
  const [one, two, three] = [put(1, { engine }), put(2, { engine }), put(3, { engine })];
  const state = {
    clip: { norm: one },
    clip2: { norm: two },
    adam: { count: three, m: { w: two, count: one } },
  };

  it("are found by name or path, the nearest to the top first", () => {
    expect(optim.valueIn(state, "clip2.norm")).toBe(two);
    expect(optim.valueIn(state, "count")).toBe(three);
    expect(optim.treeIn(state, "m")).toEqual({ w: two, count: one });
  });

  it("are refused where there are two, none, or another kind", () => {
    expect(() => optim.valueIn(state, "norm")).toThrow(/say which: clip.norm, clip2.norm/);
    expect(() => optim.valueIn(state, "cont")).toThrow(/no "cont"; did you mean "count"/);
    expect(() => optim.valueIn(state, "m")).toThrow(/is a tree/);
    expect(() => optim.treeIn(state, "count")).toThrow(/is one value/);
  });
});
