import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const slope = (f: (x: Value) => Value, x: Value): Value => grad((v: Value) => np.sum(f(v)))(x);

describe.each(testEngines())("powers on %s", (engine) => {
  it("multiply for whole exponents and agree with IEEE elsewhere", () => {
    expectAll(
      evaluate(
        engine,
        (x, y) => ({
          square: np.power(x, 2),
          seventh: np.power(x, 7),
          none: np.power(x, 0),
          inverse: np.power(x, -2),
          root: np.power(x, 0.5),
          values: np.power(x, y),
          two: np.power(2, y),
        }),
        [0.3, -1.7, 0, 2, 0.001],
        [2, 3, 0, -1.5, 0.5],
      ),
      {
        square: ["f32[5]", [0.09, 2.89, 0, 4, 1.0000001e-6]],
        seventh: ["f32[5]", [0.00021870002, -41.03387, 0, 128, 1.0000004e-21]],
        none: ["f32[5]", [1, 1, 1, 1, 1]],
        inverse: ["f32[5]", [11.111111, 0.34602076, Infinity, 0.25, 999999.9]],
        root: ["f32[5]", [0.5477226, Number.NaN, 0, Math.SQRT2, 0.03162278]],
        values: ["f32[5]", [0.09, -4.9130006, 1, 0.35355338, 0.03162278]],
        two: ["f32[5]", [4, 8, 1, 0.35355338, Math.SQRT2]],
      },
      5e-6,
    );
  });

  it("squares exactly", () => {
    const { square } = evaluate(engine, (x) => ({ square: np.power(x, 2) }), [1.1, 3.3]);
    expect(square.value).toEqual([1.1, 3.3].map((x) => Math.fround(Math.fround(x) * Math.fround(x))));
  });

  it("keep integers whole", () => {
    expectAll(
      evaluate(
        engine,
        (i, j, u) => ({
          cube: np.power(i, 3),
          traced: np.power(i, j),
          bytes: np.power(u, u),
          half: np.power(i, 0.5),
          byFloat: np.power(np.astype(i, "f32"), j),
        }),
        put(new Int32Array([-3, 2, 7, 1]), { engine }),
        put(new Int32Array([3, 10, 0, 5]), { engine }),
        put(new Uint8Array([3, 2, 7]), { engine }),
      ),
      {
        cube: ["i32[4]", [-27, 8, 343, 1]],
        traced: ["i32[4]", [-27, 1024, 1, 1]],
        bytes: ["u8[3]", [27, 4, 247]],
        half: ["f32[4]", [Number.NaN, Math.SQRT2, 2.6457512, 1]],
        byFloat: ["f32[4]", [-27, 1024, 1, 1]],
      },
    );
  });

  it("have JAX's derivatives, at 0 too", () => {
    expectAll(
      evaluate(
        engine,
        (x, p) => ({
          square: slope((v) => np.power(v, 2), x),
          linear: slope((v) => np.power(v, 1), x),
          constant: slope((v) => np.power(v, 0), x),
          cube: slope((v) => np.power(v, 3), x),
          secondOfCube: slope((v) => slope((w) => np.power(w, 3), v), x),
          tracedZero: slope((v) => np.power(v, np.zerosLike(v)), x),
          tracedTwo: slope((v) => np.power(v, np.fullLike(v, 2)), x),
          exponent: slope((v) => np.power(p, v), p),
          exponentOfZero: slope((v) => np.power(np.zerosLike(v), v), p),
        }),
        [0, 2, -1],
        [1, 2, 0.5],
      ),
      {
        square: ["f32[3]", [0, 4, -2]],
        linear: ["f32[3]", [1, 1, 1]],
        constant: ["f32[3]", [0, 0, 0]],
        cube: ["f32[3]", [0, 12, 3]],
        secondOfCube: ["f32[3]", [0, 12, -6]],
        // 0 throughout, where JAX gives NaN at 0.
        tracedZero: ["f32[3]", [0, 0, 0]],
        tracedTwo: ["f32[3]", [0, 4, -2]],
        exponent: ["f32[3]", [0, 2.7725887, -0.49012905]],
        exponentOfZero: ["f32[3]", [0, 0, 0]],
      },
    );
  });

  it("roots of all signs and sizes", () => {
    expectAll(
      evaluate(
        engine,
        (x) => ({
          cbrt: np.cbrt(x),
          slope: slope(np.cbrt, np.slice(x, [0, 2])),
          i: np.cbrt(np.array([8], { dtype: "i32" })),
        }),
        [27, -8, 0, 1e30, 2e-38, Infinity, -Infinity, 0.1],
      ),
      {
        cbrt: ["f32[8]", [3, -2, 0, 10000000000, 2.7144175e-13, Infinity, -Infinity, 0.4641589]],
        slope: ["f32[2]", [0.037037037, 0.083333336]],
        i: ["f32[1]", [2]],
      },
      3e-7,
    );
  });

  it("hypot neither overflows nor fails at 0", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => ({
          hypot: np.hypot(a, b),
          slope: slope((v) => np.hypot(v, np.slice(b, [0, 2])), np.slice(a, [0, 2])),
        }),
        [3, 0, 1e30, -5],
        [4, 0, 1e30, 12],
      ),
      { hypot: ["f32[4]", [5, 0, 1.4142135e30, 12.999999]], slope: ["f32[2]", [0.6, 0]] },
    );
  });
});

