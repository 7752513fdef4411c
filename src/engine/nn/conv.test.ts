import { describe, expect, it } from "vitest";
import { splat } from "../ops/constant.ts";
import { reshape } from "../ops/shape.ts";
import { slice } from "../ops/slice.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import type { Shape } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { vmap } from "../transform/vmap.ts";
import { type ConvOptions, type ConvTransposeOptions, conv, convTranspose } from "./conv.ts";
import { fingerprint, project } from "./fingerprint.test-support.ts";
import { maxPool } from "./pool.ts";

interface Case<O> {
  readonly name: string;
  readonly x: Shape;
  readonly w: Shape;
  readonly options: O;
  readonly shape: Shape;
  readonly prints: readonly number[];
}

/** From jax 0.10.2: lax.conv_general_dilated. */
const convCases: readonly Case<ConvOptions>[] = [
  {
    name: "same padding, stride 2",
    x: [2, 7, 6, 3],
    w: [3, 2, 3, 4],
    options: { padding: "same", strides: 2 },
    shape: [2, 4, 3, 4],
    prints: [-2.17038, 0.207058, 1.20846],
  },
  {
    name: "same padding, dilation",
    x: [2, 7, 6, 3],
    w: [3, 2, 3, 4],
    options: { padding: "same", strides: [1, 2], dilation: [2, 3] },
    shape: [2, 7, 3, 4],
    prints: [-1.23987, 4.77949, 4.73557],
  },
  {
    name: "channels first, groups, one padding for all",
    x: [2, 4, 6, 5],
    w: [6, 2, 2, 3],
    options: { padding: 1, groups: 2, layout: "NCHW" },
    shape: [2, 6, 7, 5],
    prints: [3.51665, 5.44601, 8.05159],
  },
  {
    name: "1-d, dilated input, pairs",
    x: [2, 5, 3],
    w: [3, 3, 2],
    options: { padding: [[2, 1]], inputDilation: 3, layout: "NWC" },
    shape: [2, 14, 2],
    prints: [3.34577, 2.86433, -11.6239],
  },
];

/** From jax 0.10.2: lax.conv_transpose; the last from torch: conv_transpose2d. */
const transposeCases: readonly Case<ConvTransposeOptions>[] = [
  {
    name: "same padding",
    x: [2, 3, 4, 3],
    w: [3, 2, 3, 4],
    options: { strides: [2, 3], padding: "same" },
    shape: [2, 6, 12, 4],
    prints: [4.83375, -1.85202, 1.36172],
  },
  {
    name: "no padding",
    x: [2, 3, 4, 3],
    w: [3, 2, 3, 4],
    options: { strides: [2, 3] },
    shape: [2, 7, 12, 4],
    prints: [9.8152, 0.100681, -5.64104],
  },
  {
    name: "dilation",
    x: [2, 3, 4, 3],
    w: [3, 2, 3, 4],
    options: { strides: [2, 1], dilation: 2, padding: "valid" },
    shape: [2, 9, 6, 4],
    prints: [-1.18441, -3.31883, -0.226],
  },
  {
    name: "PyTorch's kernel, padding and groups",
    x: [2, 4, 3, 4],
    w: [4, 3, 3, 2],
    options: {
      strides: [2, 3],
      padding: [
        [1, 1],
        [0, 0],
      ],
      groups: 2,
      layout: "NCHW",
      transposeKernel: true,
    },
    shape: [2, 6, 5, 11],
    prints: [-0.127679, 2.8882, -1.73107],
  },
];

