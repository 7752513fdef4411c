import { describe, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const slope = (f: (x: Value) => Value, x: Value): Value => grad((v: Value) => np.sum(f(v)))(x);

describe.each(testEngines())("rounding and clipping on %s", (engine) => {
  it("rounds each way, halves to even", () => {
    expectAll(
      evaluate(
        engine,
        (x) => ({
          floor: np.floor(x),
          ceil: np.ceil(x),
          trunc: np.trunc(x),
          round: np.round(x),
          tenths: np.round(np.slice(np.divide(x, 7), [0, 7]), 1),
        }),
        [-2.5, -1.5, -0.4, 0, 0.5, 1.5, 2.5, 1000000000],
      ),
      {
        floor: ["f32[8]", [-3, -2, -1, 0, 0, 1, 2, 1000000000]],
        ceil: ["f32[8]", [-2, -1, -0, 0, 1, 2, 3, 1000000000]],
        trunc: ["f32[8]", [-2, -1, -0, 0, 0, 1, 2, 1000000000]],
        round: ["f32[8]", [-2, -2, -0, 0, 0, 2, 2, 1000000000]],
        tenths: ["f32[7]", [-0.4, -0.2, -0.1, 0, 0.1, 0.2, 0.4]],
      },
    );
  });

  it("leaves whole numbers as they are", () => {
    expectAll(
      evaluate(
        engine,
        (i) => ({ floor: np.floor(i), round: np.round(i), truth: np.ceil(np.greater(i, 0)) }),
        put(new Int32Array([-3, 4]), { engine }),
      ),
      { floor: ["i32[2]", [-3, 4]], round: ["i32[2]", [-3, 4]], truth: ["bool[2]", [false, true]] },
    );
  });

  it("clips by numbers and values, from either side", () => {
    expectAll(
      evaluate(
        engine,
        (c, d, i) => ({
          both: np.clip(c, -1, 1),
          below: np.clip(c, d),
          above: np.clip(c, undefined, d),
          integer: np.clip(i, 0, 3),
          promoted: np.clip(i, 0.5),
          slope: slope((v) => np.clip(v, -1, 1), c),
        }),
        [-3, -1, 0.5, 1, 4],
        [0, 0, 0, 2, 2],
        put(new Int32Array([-3, 2, 7]), { engine }),
      ),
      {
        both: ["f32[5]", [-1, -1, 0.5, 1, 1]],
        below: ["f32[5]", [0, 0, 0.5, 2, 4]],
        above: ["f32[5]", [-3, -1, 0, 1, 2]],
        integer: ["i32[3]", [0, 2, 3]],
        promoted: ["f32[3]", [0.5, 2, 7]],
        slope: ["f32[5]", [0, 0.5, 1, 0.5, 0]],
      },
    );
  });

  it("tells what is not finite, and replaces it", () => {
    expectAll(
      evaluate(
        engine,
        (e) => ({
          nan: np.isNan(e),
          inf: np.isInf(e),
          finite: np.isFinite(e),
          whole: np.isFinite(np.array([1, 2], { dtype: "i32" })),
          never: np.isNan(np.array([1, 2], { dtype: "i32" })),
          numbers: np.nanToNum(e),
          given: np.nanToNum(e, { nan: -1, posinf: 9, neginf: -9 }),
        }),
        [1, Number.NaN, Infinity, -Infinity, 0],
      ),
      {
        nan: ["bool[5]", [false, true, false, false, false]],
        inf: ["bool[5]", [false, false, true, true, false]],
        finite: ["bool[5]", [true, false, false, false, true]],
        whole: ["bool[2]", [true, true]],
        never: ["bool[2]", [false, false]],
        numbers: ["f32[5]", [1, 0, 3.4028235e38, -3.4028235e38, 0]],
        given: ["f32[5]", [1, -1, 9, -9, 0]],
      },
    );
  });
});
