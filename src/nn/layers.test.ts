import { describe, expect, it } from "vitest";
import { evalShape, put, read, type Spec, spec, type Tensor, type Value } from "../engine/index.ts";
import * as nn from "./index.ts";
import type { Model, Params } from "./model.ts";

/** What a layer gives for an input, on parameters drawn for another. */
const applied = (model: Model, input: Spec, drawnFor: Spec = input): Spec =>
  evalShape((p: Params, x: Value) => model.apply(p, x), nn.parameterSpecs(model, drawnFor), input);

describe("layers", () => {
  it("draw PyTorch's bounds unless told", async () => {
    const { w, b } = (await read(
      nn.dense(50).init(0, spec([1, 16]), { engine: "wasm" }),
    )) as unknown as Readonly<Record<string, Float32Array>>;
    for (const numbers of [w, b] as const) {
      const largest = Math.max(...(numbers as Float32Array).map(Math.abs));
      expect(largest).toBeLessThanOrEqual(0.25);
      expect(largest).toBeGreaterThan(0.22);
    }
    const kernel = (await read(
      nn.conv2d(8, 2).init(0, spec([1, 8, 8, 4]), { engine: "wasm" }),
    )) as unknown as Readonly<Record<string, Float32Array>>;
    const largest = Math.max(...(kernel.b as Float32Array).map(Math.abs));
    expect([largest <= 0.25, largest > 0.15]).toEqual([true, true]);
  });

  it("draw from one seed the same numbers on every call, and from the name of the parameter", async () => {
    const drawn = async (key: number | Uint32Array) =>
      (await read(nn.dense(4).init(key, spec([1, 4]), { engine: "wasm" }))) as unknown as Readonly<
        Record<string, Float32Array>
      >;
    expect(await drawn(1)).toEqual(await drawn(1));
    expect(await drawn(1)).toEqual(await drawn(Uint32Array.of(0, 1)));
    expect((await drawn(1)).w).not.toEqual((await drawn(2)).w);
    const { w, b } = await drawn(3);
    expect([...(w as Float32Array)].slice(0, 4)).not.toEqual([...(b as Float32Array)]);
  });

  it("take initializers of your own, and say where one gives too little", async () => {
    const layer = nn.dense(2, { init: nn.initializers.ones, biasInit: nn.initializers.constant(3) });
    const params = (await read(layer.init(0, spec([1, 2]), { engine: "wasm" }))) as unknown as Readonly<
      Record<string, Float32Array>
    >;
    expect([...(params.w as Float32Array), ...(params.b as Float32Array)]).toEqual([1, 1, 1, 1, 3, 3]);
    const short = nn.sequential({ head: nn.dense(2, { init: () => new Float32Array(3) }) });
    expect(() => short.init(0, spec([1, 2]), { engine: "wasm" })).toThrow(
      /at "head": the initializer of "w" did not give the numbers of \[2, 2\] \[INITIALIZER_INVALID\]/,
    );
  });

  it("give the shapes they promise", () => {
    const shapes: readonly (readonly [Model, readonly number[], readonly number[]])[] = [
      [nn.dense(3), [2, 5, 4], [2, 5, 3]],
      [nn.dense(3), [4], [3]],
      [nn.conv1d(6, 3, { strides: 2, padding: "same" }), [2, 9, 4], [2, 5, 6]],
      [nn.conv2d(6, [3, 1], { groups: 2 }), [2, 9, 9, 4], [2, 7, 9, 6]],
      [nn.maxPool2d([2, 3], { padding: "same" }), [2, 5, 5, 4], [2, 3, 2, 4]],
      [nn.avgPool1d(2), [2, 5, 4], [2, 2, 4]],
      [nn.globalAvgPool(), [2, 5, 5, 4], [2, 4]],
      [nn.flatten(), [2, 5, 4], [2, 20]],
      [nn.flatten(), [0, 5, 4], [0, 20]],
      [nn.groupNorm(2), [2, 5, 5, 4], [2, 5, 5, 4]],
    ];
    for (const [model, input, output] of shapes) expect(applied(model, spec(input)).shape).toEqual(output);
    expect(applied(nn.embedding(10, 3), spec([2, 5], "i32")).shape).toEqual([2, 5, 3]);
  });

  it("compute 16-bit norms in 32 bits and give 16 bits back", () => {
    for (const model of [nn.layerNorm(), nn.rmsNorm(), nn.groupNorm(2)])
      expect(String(applied(model, spec([2, 4], "bf16")))).toBe("bf16[2,4]");
  });
});

