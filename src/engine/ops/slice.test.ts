import { describe, expect, it } from "vitest";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { pad, slice } from "./slice.ts";

const count = (n: number) => Float32Array.from({ length: n }, (_, i) => i + 1);

describe.each(testEngines())("slices and padding on %s", (engine) => {
  const options = { engine } as const;

  it("keep their places through padding inside, strides and cuts in a row", async () => {
    const chain = (x: Value) => {
      const padded = pad(x, 0, [0, 2, 2], [0, 0, 1], [0, 1, 1]);
      const strided = slice(padded, [0, 0, 4], [2, 11, 12], [1, 1, 2]);
      return slice(strided, [0, 2, 0], [2, 10, 4]);
    };
    const result = compile(chain, options)(put(count(50), { ...options, shape: [2, 5, 5] }));
    // Row r of the padded middle holds row r / 2 of x where r is even and zeros where it is odd.
    const expected = [0, 1].flatMap((n) =>
      Array.from({ length: 8 }, (_, r) =>
        Array.from({ length: 4 }, (_, c) => (r % 2 === 0 ? n * 25 + (r / 2) * 5 + c + 2 : 0)),
      ).flat(),
    );
    expect([...(await result.read())]).toEqual(expected);
  });

  it("pads with any number, and cuts where the width is negative", async () => {
    const result = compile(
      (x: Value) => pad(x, 7, [-1, 2], [1, -1], [0, 0]),
      options,
    )(put(count(6), { ...options, shape: [2, 3] }));
    expect(result.shape).toEqual([2, 4]);
    expect([...(await result.read())]).toEqual([7, 7, 4, 5, 7, 7, 7, 7]);
  });

  it("refuses to slice beyond the end, naming the axis", () => {
    const f = compile((x: Value) => slice(x, [0, 1], [2, 4]), options);
    expect(() => f(put(count(6), { ...options, shape: [2, 3] }))).toThrow(/SLICE_OUT_OF_RANGE/);
  });
});
