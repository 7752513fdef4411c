import { describe, expect, it } from "vitest";
import { box, contains, dict, discrete, multiDiscrete, type Space, whyOutside } from "./index.ts";

const nested = dict({ inner: dict({ a: discrete(2) }), b: box({ shape: [1] }) });

describe("what lies in a space", () => {
  it.each<[space: Space, value: unknown]>([
    [discrete(3), 2],
    [multiDiscrete([2, 3]), Int32Array.of(1, 2)],
    [multiDiscrete([2, 3]), [0, 0]],
    [box({ shape: [2, 1], low: [0, -1], high: 1 }), Float32Array.of(1, -1)],
    [box({ shape: [1] }), [Infinity]],
    // 1.2 is a little more in single precision, and is its own bound all the same.
    [box({ shape: [2], low: -1.2, high: 1.2 }), Float32Array.of(1.2, -1.2)],
    [box({ shape: [2], low: 0, high: 255 }), Uint8Array.of(0, 255)],
    [nested, { b: [0], inner: { a: 1 } }],
  ])("%o contains %o", (space, value) => {
    expect(contains(space, value)).toBe(true);
    expect(whyOutside(space, value)).toBeUndefined();
  });

  it.each<[space: Space, value: unknown, why: string]>([
    [discrete(3), 3, "it is 3, where a whole number from 0 to 2 is expected"],
    [discrete(3), 0.5, "it is 0.5, where a whole number from 0 to 2 is expected"],
    [discrete(3), undefined, "it is undefined, where a whole number from 0 to 2 is expected"],
    [discrete(3), [1], "it is a list, where a whole number from 0 to 2 is expected"],
    [multiDiscrete([2, 3]), [1, 3], "it is 3 at 1, where a whole number from 0 to 2 is expected"],
    [multiDiscrete([2, 3]), [1], "it has 1 numbers, where 2 are expected"],
    [box({ shape: [2] }), 1, "it is 1, where 2 numbers in a Float32Array are expected"],
    [
      box({ shape: [1] }),
      new Float64Array(1),
      "it is a Float64Array, where 1 numbers in a Float32Array are expected",
    ],
    [box({ shape: [2] }), new Float32Array(3), "it has 3 numbers, where 2 are expected"],
    [box({ shape: [2] }), new Uint8Array(3), "it has 3 numbers, where 2 are expected"],
    [box({ shape: [2] }), Float32Array.of(0, NaN), "it is NaN at 1"],
    [box({ shape: [2], low: 0 }), [1, -1], "it is -1 at 1, below 0"],
    [box({ shape: [2], high: [1, 2] }), [1, 2.5], "it is 2.5 at 1, above 2"],
    [nested, { b: [0] }, '"inner" is missing'],
    [nested, { b: [0], inner: { a: 2 } }, '"inner"."a" is 2, where a whole number from 0 to 1 is expected'],
    [nested, { b: [0], inner: { a: 0 }, c: 1 }, 'it has "c", which its space does not have'],
    [nested, [1], "it is a list, where an object of b, inner is expected"],
    [nested, null, "it is null, where an object of b, inner is expected"],
  ])("%o does not contain %o", (space, value, why) => {
    expect(contains(space, value)).toBe(false);
    expect(whyOutside(space, value)).toBe(why);
  });
});