describe("wrong inputs", () => {
  const bare = (run: () => unknown) => expect(run);
  it.each([
    [
      "dense",
      nn.dense(64),
      [8, 5],
      [8, 4],
      /dense: the input \[8, 5\] has 5 features, but w is \[4, 64\] \[SHAPE_MISMATCH\]/,
    ],
    ["dense of a number", nn.dense(64), [], [8, 4], /the input is one number/],
    [
      "conv2d",
      nn.conv2d(8, 3),
      [2, 9, 9, 3],
      [2, 9, 9, 1],
      /conv2d: the input \[2, 9, 9, 3\] has 3 channels, but w is \[3, 3, 1, 8\]/,
    ],
    [
      "conv2d without a batch",
      nn.conv2d(8, 3),
      [9, 9, 3],
      [2, 9, 9, 3],
      /\[9, 9, 3\], which has 3 axes instead of 4/,
    ],
    [
      "conv1d in groups",
      nn.conv1d(4, 3, { groups: 2 }),
      [2, 9, 3],
      [2, 9, 4],
      /3 channels, which do not make 2 groups/,
    ],
    ["conv2d, too small", nn.conv2d(8, 3), [2, 2, 2, 1], [2, 9, 9, 1], /reaches over 3/],
    ["maxPool2d", nn.maxPool2d(2), [2, 9, 3], [2, 9, 9, 3], /maxPool2d: the input is \[2, 9, 3\]/],
    ["globalAvgPool", nn.globalAvgPool(), [2, 9], [2, 9], /nothing between/],
    [
      "layerNorm",
      nn.layerNorm(),
      [2, 5],
      [2, 4],
      /layerNorm: the input \[2, 5\] has 5 features, but scale is \[4\]/,
    ],
    ["groupNorm", nn.groupNorm(3), [2, 5, 4], [2, 5, 3], /4 channels, which do not make 3 groups/],
    ["groupNorm without a batch", nn.groupNorm(1), [4], [2, 4], /groupNorm: the input is \[4\]/],
  ] as const)("of %s name both shapes", (_name, model, input, drawnFor, message) => {
    bare(() => applied(model, spec(input), spec(drawnFor))).toThrow(message);
  });

  it("of an embedding are told to be whole numbers", () => {
    expect(() => applied(nn.embedding(10, 3), spec([2]))).toThrow(
      /f32\[2\], but embeddings are looked up by whole/,
    );
  });

  it("are named by init, too", () => {
    expect(() => nn.dense(2).init(0, undefined as unknown as Spec)).toThrow(/INPUT_INVALID/);
    expect(() => nn.dense(2).init(0, spec([]))).toThrow(/SHAPE_MISMATCH/);
    expect(() => nn.conv2d(2, 3).init(0, spec([2, 3]))).toThrow(/2 axes instead of 4/);
    expect(() => nn.dense(2).init(0.5, spec([1, 2]))).toThrow(/SEED_INVALID/);
  });
});

describe("options", () => {
  it.each([
    [
      "a misspelt name",
      () => nn.dense(4, { biass: true } as never),
      /dense: there is no option "biass"; did you mean "bias"\? \[OPTION_UNKNOWN\]/,
    ],
    ["of conv2d", () => nn.conv2d(4, 3, { stride: 2 } as never), /did you mean "strides"/],
    ["of norms", () => nn.layerNorm({ eps: 1 } as never), /no option "eps"/],
    ["of rmsNorm", () => nn.rmsNorm({ bias: true } as never), /no option "bias"/],
    ["a negative size", () => nn.dense(-1), /dense: units is -1 \[OPTION_INVALID\]/],
    ["a fraction", () => nn.dense(1.5), /units is 1.5/],
    ["a size that is none", () => nn.dense("4" as never), /units is "4"/],
    ["no filters", () => nn.conv1d(0, 3), /conv1d: filters is 0/],
    ["a window for other axes", () => nn.conv2d(4, [3, 3, 3]), /window is \[3,3,3\]/],
    ["a stride of 0", () => nn.maxPool2d(2, { strides: 0 }), /maxPool2d: strides is 0/],
    ["filters that make no groups", () => nn.conv2d(3, 3, { groups: 2 }), /3 filters do not make 2 groups/],
    ["a rate above 1", () => nn.dropout(1.5), /dropout: the rate is 1.5/],
    ["a rate that is no number", () => nn.dropout(Number.NaN), /the rate is NaN/],
    ["groups of a half", () => nn.groupNorm(0.5), /groups is 0.5/],
    ["a negative epsilon", () => nn.layerNorm({ epsilon: -1 }), /epsilon is -1/],
    ["an embedding of nothing", () => nn.embedding(0, 4), /count is 0/],
    [
      "pooling that has no such option",
      () => nn.maxPool2d(2, { countIncludePad: true } as never),
      /no option/,
    ],
  ])("refuse %s", (_name, make, message) => {
    expect(make).toThrow(message);
  });
});

describe("parameters", () => {
  it("that miss a key name the layer and what was near", () => {
    const model = nn.sequential({ body: nn.sequential([nn.dense(4), nn.relu]), head: nn.dense(2) });
    const whole = nn.parameterSpecs(model, spec([1, 3]));
    const run = (params: Params<unknown>) => () =>
      evalShape((p: Params, x: Value) => model.apply(p, x), params, spec([1, 3]));
    const { body, head } = whole as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    const { w, b } = head as Readonly<Record<string, unknown>>;
    expect(run({ body, head: { W: w, b } } as Params<unknown>)).toThrow(
      /dense at "head": there is no parameter "w"; did you mean "W"\? \[PARAMETER_MISSING\]/,
    );
    expect(run({ body, haed: head } as Params<unknown>)).toThrow(
      /dense at "head": the parameters have no "head"; did you mean "haed"\?/,
    );
    expect(run({ head } as Params<unknown>)).toThrow(/dense at "body.dense0": the parameters have no "body"/);
    expect(run({ body, head: w } as Params<unknown>)).toThrow(/at "head"/);
    expect(() =>
      evalShape((x: Value) => nn.dense(2).apply(undefined as unknown as Params, x), spec([1, 3])),
    ).toThrow(/PARAMETER_MISSING/);
  });

  it("are counted", () => {
    const tree: Params<Tensor> = {
      a: { w: put([[1, 2, 3]], { engine: "wasm" }) },
      b: put(1, { engine: "wasm" }),
    };
    expect(nn.countParameters(tree)).toBe(4);
    expect(nn.countParameters({})).toBe(0);
  });
});