describe.each(testEngines())("convolutions on %s", (engine) => {
  it.each(convCases)("conv gives JAX's numbers and gradients: $name", async (c) => {
    const { shape, prints } = await fingerprint(
      engine,
      (...[x, w]) => conv(x as Value, w as Value, c.options),
      [c.x, 0.3],
      [c.w, 0.7],
    );
    expect(shape).toEqual(c.shape);
    prints.forEach((print, i) => {
      expect(print).toBeCloseTo(c.prints[i] as number, 3);
    });
  });

  it.each(transposeCases)("convTranspose gives the numbers and gradients it claims: $name", async (c) => {
    const { shape, prints } = await fingerprint(
      engine,
      (...[x, w]) => convTranspose(x as Value, w as Value, c.options),
      [c.x, 0.3],
      [c.w, 0.7],
    );
    expect(shape).toEqual(c.shape);
    prints.forEach((print, i) => {
      expect(print).toBeCloseTo(c.prints[i] as number, 3);
    });
  });

  it("maps the gradient of a convolution over examples, kernel and all", async () => {
    const loss = (x: Value, w: Value) =>
      project(maxPool(conv(x, w, { padding: "same" }), { window: 2 }), Math.cos);
    const slopes = grad(loss, { argnums: [0, 1] });
    const run = compile(
      (xs: Value, ws: Value) => {
        const one = (v: Value, i: number) => {
          const starts = v.shape.map((_, d) => (d === 0 ? i : 0));
          const ends = v.shape.map((n, d) => (d === 0 ? i + 1 : n));
          return reshape(slice(v, starts, ends), v.shape.slice(1));
        };
        return { mapped: vmap(slopes)(xs, ws), looped: [0, 1, 2].map((i) => slopes(one(xs, i), one(ws, i))) };
      },
      { engine },
    );
    const numbers = (n: number) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * 1.3 + 0.5));
    const { mapped, looped } = await read(
      run(
        put(numbers(3 * 2 * 4 * 4 * 2), { shape: [3, 2, 4, 4, 2], engine }),
        put(numbers(3 * 3 * 3 * 2 * 2), { shape: [3, 3, 3, 2, 2], engine }),
      ),
    );
    [0, 1].forEach((argument) => {
      const all = looped.flatMap((slope) => [...(slope[argument] ?? [])]);
      expect(mapped[argument]).toHaveLength(all.length);
      all.forEach((slope, i) => {
        expect(mapped[argument]?.[i]).toBeCloseTo(slope, 4);
      });
    });
  });

  it("takes bytes with a kernel of floats", async () => {
    const image = put(Uint8Array.of(1, 2, 250), { shape: [1, 3, 1], engine });
    const y = compile((x: Value) => conv(x, splat(0.5, "f32", [2, 1, 1])), { engine })(image);
    expect(y.dtype).toBe("f32");
    expect([...(await y.read())]).toEqual([1.5, 126]);
  });
});

describe("errors of conv", () => {
  const attempt = (x: Shape, w: Shape, options: object, fn: typeof conv = conv) =>
    compile(() => fn(splat(0, "f32", x), splat(0, "f32", w), options), { engine: "wasm" })();

  it("knows what an unknown option was meant to be", () => {
    expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], { stride: 2 })).toThrow(
      /conv: there is no option "stride"; did you mean "strides"\?.*\[OPTION_UNKNOWN\]/,
    );
    expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], { padding: "SAME" })).toThrow(/did you mean "same"\?/);
    expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], { layout: "NHCW" })).toThrow(/did you mean/);
    expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], { inputDilation: 2 }, convTranspose)).toThrow(
      /convTranspose: there is no option "inputDilation"/,
    );
  });

  it("names shapes that do not fit", () => {
    expect(() => attempt([1, 4, 4, 1], [3, 1, 1], {})).toThrow(/\[\.\.\.window, in \/ groups, out\]/);
    expect(() => attempt([4, 4], [3, 1], {})).toThrow(/one or more spatial axes/);
    expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], { layout: "NWC" })).toThrow(
      /names 3 axes.*\[1, 4, 4, 1\]/,
    );
    expect(() => attempt([1, 4, 4, 1], [5, 3, 1, 1], {})).toThrow(/is 4 long on axis 1 .* reaches over 5/);
    expect(() => attempt([1, 4, 4, 3], [3, 3, 4, 8], {})).toThrow(/has 3 channels.*takes 4/);
  });

  it("refuses values options cannot have", () => {
    const refused: readonly [options: object, message: RegExp][] = [
      [{ strides: [1] }, /strides is \[1\], for 2 spatial axes/],
      [{ strides: 0 }, /strides is 0/],
      [{ padding: [[0, 0]] }, /padding is \[\[0,0\]\], for 2 spatial axes/],
      [{ groups: 0 }, /groups is 0/],
      [{ padding: "same", inputDilation: 2 }, /says nothing about a dilated input/],
    ];
    for (const [options, message] of refused)
      expect(() => attempt([1, 4, 4, 1], [3, 3, 1, 1], options)).toThrow(message);
  });
});
