import { describe, expect, it } from "vitest";
import { splat } from "../ops/constant.ts";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put, read } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { avgPool, maxPool } from "./pool.ts";

const close = (actual: Iterable<number> | undefined, expected: readonly number[]) => {
  const numbers = [...(actual ?? [])];
  expect(numbers).toHaveLength(expected.length);
  numbers.forEach((n, i) => {
    expect(n).toBeCloseTo(expected[i] as number, 4);
  });
};

describe.each(testEngines())("pooling on %s", (engine) => {
  const x = () =>
    put(
      Float32Array.from({ length: 20 }, (_, i) => Math.sin(i * 0.3 + 0.5)),
      { shape: [1, 5, 4, 1], engine },
    );

  it("moves by the window unless told, in either layout", async () => {
    const run = compile(
      (v: Value) => [
        maxPool(v, { window: 2 }),
        maxPool(v, {
          window: [4, 2],
          layout: "NCHW",
          padding: [
            [3, 0],
            [0, 1],
          ],
        }),
      ],
      { engine },
    );
    const square = put(
      [
        [
          [
            [1, 5],
            [2, 6],
          ],
          [
            [3, 7],
            [4, 0],
          ],
        ],
      ],
      { engine },
    );
    const [last, first] = run(square);
    expect([last?.shape, first?.shape]).toEqual([
      [1, 1, 1, 2],
      [1, 2, 1, 1],
    ]);
    const [a, b] = await read([last, first]);
    close(a as Float32Array, [4, 7]);
    close(b as Float32Array, [5, 7]);
  });

  it("gives torch's means, with padding counted and not", async () => {
    const run = compile(
      (v: Value) => {
        const options = { window: 3, strides: 2, padding: 1 };
        return [avgPool(v, options), avgPool(v, { ...options, countIncludePad: false })];
      },
      { engine },
    );
    const [counted, not] = await read(run(x()));
    // torch.nn.functional.avg_pool2d
    close(counted, [0.3442, 0.5294, 0.0347, -0.1957, -0.3593, -0.4443]);
    close(not, [0.7744, 0.7941, 0.052, -0.1957, -0.8084, -0.6664]);
  });

  it("keeps the length with same padding", () => {
    const run = compile((v: Value) => maxPool(v, { window: 3, strides: 1, padding: "same" }), { engine });
    expect(run(x()).shape).toEqual([1, 5, 4, 1]);
  });

  it("gives means of integers as floats, maxima as integers", async () => {
    const run = compile((v: Value) => [avgPool(v, { window: 2 }), maxPool(v, { window: 2 })], { engine });
    const [mean, most] = run(put(Int32Array.of(1, 2, 3, 7), { shape: [1, 4, 1], engine }));
    expect([mean?.dtype, most?.dtype]).toEqual(["f32", "i32"]);
    close(await mean?.read(), [1.5, 5]);
    close(await most?.read(), [2, 7]);
  });
});

describe("errors of pooling", () => {
  it("says what is wrong with the options", () => {
    const attempt = (options: object) =>
      compile(() => maxPool(splat(0, "f32", [1, 4, 4, 1]), options as { window: number }), {
        engine: "wasm",
      })();
    expect(() => attempt({})).toThrow(/maxPool: the window is missing/);
    expect(() => attempt({ windows: 2 })).toThrow(/did you mean "window"\?/);
    expect(() => attempt({ window: 5 })).toThrow(/is 4 long on axis 1 .*the window is 5/);
    expect(() =>
      attempt({
        window: 2,
        padding: [
          [-1, 0],
          [0, 0],
        ],
      }),
    ).toThrow(/negative/);
    expect(() => attempt({ window: 2, countIncludePad: true })).toThrow(/no option "countIncludePad"/);
  });
});
