import { describe, expect, it } from "vitest";
import { compile, put, type Spec, spec, type Tensor, treeLeaves, type Value } from "../index.ts";
import * as nn from "./index.ts";

const again = (model: nn.Model): nn.Model =>
  nn.fromRecipe(JSON.parse(JSON.stringify(model.recipe)) as nn.Recipe);

const { normal, truncatedNormal, orthogonal, constant, kaimingNormal, zeros } = nn.initializers;
const images = spec([2, 8, 8, 1]);
const tokens = spec([2, 5], "i32");
const sequences = spec([2, 5, 8]);

/** One of each kind, with options that are not the defaults. */
const cases: readonly (readonly [string, nn.Model, Spec])[] = [
  ["dense", nn.dense(3, { bias: false, init: normal({ std: 0.5 }) }), spec([2, 4])],
  ["mlp", nn.mlp({ hidden: [8], out: 3, activation: nn.tanh, outInit: orthogonal({ gain: 0.1 }) }), spec([2, 4])],
  ["cnn", nn.cnn({ channels: [4, 4], pool: [2, 1], padding: "same", head: "mean", out: 3 }), images],
  ["conv2d", nn.conv2d(4, [3, 2], { padding: [[1, 0], [0, 1]], biasInit: constant(0.5) }), images],
  ["conv1d", nn.conv1d(4, 3, { strides: 2, groups: 2, init: kaimingNormal({ mode: "fanOut" }) }), sequences],
  [
    "sequential",
    nn.sequential({
      first: nn.dense(8),
      act: nn.gelu,
      wide: nn.parallel({ a: nn.dense(4), b: nn.dense(4, { init: zeros }) }, { combine: "add" }),
      rest: nn.residual(nn.sequential([nn.layerNorm({ epsilon: 0.1 }), nn.dense(4), nn.silu])),
      drop: nn.dropout(0.5),
    }),
    spec([2, 4]),
  ],
  ["pools", nn.sequential([nn.maxPool2d(2), nn.avgPool2d([2, 2], { countIncludePad: false }), nn.flatten()]), images],
  ["pools of one axis", nn.sequential([nn.avgPool1d(2, { strides: 1 }), nn.maxPool1d(2), nn.globalAvgPool()]), sequences],
  ["norms", nn.sequential([nn.rmsNorm({ epsilon: 0.5 }), nn.groupNorm(2, { bias: false })]), sequences],
  ["gru", nn.gru(6, { layers: 2, hiddenInit: truncatedNormal({ std: 0.1 }) }), sequences],
  ["lstm", nn.lstm(6, { forgetBias: 2 }), sequences],
  ["embedding", nn.sequential([nn.embedding(7, 8), nn.learnedPositions(6), nn.feedForward({ hidden: 9 })]), tokens],
  ["multiHeadAttention", nn.multiHeadAttention({ heads: 2, keyValueHeads: 1, rotary: { base: 100 } }) as nn.Model, sequences],
  ["encoder", nn.transformerEncoder({ width: 8, heads: 2, layers: 1, activation: "swiglu" }) as nn.Model, sequences],
  ["transformer", nn.transformer({ vocabulary: 7, width: 8, heads: 2, layers: 2, context: 6, tieEmbeddings: true }), tokens],
]; // biome-ignore format: a table

describe("a model from its recipe", () => {
  it.each(cases)("is the same %s: parameters and outputs, bit for bit", async (_name, model, input) => {
    const other = again(model);
    expect(other.kind).toBe(model.kind);
    expect(other.recipe).toEqual(model.recipe);
    const [mine, its] = [model.init(3, input, { engine: "wasm" }), other.init(3, input, { engine: "wasm" })];
    const numbers = async (params: nn.Params<Tensor>): Promise<unknown> =>
      Promise.all(treeLeaves<Tensor>(params).map((leaf) => leaf.read()));
    expect(await numbers(its)).toEqual(await numbers(mine));
    const run = (of: nn.Model) =>
      compile((params: nn.Params, x: Value) => of.apply(params, x), { engine: "wasm" });
    const size = input.shape.reduce((a, b) => a * b, 1);
    const data =
      input.dtype === "i32"
        ? Int32Array.from({ length: size }, (_, i) => i % 7)
        : Float32Array.from({ length: size }, (_, i) => Math.sin(i));
    const x = put(data, { shape: input.shape, engine: "wasm" });
    expect(await run(other)(mine, x).read()).toEqual(await run(model)(mine, x).read());
  });

  it("is not there where a function of the caller's own is inside", () => {
    expect(nn.sequential([nn.dense(2), (x: Value) => x.add(1)]).recipe).toBeUndefined();
    expect(nn.mlp({ hidden: [2], activation: (x: Value) => x.add(1) }).recipe).toBeUndefined();
    expect(
      nn.dense(2, { init: (_key, shape) => new Float32Array(shape[0] as number) }).recipe,
    ).toBeUndefined();
    expect(nn.parallel({ a: nn.dense(2) }, { combine: (outputs) => outputs }).recipe).toBeUndefined();
    const own: nn.Model = { kind: "own", init: () => ({}), apply: (_params, x) => x };
    expect(nn.residual(nn.sequential([own])).recipe).toBeUndefined();
  });

  it("says what it does not know", () => {
    const fails = (recipe: unknown, text: RegExp) =>
      expect(() => nn.fromRecipe(recipe as nn.Recipe)).toThrow(
        expect.objectContaining({ code: "RECIPE_INVALID", message: expect.stringMatching(text) }),
      );
    fails({ kind: "denze", units: 2 }, /no kind "denze".*"dense"[\s\S]*sequential/);
    fails({ kind: "sequential", layers: { a: { kind: "function", name: "rellu" } } }, /rellu.*relu/);
    fails({ kind: "function", name: "relu" }, /no recipe of a model/);
    fails(undefined, /no recipe of a model/);
    expect(() => nn.fromRecipe({ kind: "dense", units: 0 })).toThrow(/units is 0/);
  });
});
