import { describe, expect, it } from "vitest";
import { compile, evalShape, np, put, read, type Spec, spec, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "./index.ts";
import type { Model, Params } from "./model.ts";

const given = (model: Model, input: Spec): Spec =>
  evalShape((p: Params, x: Value) => model.apply(p, x), nn.parameterSpecs(model, input), input);

describe("sequential", () => {
  it("names layers by kind and count, and leaves those without parameters out", () => {
    const model = nn.sequential([nn.dense(8), nn.relu, nn.dense(4), nn.relu, nn.layerNorm(), nn.dense(2)]);
    expect(Object.keys(model.layers ?? {})).toEqual([
      "dense0",
      "relu0",
      "dense1",
      "relu1",
      "layerNorm0",
      "dense2",
    ]);
    const params = nn.parameterSpecs(model, spec([32, 3]));
    expect(JSON.stringify(params, (_, v) => (v?.type ? String(v) : v))).toBe(
      '{"dense0":{"w":"f32[3,8]","b":"f32[8]"},"dense1":{"w":"f32[8,4]","b":"f32[4]"},' +
        '"layerNorm0":{"scale":"f32[4]","bias":"f32[4]"},"dense2":{"w":"f32[4,2]","b":"f32[2]"}}',
    );
  });

  it("takes names of your own and keeps their order", () => {
    const model = nn.sequential({ second: nn.dense(8), first: nn.tanh, last: nn.dense(2) });
    expect(Object.keys(nn.parameterSpecs(model, spec([1, 3])))).toEqual(["second", "last"]);
    expect(given(model, spec([5, 3])).shape).toEqual([5, 2]);
  });

  it("draws a layer's numbers by its name, whatever stands beside it", async () => {
    const [short, long] = [
      nn.sequential({ a: nn.dense(4), b: nn.dense(4) }),
      nn.sequential({ a: nn.dense(4), new: nn.layerNorm(), b: nn.dense(4) }),
    ].map((model) => model.init(7, spec([1, 4]), { engine: "wasm" }));
    const weights = async (params: unknown) =>
      (await read(params)) as unknown as Readonly<Record<string, { readonly w: Float32Array }>>;
    expect((await weights(short)).b?.w).toEqual((await weights(long)).b?.w);
    expect((await weights(short)).a?.w).not.toEqual((await weights(short)).b?.w);
  });

  it("says where in the model an input does not fit", () => {
    const model = nn.sequential({ hidden: nn.sequential([nn.dense(64), nn.relu]), head: nn.glu });
    const params = nn.parameterSpecs(model, spec([8, 4]));
    const run = (x: Spec) => () => evalShape((p: Params, v: Value) => model.apply(p, v), params, x);
    expect(run(spec([8, 5]))).toThrow(
      /^dense at "hidden.dense0": the input \[8, 5\] has 5 features, but w is \[4, 64\] \[SHAPE_MISMATCH\]\n {2}fix:/,
    );
    const odd = nn.sequential({ head: nn.sequential([nn.dense(3), nn.glu]) });
    expect(() => odd.init(0, spec([1, 2]))).not.toThrow();
    expect(() => given(odd, spec([1, 2]))).toThrow(
      /^at "head.glu0": glu: axis 1 of \[1, 3\].*\[SHAPE_MISMATCH\]/,
    );
  });

  it("forgets the path behind an error", () => {
    const model = nn.sequential({ hidden: nn.dense(2) });
    expect(() => given(model, spec([]))).toThrow(/at "hidden"/);
    expect(nn.layerPath()).toBe("");
  });

  it("refuses what is no layer", () => {
    expect(() => nn.sequential([nn.dense(2), undefined as never])).toThrow(
      /"layer0" is no layer but undefined \[LAYER_INVALID\]/,
    );
    expect(() => nn.sequential({ "a.b": nn.relu })).toThrow(/"a.b" cannot be a layer's name/);
    expect(() => nn.sequential({ 2: nn.relu, 1: nn.tanh })).toThrow(/cannot be a layer's name/);
    expect(() => given(nn.sequential([nn.flatten as never]), spec([2, 3]))).toThrow(
      /flatten at "flatten0": it gave a model \(flatten\) and no value .*\n.*call it: flatten\(\)/,
    );
  });

  it("does nothing without layers", () => {
    expect(nn.sequential([]).init(0, spec([1]))).toEqual({});
    expect(given(nn.sequential([]), spec([3])).shape).toEqual([3]);
  });
});

describe("residual", () => {
  it("adds the input, with the layer's own parameters", () => {
    const model = nn.sequential({ block: nn.residual(nn.sequential([nn.dense(4), nn.relu])) });
    expect(Object.keys(nn.parameterSpecs(model, spec([1, 4])).block ?? {})).toEqual(["dense0"]);
    expect(() => given(nn.sequential({ block: nn.residual(nn.dense(5)) }), spec([1, 4]))).toThrow(
      /residual at "block": the input is \[1, 4\], but dense gives \[1, 5\]/,
    );
  });
});

describe("parallel", () => {
  it("puts results side by side, adds them, or gives them to a function", () => {
    const layers = { a: nn.dense(3), b: nn.dense(2) };
    expect(given(nn.parallel(layers), spec([5, 4])).shape).toEqual([5, 5]);
    const same = { a: nn.dense(3), b: nn.relu };
    expect(given(nn.parallel(same, { combine: "add" }), spec([5, 3])).shape).toEqual([5, 3]);
    const both = nn.parallel(layers, { combine: ({ a, b }) => ({ a, rows: np.sum(b, { axis: 1 }) }) });
    const outputs = evalShape(
      (p: Params, x: Value) => both.apply(p, x),
      nn.parameterSpecs(both, spec([5, 4])),
      spec([5, 4]),
    );
    expect([outputs.a.shape, outputs.rows.shape]).toEqual([[5, 3], [5]]);
  });

  it("refuses results that do not fit, and words it does not know", () => {
    const layers = { a: nn.dense(3), b: nn.dense(2) };
    expect(() => given(nn.parallel(layers, { combine: "add" }), spec([5, 4]))).toThrow(
      /a: \[5, 3\], b: \[5, 2\], which cannot be added \[SHAPE_MISMATCH\]/,
    );
    expect(() => nn.parallel(layers, { combine: "concta" as never })).toThrow(/did you mean "concat"/);
    expect(() => nn.parallel({})).toThrow(/no layers/);
    expect(() => nn.parallel(layers, { merge: "add" } as never)).toThrow(/OPTION_UNKNOWN/);
  });
});

describe.each(testEngines())("containers on %s", (engine) => {
  it("compute what their layers do", async () => {
    const ones = { init: nn.initializers.ones, biasInit: nn.initializers.zeros };
    const model = nn.sequential([
      nn.residual(nn.dense(2, ones)),
      nn.parallel({ twice: (x: Value) => np.multiply(x, 2), sum: nn.dense(1, ones) }),
    ]);
    const params = model.init(0, spec([1, 2]), { engine });
    const y = compile((p: Params, x: Value) => model.apply(p, x))(params, put([[1, 2]], { engine }));
    expect([...(await y.read())]).toEqual([8, 10, 9]);
  });
});
