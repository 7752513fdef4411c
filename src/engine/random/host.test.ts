import { describe, expect, it } from "vitest";
import { digest } from "./draw.test-support.ts";
import {
  hostBits,
  hostFoldIn,
  hostKey,
  hostPermutation,
  hostSplit,
  hostUniform,
  threefry2x32,
} from "./host.ts";
import fixture from "./random.fixture.json" with { type: "json" };

describe("random numbers on the host", () => {
  // The known answers of Random123, the library in which threefry was published: key, count, result.
  it.each([
    [0, 0, 0, 0, 0x6b200159, 0x99ba4efe],
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7],
    [0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0],
  ])("hashes key %i %i and count %i %i as published", (k0, k1, c0, c1, x0, x1) => {
    expect(threefry2x32(k0, k1, c0, c1)).toEqual([x0, x1]);
  });

  it.each(fixture.keys)("makes JAX's key of the seed $seed", ({ seed, values }) => {
    expect([...hostKey(seed)]).toEqual(values);
  });

  it.each([0.5, Number.NaN, 2 ** 53, -(2 ** 31) - 1])("refuses %f as a seed", (seed) => {
    expect(() => hostKey(seed)).toThrow(expect.objectContaining({ code: "SEED_INVALID" }));
  });

  it.each(fixture.split)("splits the key of $seed into JAX's $n keys", ({ seed, n, values }) => {
    expect(hostSplit(hostKey(seed), n).flatMap((key) => [...key])).toEqual(values);
  });

  it.each(fixture.foldIn)("folds $data into the key of $seed as JAX does", ({ seed, data, values }) => {
    expect([...hostFoldIn(hostKey(seed), data)]).toEqual(values);
  });

  it.each(fixture.bits)("draws JAX's bits from the key of $seed", ({ seed, values }) => {
    expect([...hostBits(hostKey(seed), values.length)]).toEqual(values);
  });

  it("draws the same 100,000 words as JAX", () => {
    const { seed, n, ...expected } = fixture.manyBits;
    expect(digest(hostBits(hostKey(seed), n))).toEqual(expected);
  });

  it.each(fixture.uniform)("draws JAX's uniform numbers from the key of $seed", ({ seed, values }) => {
    expect([...hostUniform(hostKey(seed), values.length)]).toEqual(values);
  });

  it.each(fixture.permutation)("orders $n numbers as JAX does", ({ seed, n, values }) => {
    expect([...hostPermutation(hostKey(seed), n)]).toEqual(values);
  });

  it("orders 5,000 numbers, which takes two rounds, as JAX does", () => {
    const { seed, n, mixed } = fixture.manyPlaces;
    expect(digest(hostPermutation(hostKey(seed), n)).mixed).toBe(mixed);
  });

  it("refuses what is no key, no count and no 32-bit number", () => {
    const key = hostKey(0);
    expect(() => hostSplit([1, 2, 3])).toThrow(expect.objectContaining({ code: "KEY_INVALID" }));
    expect(() => hostBits(key, -1)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
    expect(() => hostPermutation(key, 1.5)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
    expect(() => hostFoldIn(key, 2 ** 32)).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
  });
});
