import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { compile, np, type Value } from "../index.ts";
import { devices, meshDevice } from "./choose.ts";
import { testEngines } from "./engines.test-support.ts";
import { put, sideBySide } from "./put.ts";
import type { Tensor } from "./tensor.ts";

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

describe("sideBySide", () => {
  const tree = (device: number | Tensor["device"], engine: "wasm" | "xla") => ({
    w: put([[1, 2]], { engine, device }),
    b: [put(Int32Array.of(3), { engine, device })],
  });
  const onCpu = testEngines().includes("xla") && devices("xla")[0]?.kind === "cpu";

  it("gives the tree alone where there is one device", async () => {
    const given = tree(0, "wasm");
    expect((await sideBySide(given, 4)).each).toEqual([given]);
  });

  it.runIf(onCpu)("gives copies on other devices of a CPU, one for each core, which it frees", async () => {
    const given = tree(1, "xla");
    for (const most of [1, 2, 100]) {
      const { each, dispose } = await sideBySide(given, most);
      expect(each).toHaveLength(Math.min(most, availableParallelism(), devices("xla").length));
      expect(each[0]).toBe(given);
      expect(new Set(each.map(({ w }) => w.device)).size).toBe(each.length);
      for (const { w, b } of each)
        expect([...(await w.read()), ...((await b[0]?.read()) ?? [])]).toEqual([1, 2, 3]);
      dispose();
      expect(each.map(({ w }) => w.isDisposed)).toEqual(each.map((copy) => copy !== given));
    }
  });

  it.runIf(onCpu)("gives the tree alone on a mesh", async () => {
    const given = tree(meshDevice("xla", { count: 2, shardOptimizer: false }), "xla");
    expect((await sideBySide(given, 4)).each).toEqual([given]);
  });

  it.runIf(onCpu)("makes calls whose results have the same bits", async () => {
    const waves = compile((x: Value) => np.sin(np.matmul(x, np.swapaxes(x, 0, 1))));
    const x = put(
      Float32Array.from({ length: 600 }, (_, i) => i / 7),
      { shape: [20, 30], engine: "xla" },
    );
    const { each, dispose } = await sideBySide({ x }, 2);
    const results = await Promise.all(each.map((one) => waves(one.x).read()));
    for (const result of results) expect(result).toEqual(results[0]);
    expect(waves.programs).toBe(each.length);
    dispose();
  });
});
