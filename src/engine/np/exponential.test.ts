import { describe, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy and jax.scipy.special 0.10.2.
const slope = (f: (x: Value) => Value, x: Value): Value => grad((v: Value) => np.sum(f(v)))(x);

describe.each(testEngines())("exponentials and logarithms on %s", (engine) => {
  it("give JAX's numbers", () => {
    expectAll(
      evaluate(
        engine,
        (x, s) => ({
          sqrt: np.sqrt(x),
          rsqrt: np.rsqrt(x),
          exp: np.exp(s),
          exp2: np.exp2(s),
          expm1: np.expm1(s),
          log: np.log(x),
          log2: np.log2(x),
          log10: np.log10(x),
          log1p: np.log1p(x),
          erf: np.erf(s),
        }),
        [1e-6, 0.1, 1, 2.5, 80],
        [-2.5, -1e-6, 0, 1e-6, 0.3, 2],
      ),
      {
        sqrt: ["f32[5]", [0.001, 0.31622776, 1, 1.5811388, 8.944272]],
        rsqrt: ["f32[5]", [1000, 3.1622777, 1, 0.6324555, 0.1118034]],
        exp: ["f32[6]", [0.082085, 0.999999, 1, 1.000001, 1.3498589, 7.389056]],
        exp2: ["f32[6]", [0.17677669, 0.9999993, 1, 1.0000007, 1.2311444, 4]],
        expm1: ["f32[6]", [-0.917915, -9.999995e-7, 0, 1.0000005e-6, 0.3498588, 6.389056]],
        log: ["f32[5]", [-13.815511, -Math.LN10, 0, 0.91629076, 4.3820267]],
        log2: ["f32[5]", [-19.931568, -3.321928, 0, 1.3219281, 6.321928]],
        log10: ["f32[5]", [-6, -1, 0, 0.39794004, 1.90309]],
        log1p: ["f32[5]", [9.999995e-7, 0.09531018, Math.LN2, 1.252763, 4.394449]],
        erf: ["f32[6]", [-0.999593, -1.1283792e-6, 0, 1.1283792e-6, 0.3286268, 0.9953222]],
      },
      1e-6,
    );
  });

  it("keep small digits and the edges", () => {
    expectAll(
      evaluate(
        engine,
        (e, f) => ({
          log: np.log(e),
          sqrt: np.sqrt(e),
          log1p: np.multiply(np.log1p(f), 1e10),
          expm1: np.multiply(np.expm1(np.slice(f, [0, 3])), np.array([1e10, 1e10, 1])),
          exp: np.exp(f),
          ofInteger: np.exp(np.array([1, 2], { dtype: "i32" })),
          ofTruth: np.log(np.array([true, false])),
        }),
        [0, 1e-10, Infinity, -1, Number.NaN],
        [1e-10, -1e-10, -100, 100],
      ),
      {
        log: ["f32[5]", [-Infinity, -23.02585, Infinity, Number.NaN, Number.NaN]],
        sqrt: ["f32[5]", [0, 1e-5, Infinity, Number.NaN, Number.NaN]],
        log1p: ["f32[4]", [1, -1, Number.NaN, 46151205000]],
        expm1: ["f32[3]", [1, -1, -1]],
        exp: ["f32[4]", [1, 1, 0, Infinity]],
        ofInteger: ["f32[2]", [Math.E, 7.389056]],
        ofTruth: ["f32[2]", [0, -Infinity]],
      },
      2e-6,
    );
  });

  it("logaddexp is stable, -inf being nothing", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => ({
          value: np.logaddexp(a, b),
          slope: slope((v) => np.logaddexp(v, np.slice(b, [0, 4])), np.slice(a, [0, 4])),
          second: slope((v) => slope((w) => np.logaddexp(w, np.slice(b, [5, 6])), v), np.slice(a, [5, 6])),
        }),
        [0, 100, -Infinity, -Infinity, Infinity, 3, Number.NaN],
        [0, -100, 2, -Infinity, Infinity, 3, 1],
      ),
      {
        value: ["f32[7]", [Math.LN2, 100, 2, -Infinity, Infinity, 3.6931472, Number.NaN]],
        // 0 in the last place, where JAX gives NaN.
        slope: ["f32[4]", [0.5, 1, 0, 0]],
        second: ["f32[1]", [0.25]],
      },
    );
  });

  it("has NaN in both slopes of logaddexp where a side is NaN", () => {
    expectAll(
      evaluate(
        engine,
        (x, y) => ({
          left: slope((v) => np.logaddexp(v, y), x),
          right: slope((v) => np.logaddexp(x, v), y),
        }),
        [Number.NaN, 1, -Infinity],
        [1, Number.NaN, 2],
      ),
      {
        left: ["f32[3]", [Number.NaN, Number.NaN, 0]],
        right: ["f32[3]", [Number.NaN, Number.NaN, 1]],
      },
    );
  });
});