describe.each(testEngines())("derivatives in range on %s", (engine) => {
  const inf = Number.POSITIVE_INFINITY;
  /** How far numbers of any size are from those wanted, relative to them. */
  const faults = (got: unknown, wanted: readonly number[]) =>
    (got as number[]).flatMap((number, i) => {
      const want = wanted[i] as number;
      const near = number === want || Math.abs(number / want - 1) < 1e-5;
      return near ? [] : [`[${i}]: ${number} instead of ${want}`];
    });

  it.each([
    {
      n: -1,
      first: [-inf, -1e20, -1e-20, 0, -0.25, -0.25],
      second: [inf, 2e30, 2e-30, 0, 0.25, -0.25],
    },
    { n: -2, first: [-inf, -2e30, -2e-30, 0, -0.25, 0.25], second: [inf, inf, 0, 0, 0.375, 0.375] },
    { n: -3, first: [-inf, -inf, 0, 0, -0.1875, -0.1875], second: [inf, inf, 0, 0, 0.375, -0.375] },
  ])("power $n", ({ n, first, second }) => {
    const f = (x: Value) => np.power(x, n);
    const got = evaluate(engine, (x) => ({ first: slope(f, x), second: slope((v) => slope(f, v), x) }), [
      0,
      1e-10,
      1e10,
      inf,
      2,
      -2,
    ]);
    expect(faults(got.first.value, first)).toEqual([]);
    expect(faults(got.second.value, second)).toEqual([]);
  });

  it("hypot, infinite where a side is, its slope each side's share of the length", () => {
    const nan = Number.NaN;
    const got = evaluate(
      engine,
      (a, b) => ({
        length: np.hypot(a, b),
        slope: slope((v) => np.hypot(v, np.slice(b, "5:")), np.slice(a, "5:")),
        second: slope((v) => slope((u) => np.hypot(u, 4), v), np.full([1], 3)),
      }),
      [inf, inf, nan, nan, inf, 3, 0, 1e30, 1e-30, -3e38],
      [1, -inf, -inf, 1, nan, 4, 0, 1e30, 1e-30, 2],
    );
    expect((got.length.value as number[]).slice(0, 5)).toEqual([inf, inf, inf, nan, inf]);
    expect(
      faults((got.length.value as number[]).slice(5), [5, 0, 1.4142135e30, 1.4142135e-30, 3e38]),
    ).toEqual([]);
    expect(faults(got.slope.value, [0.6, 0, Math.SQRT1_2, Math.SQRT1_2, -1])).toEqual([]);
    expect(faults(got.second.value, [0.128])).toEqual([]);
  });
});

it.runIf(testEngines().includes("xla"))("powers of f16 have derivatives in range", () => {
  const x = put([20, 0.05], { engine: "xla", dtype: "f16" });
  const got = evaluate("xla", (v) => slope((u) => np.power(u, -2), v), x);
  expect((got.value as number[]).map((v) => Number(v.toPrecision(3)))).toEqual([-2.5e-4, -16000]);
});

it("power refuses negative powers of integers", () => {
  const error = errorOf((x) => np.power(np.astype(x, "i32"), -1), [2]);
  expect(error.code).toBe("ARGUMENT_INVALID");
  expect(error.message).toContain("power: i32[1] to the power of -1");
  expect(error.at).toContain("power.test.ts");
});
