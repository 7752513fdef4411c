import { describe, expect, it } from "vitest";
import { describeInSample } from "../../sweep.test-support.ts";
import { compile } from "../run/compile.ts";
import { sweepEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import { type Batched, isLacking, opTable, several } from "../trace/op.ts";
import { type Shape, sizeOf } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { literalArray, splat } from "./constant.ts";
import { type ConvolutionParams, convolution, type Padding } from "./convolution.ts";
import { add, mul } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import { concatenate, reshape } from "./shape.ts";
import { slice } from "./slice.ts";

interface Case {
  readonly x: Shape;
  readonly w: Shape;
  readonly layouts: string;
  readonly strides?: readonly number[];
  readonly padding: readonly Padding[];
  readonly lhsDilation?: readonly number[];
  readonly rhsDilation?: readonly number[];
  readonly groups?: number;
}

/** Where batch and feature (out and in), then the spatial letters in the order of the kernel's layout, stand. */
function paramsOf(c: Case): ConvolutionParams {
  const [lhs = "", rhs = "", out = ""] = c.layouts.split(" ");
  const spatial = [...rhs].filter((letter) => letter !== "O" && letter !== "I");
  const spec = (layout: string, first: string, second: string) =>
    [first, second, ...spatial].map((letter) => layout.indexOf(letter));
  const ones = spatial.map(() => 1);
  return {
    strides: c.strides ?? ones,
    padding: c.padding,
    lhsDilation: c.lhsDilation ?? ones,
    rhsDilation: c.rhsDilation ?? ones,
    groups: c.groups ?? 1,
    lhsSpec: spec(lhs, "N", "C"),
    rhsSpec: spec(rhs, "O", "I"),
    outSpec: spec(out, "N", "C"),
  };
}

const wave = (shape: Shape, f: (i: number) => number) =>
  Float32Array.from({ length: sizeOf(shape) }, (_, i) => f(i));
const weights = (v: Value, f: (i: number) => number) => literalArray([...wave(v.shape, f)], "f32", v.shape);
const total = (v: Value) =>
  reduceSum(
    v,
    v.shape.map((_, i) => i),
  );
const project = (v: Value, f: (i: number) => number) => total(mul(v, weights(v, f)));
const fingerprint = (v: Value) => project(v, (i) => Math.cos(i * 0.7));

/**
 * From jax 0.10.2, lax.conv_general_dilated in f32: with x = sin(0.3 i + 0.5), w = sin(0.7 i + 0.5) and the loss
 * sum(cos(i) y^2) / 2, the sums over cos(0.7 i) of the result, of the gradients by x and w, and of the gradients of
 * [the sum over sin(i) of both] by x and w.
 */
const cases: readonly (Case & {
  readonly name: string;
  readonly shape: Shape;
  readonly jax: readonly number[];
})[] = [
  {
    name: "1-d, same padding",
    x: [2, 7, 3],
    w: [3, 3, 4],
    layouts: "NHC HIO NHC",
    padding: [[1, 1]],
    shape: [2, 7, 4],
    jax: [0.283103, 0.08658, -0.240989, 0.0886611, -8.75244],
  },
  {
    name: "2-d, stride 2 and uneven padding",
    x: [2, 7, 6, 3],
    w: [3, 2, 3, 4],
    layouts: "NHWC HWIO NHWC",
    strides: [2, 2],
    padding: [
      [0, 1],
      [2, 1],
    ],
    shape: [2, 3, 4, 4],
    jax: [0.868393, -0.0863909, -0.211077, 0.522175, 0.706856],
  },
  {
    name: "2-d, channels first, groups",
    x: [2, 4, 5, 5],
    w: [6, 2, 3, 3],
    layouts: "NCHW OIHW NCHW",
    strides: [1, 2],
    padding: [
      [1, 1],
      [0, 2],
    ],
    groups: 2,
    shape: [2, 6, 5, 3],
    jax: [2.46965, -23.162, 37.2681, -3.34218, 58.5062],
  },
  {
    name: "2-d, depthwise with dilation",
    x: [1, 8, 9, 4],
    w: [3, 3, 1, 8],
    layouts: "NHWC HWIO NHWC",
    padding: [
      [2, 2],
      [1, 0],
    ],
    rhsDilation: [2, 3],
    groups: 4,
    shape: [1, 8, 4, 8],
    jax: [0.836733, 0.34453, 0.558047, -9.41448, 14.7242],
  },
  {
    name: "2-d, dilated input and negative padding",
    x: [2, 4, 5, 2],
    w: [3, 3, 2, 3],
    layouts: "NHWC HWIO NHWC",
    strides: [2, 1],
    padding: [
      [-1, 2],
      [1, -4],
    ],
    lhsDilation: [3, 2],
    rhsDilation: [1, 2],
    shape: [2, 5, 2, 3],
    jax: [-4.74961, 2.54251, 0.67006, -0.270124, 2.10186],
  },
  {
    name: "1-d, padding beyond the window",
    x: [2, 5, 2],
    w: [2, 2, 3],
    layouts: "NHC HIO NHC",
    strides: [2],
    padding: [[3, 4]],
    shape: [2, 6, 3],
    jax: [-0.201619, 0.361024, 0.876863, 0.795607, 1.73397],
  },
  {
    name: "1-d, a stride that leaves elements over",
    x: [1, 9, 2],
    w: [2, 2, 2],
    layouts: "NHC HIO NHC",
    strides: [4],
    padding: [[0, 0]],
    shape: [1, 2, 2],
    jax: [-1.03759, -1.71912, -0.280453, -2.59563, -2.8389],
  },
  {
    name: "3-d, stride, dilation and groups together",
    x: [1, 4, 5, 4, 4],
    w: [2, 3, 2, 2, 4],
    layouts: "NDHWC DHWIO NDHWC",
    strides: [2, 1, 1],
    padding: [
      [1, 0],
      [1, 1],
      [0, 1],
    ],
    lhsDilation: [1, 1, 2],
    rhsDilation: [1, 2, 1],
    groups: 2,
    shape: [1, 2, 3, 7, 4],
    jax: [-4.06334, 0.990058, 0.0536423, -8.74161, 2.42165],
  },
  {
    name: "2-d, the result laid out unlike the input",
    x: [5, 6, 2, 3],
    w: [2, 3, 3, 4],
    layouts: "HWNC WIHO CNWH",
    padding: [
      [0, 0],
      [1, 1],
    ],
    shape: [4, 2, 5, 5],
    jax: [-0.58291, 0.791378, 0.187112, -23.3776, -10.2197],
  },
  {
    name: "2-d, groups with a dilated input and strides",
    x: [2, 5, 5, 6],
    w: [3, 3, 2, 3],
    layouts: "NHWC HWIO NHWC",
    strides: [2, 2],
    padding: [
      [2, 0],
      [2, 1],
    ],
    lhsDilation: [2, 2],
    rhsDilation: [2, 1],
    groups: 3,
    shape: [2, 4, 5, 3],
    jax: [1.38959, -0.648968, -5.81177, 2.08115, -1.45986],
  },
  {
    // JAX on a slice of the input: XLA's CPU reads beyond the input here.
    name: "1-d, groups with negative padding",
    x: [2, 5, 6],
    w: [2, 2, 9],
    layouts: "NHC HIO NHC",
    padding: [[-1, 1]],
    groups: 3,
    shape: [2, 4, 9],
    jax: [0.669415, 1.45676, -3.49776, -26.9232, 7.29962],
  },
  {
    name: "1-d, an input that is cut away",
    x: [1, 3, 2],
    w: [2, 2, 2],
    layouts: "NHC HIO NHC",
    padding: [[-4, 6]],
    shape: [1, 4, 2],
    jax: [0, 0, 0, 0, 0],
  },
];

const xs = (shape: Shape) => wave(shape, (i) => Math.sin(i * 0.3 + 0.5));
const ws = (shape: Shape) => wave(shape, (i) => Math.sin(i * 0.7 + 0.5));

describe.each(sweepEngines())("convolution on %s", (engine) => {
  it.each(cases)("gives JAX's result, gradients and second derivatives: $name", async (c) => {
    const params = paramsOf(c);
    const gradients = grad(
      (x: Value, w: Value) => {
        const y = convolution(x, w, params);
        return mul(project(mul(y, y), Math.cos), splat(0.5, "f32"));
      },
      { argnums: [0, 1] },
    );
    const seconds = grad(
      (x: Value, w: Value) => {
        const [gx, gw] = gradients(x, w);
        return add(project(gx, Math.sin), project(gw, Math.sin));
      },
      { argnums: [0, 1] },
    );
    const run = compile(
      (x: Value, w: Value) => {
        const y = convolution(x, w, params);
        return { y, prints: [y, ...gradients(x, w), ...seconds(x, w)].map(fingerprint) };
      },
      { engine },
    );
    const { y, prints } = run(put(xs(c.x), { shape: c.x, engine }), put(ws(c.w), { shape: c.w, engine }));
    expect(y.shape).toEqual(c.shape);
    (await read(prints)).forEach((print, i) => {
      expect(print[0]).toBeCloseTo(c.jax[i] as number, 3);
    });
  });

  const batch = (inputs: readonly Batched[], params: ConvolutionParams, size: number): Value => {
    const rule = opTable.get("convolution")?.batch;
    if (!rule || isLacking(rule)) throw new Error("convolution cannot be batched");
    return rule(several(inputs), params, size)[0] as Value;
  };
  const pick = (v: Value, i: number) =>
    reshape(
      slice(
        v,
        v.shape.map((_, d) => (d === 0 ? i : 0)),
        v.shape.map((n, d) => (d === 0 ? i + 1 : n)),
      ),
      v.shape.slice(1),
    );

  it.each(
    [1, 2]
      .flatMap((groups) => [
        { groups, channels: 4, xBatched: true, wBatched: true },
        { groups, channels: 4, xBatched: true, wBatched: false },
        { groups, channels: 4, xBatched: false, wBatched: true },
      ])
      .concat({ groups: 1, channels: 12, xBatched: true, wBatched: true }),
  )(
    "maps like a loop: $channels channels in $groups groups, input $xBatched, kernel $wBatched",
    async ({ groups, channels, xBatched, wBatched }) => {
      const size = 3;
      const c: Case = {
        x: [2, 6, 5, channels],
        w: [3, 2, channels / groups, 6],
        layouts: "NHWC HWIO NHWC",
        strides: [2, 1],
        padding: [
          [1, 0],
          [0, 1],
        ],
        groups,
      };
      const params = paramsOf(c);
      const xShape = xBatched ? [size, ...c.x] : c.x;
      const wShape = wBatched ? [size, ...c.w] : c.w;
      const run = compile(
        (x: Value, w: Value) => {
          const looped = Array.from({ length: size }, (_, i) => {
            const y = convolution(xBatched ? pick(x, i) : x, wBatched ? pick(w, i) : w, params);
            return reshape(y, [1, ...y.shape]);
          });
          const inputs = [
            { value: x, batched: xBatched },
            { value: w, batched: wBatched },
          ];
          return [batch(inputs, params, size), concatenate(looped, 0)];
        },
        { engine },
      );
      const results = run(
        put(xs(xShape), { shape: xShape, engine }),
        put(ws(wShape), { shape: wShape, engine }),
      );
      const [mapped, looped] = await read(results);
      expect(results[0]?.shape).toEqual(results[1]?.shape);
      mapped?.forEach((value, i) => {
        expect(value).toBeCloseTo(looped?.[i] as number, 4);
      });
    },
  );

  it("finds zeros around a repeated number, and so around the gradient of a sum", async () => {
    const params = paramsOf({ x: [], w: [], layouts: "NHC HIO NHC", padding: [[1, 1]] });
    const run = compile(
      (x: Value, w: Value) => [
        convolution(splat(1, "f32", [1, 3, 1]), w, params),
        grad((v: Value) => total(convolution(v, w, params)))(x),
      ],
      { engine },
    );
    const inputs = [put([[[5], [6], [7]]], { engine }), put([[[1]], [[2]], [[4]]], { engine })] as const;
    const results = await read(run(...inputs));
    expect(results.map((y) => [...y])).toEqual([
      [6, 7, 3],
      [3, 7, 6],
    ]);
  });

  it("sums nothing to zero: empty batches, no channels, no windows", async () => {
    const params = paramsOf({ x: [], w: [], layouts: "NHC HIO NHC", padding: [[0, 0]] });
    const run = (x: Shape, w: Shape) =>
      compile(() => convolution(splat(1, "f32", x), splat(1, "f32", w), params), { engine })();
    expect(run([0, 4, 2], [3, 2, 5]).shape).toEqual([0, 2, 5]);
    expect(run([1, 2, 2], [3, 2, 5]).shape).toEqual([1, 0, 5]);
    expect([...(await run([1, 3, 0], [3, 0, 2]).read())]).toEqual([0, 0]);
  });

  it("convolves whole numbers exactly", async () => {
    const params = paramsOf({ x: [], w: [], layouts: "NHC HIO NHC", padding: [[0, 1]] });
    const run = compile((x: Value, w: Value) => convolution(x, w, params), { engine });
    const y = run(
      put(Int32Array.of(1, -2, 300000), { shape: [1, 3, 1], engine }),
      put(Int32Array.of(7, 1000), { shape: [2, 1, 1], engine }),
    );
    expect([...(await y.read())]).toEqual([-1993, 299999986, 2100000]);
  });
});

describeInSample("errors of convolution", () => {
  const attempt = (x: Shape, w: Shape, change: Partial<ConvolutionParams> = {}) => {
    const params = {
      ...paramsOf({
        x,
        w,
        layouts: "NHWC HWIO NHWC",
        padding: [
          [0, 0],
          [0, 0],
        ],
      }),
      ...change,
    };
    compile(() => convolution(splat(0, "f32", x), splat(0, "f32", w), params), { engine: "wasm" })();
  };

  it("names both shapes and the channels the kernel should take", () => {
    expect(() => attempt([1, 8, 8, 3], [3, 3, 4, 16])).toThrow(
      /input \[1, 8, 8, 3\] and the kernel \[3, 3, 4, 16\].*has 3 channels \(axis 3\).*takes 4 \(axis 2\).*\[SHAPE_MISMATCH\][\s\S]*kernel's input channels 3/,
    );
    expect(() => attempt([1, 8, 8, 6], [3, 3, 6, 16], { groups: 2 })).toThrow(
      /input channels 3 \(6 channels in 2 groups\)/,
    );
    expect(() => attempt([1, 8, 8, 6], [3, 3, 1, 16], { groups: 4 })).toThrow(
      /number of groups that divides 6/,
    );
    expect(() => attempt([1, 8, 8, 6], [3, 3, 3, 5], { groups: 2 })).toThrow(
      /5 output channels cannot be shared by 2 groups/,
    );
  });

  it("refuses what is no convolution", () => {
    expect(() => attempt([1, 8, 8, 3], [3, 3, 16])).toThrow(/same number of axes/);
    expect(() => attempt([1, 8, 8, 3], [3, 3, 3, 4], { strides: [1] })).toThrow(
      /strides has 1 entries for 2 spatial axes/,
    );
    expect(() => attempt([1, 8, 8, 3], [3, 3, 3, 4], { strides: [0, 1] })).toThrow(/whole numbers from 1 on/);
    expect(() => attempt([1, 8, 8, 3], [3, 3, 3, 4], { lhsSpec: [0, 3, 1, 1] })).toThrow(/lhsSpec/);
    expect(() => attempt([1, 8, 8, 3], [0, 3, 3, 4])).toThrow(/no elements along a spatial axis/);
    expect(() =>
      attempt([1, 4, 8, 3], [1, 1, 3, 4], {
        padding: [
          [-3, -2],
          [0, 0],
        ],
      }),
    ).toThrow(/cuts more than the 4/);
  });
});
