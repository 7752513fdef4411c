import { describe, expect, it } from "vitest";
import { put } from "./put.ts";

describe("put refuses", () => {
  it.each<[string, unknown, RegExp]>([
    [
      "whole numbers of 64 bits",
      BigInt64Array.of(0n, 1n),
      /put: a BigInt64Array is not among the arrays it takes/,
    ],
    ["a BigInt", [0, 1n], /put: 1n is not a number/],
    ["a typed array it does not take", Int16Array.of(1), /put: a Int16Array is not among/],
    ["text", ["1"], /put: "1" is not a number/],
    ["nothing", [undefined], /put: undefined is not a number/],
    ["an object", [{ a: 1 }], /put: \{"a":1\} is not a number/],
  ])("%s", (_name, data, message) => {
    expect(() => put(data as never, { engine: "wasm" })).toThrow(message);
    expect(() => put(data as never, { engine: "wasm" })).toThrow(/Int32Array.from.*/);
  });
});
