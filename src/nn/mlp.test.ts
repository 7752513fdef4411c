import { describe, expect, it } from "vitest";
import { evalShape, read, spec, type Value } from "../engine/index.ts";
import * as nn from "./index.ts";
import type { Params } from "./model.ts";

describe("mlp", () => {
  it("has hidden layers and a last one", () => {
    const model = nn.mlp({ hidden: [8, 4], out: 2, activation: nn.tanh, outActivation: nn.sigmoid });
    expect(model.kind).toBe("mlp");
    expect(Object.keys(nn.parameterSpecs(model, spec([1, 3])))).toEqual(["hidden0", "hidden1", "out"]);
    expect(Object.keys(model.layers ?? {}).at(-1)).toBe("outActivation");
  });

  it("may end with its hidden layers, or be the last one alone", () => {
    expect(Object.keys(nn.parameterSpecs(nn.mlp({ hidden: [8] }), spec([1, 3])))).toEqual(["hidden0"]);
    expect(Object.keys(nn.parameterSpecs(nn.mlp({ hidden: [], out: 2 }), spec([1, 3])))).toEqual(["out"]);
  });

  it("draws the last layer as told", async () => {
    const { ones, zeros } = nn.initializers;
    const model = nn.mlp({ hidden: [2], out: 1, init: ones, outInit: zeros, biasInit: ones });
    const params = (await read(model.init(0, spec([1, 2]), { engine: "wasm" }))) as unknown as Readonly<
      Record<string, { readonly w: Float32Array; readonly b: Float32Array }>
    >;
    expect([...(params.hidden0?.w ?? []), ...(params.out?.w ?? []), ...(params.out?.b ?? [])]).toEqual([
      1, 1, 1, 1, 0, 0, 1,
    ]);
  });

  it("refuses what it cannot make", () => {
    expect(() => nn.mlp({ hidden: [8], outt: 2 } as never)).toThrow(/did you mean "out"/);
    expect(() => nn.mlp({ hidden: [8, -1] })).toThrow(/mlp: hidden\[1\] is -1/);
    expect(() => nn.mlp({ hidden: 8 } as never)).toThrow(/hidden is 8/);
    expect(() => nn.mlp({ hidden: [] })).toThrow(/no layers/);
    expect(() => nn.mlp({ hidden: [8], outActivation: nn.tanh })).toThrow(/no last layer/);
  });
});

describe("cnn", () => {
  it("has convolutions, dense layers and a last one", () => {
    const model = nn.cnn({
      channels: [4, 8],
      kernel: [5, 3],
      strides: 2,
      padding: "same",
      dense: [16],
      out: 10,
    });
    const params = nn.parameterSpecs(model, spec([2, 28, 28, 1]));
    expect(Object.keys(params)).toEqual(["conv0", "conv1", "dense0", "out"]);
    expect(String((params.conv0 as Params<unknown>).w)).toBe("f32[5,5,1,4]");
    expect(String((params.dense0 as Params<unknown>).w)).toBe("f32[392,16]");
    const shape = evalShape((p: Params, x: Value) => model.apply(p, x), params, spec([2, 28, 28, 1])).shape;
    expect(shape).toEqual([2, 10]);
  });

  it("may give features, of places or of their mean", () => {
    const features = (model: nn.Model) =>
      evalShape(
        (p: Params, x: Value) => model.apply(p, x),
        nn.parameterSpecs(model, spec([2, 8, 8, 1])),
        spec([2, 8, 8, 1]),
      ).shape;
    expect(features(nn.cnn({ channels: [4], pool: 2 }))).toEqual([2, 36]);
    expect(features(nn.cnn({ channels: [4], head: "mean" }))).toEqual([2, 4]);
  });

  it("refuses what it cannot make", () => {
    expect(() => nn.cnn({ channels: [] })).toThrow(/no convolutions/);
    expect(() => nn.cnn({ channels: [4], kernel: [3, 3] })).toThrow(/cnn: kernel is \[3,3\]/);
    expect(() => nn.cnn({ channels: [4, 0.5] })).toThrow(/channels\[1\] is 0.5/);
    expect(() => nn.cnn({ channels: [4], head: "max" as never })).toThrow(/head is "max"/);
    expect(() => nn.cnn({ chanels: [4] } as never)).toThrow(/did you mean "channels"/);
    expect(() => nn.cnn({ channels: [4], dense: [-2] })).toThrow(/dense\[0\] is -2/);
  });
});
