import { describe, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const slope = (f: (x: Value) => Value, x: Value): Value => grad((v: Value) => np.sum(f(v)))(x);
const circular = {
  sin: np.sin,
  cos: np.cos,
  tan: np.tan,
  atan: np.atan,
  tanh: np.tanh,
  sinh: np.sinh,
  cosh: np.cosh,
  asinh: np.asinh,
};
const bounded = { asin: np.asin, acos: np.acos, atanh: np.atanh };
const all = (functions: Record<string, (x: Value) => Value>, x: Value) =>
  Object.fromEntries(Object.entries(functions).map(([name, f]) => [name, f(x)]));
const slopes = (functions: Record<string, (x: Value) => Value>, x: Value) =>
  Object.fromEntries(Object.entries(functions).map(([name, f]) => [name, slope(f, x)]));

describe.each(testEngines())("trigonometry on %s", (engine) => {
  it("gives JAX's numbers", () => {
    expectAll(
      evaluate(engine, (x) => all(circular, x), [-3, -0.7, -0.0001, 0, 0.0001, 0.5, 1.2, 4]),
      {
        sin: ["f32[8]", [-0.14112, -0.64421767, -0.0001, 0, 0.0001, 0.47942555, 0.9320391, -0.7568025]],
        cos: ["f32[8]", [-0.9899925, 0.7648422, 1, 1, 1, 0.87758255, 0.3623577, -0.6536436]],
        tan: ["f32[8]", [0.14254655, -0.8422884, -0.0001, 0, 0.0001, 0.5463025, 2.572152, 1.1578213]],
        atan: ["f32[8]", [-1.2490458, -0.61072594, -0.0001, 0, 0.0001, 0.46364754, 0.8760581, 1.3258177]],
        tanh: ["f32[8]", [-0.9950547, -0.6043678, -0.0001, 0, 0.0001, 0.46211717, 0.8336546, 0.9993292]],
        sinh: [
          "f32[8]",
          [-10.017875, -0.75858366, -0.000100000005, 0, 0.000100000005, 0.52109534, 1.5094614, 27.289919],
        ],
        cosh: ["f32[8]", [10.067662, 1.255169, 1, 1, 1, 1.127626, 1.8106556, 27.308233]],
        asinh: ["f32[8]", [-1.8184464, -0.6526665, -0.0001, 0, 0.0001, 0.48121184, 1.0159732, 2.0947125]],
      },
    );
    expectAll(
      evaluate(engine, (x) => all(bounded, x), [-1, -0.99, -0.3, 0, 0.0001, 0.8, 1, 1.5]),
      {
        asin: ["f32[8]", [-1.5707964, -1.4292569, -0.3046927, 0, 0.0001, 0.9272953, 1.5707964, Number.NaN]],
        acos: ["f32[8]", [Math.PI, 3.0000532, 1.875489, 1.5707964, 1.5706964, 0.64350104, 0, Number.NaN]],
        atanh: ["f32[8]", [-Infinity, -2.646653, -0.30951962, 0, 0.0001, 1.0986123, Infinity, Number.NaN]],
      },
    );
  });

  it("has the derivatives of the formulas, at 0 too", () => {
    expectAll(
      evaluate(engine, (x) => slopes(circular, x), [-3, -0.7, -0.0001, 0, 0.0001, 0.5, 1.2, 4]),
      {
        sin: ["f32[8]", [-0.9899925, 0.7648422, 1, 1, 1, 0.87758255, 0.3623577, -0.6536436]],
        cos: ["f32[8]", [0.14112, 0.64421767, 0.0001, -0, -0.0001, -0.47942555, -0.9320391, 0.7568025]],
        tan: ["f32[8]", [1.0203195, 1.7094496, 1, 1, 1, 1.2984464, 7.6159654, 2.3405502]],
        atan: ["f32[8]", [0.1, 0.6711409, 1, 1, 1, 0.8, 0.40983605, 0.05882353]],
        tanh: ["f32[8]", [0.009866118, 0.6347395, 1, 1, 1, 0.7864477, 0.30502003, 0.0013411314]],
        sinh: ["f32[8]", [10.067662, 1.255169, 1, 1, 1, 1.127626, 1.8106556, 27.308233]],
        cosh: [
          "f32[8]",
          [-10.017875, -0.75858366, -0.000100000005, 0, 0.000100000005, 0.52109534, 1.5094614, 27.289919],
        ],
        asinh: ["f32[8]", [0.31622776, 0.8192319, 1, 1, 1, 0.8944272, 0.6401844, 0.24253562]],
      },
    );
    expectAll(
      evaluate(engine, (x) => slopes(bounded, x), [-0.99, -0.3, 0, 0.0001, 0.8]),
      {
        asin: ["f32[5]", [7.088815, 1.0482849, 1, 1, 1.6666666]],
        acos: ["f32[5]", [-7.088815, -1.0482849, -1, -1, -1.6666666]],
        atanh: ["f32[5]", [50.251305, 1.0989012, 1, 1, 2.7777781]],
      },
    );
    expectAll(
      evaluate(
        engine,
        (x) => ({ second: slope((v) => slope(np.asinh, v), x) }),
        [-3, -0.7, -0.0001, 0, 0.0001, 0.5, 1.2, 4],
      ),
      {
        second: [
          "f32[8]",
          [0.094868325, 0.38487405, 0.0001, -0, -0.0001, -0.35777086, -0.3148448, -0.057067204],
        ],
      },
    );
  });

  it("neither overflows nor loses its digits at the ends", () => {
    expectAll(
      evaluate(
        engine,
        (l, m) => ({
          asinh: np.asinh(l),
          acosh: np.acosh(m),
          sinh: np.sinh(np.slice(l, [1, 3])),
          slope: slope(np.acosh, np.slice(m, [1, 3])),
        }),
        [-1e30, 89, 1e-20, 1e18, 3e38],
        [1, 1.0001, 2, 1e30, 0.5],
      ),
      {
        asinh: ["f32[5]", [-69.7707, 5.181815, 1e-20, 42.13968, 89.28999]],
        acosh: ["f32[5]", [0, 0.014143191, 1.316958, 69.7707, Number.NaN]],
        sinh: ["f32[2]", [2.2448096e38, 1e-20]],
        slope: ["f32[2]", [70.70305, 0.57735026]],
      },
      5e-6,
    );
  });

  it("atan2 knows all quadrants and broadcasts", () => {
    expectAll(
      evaluate(
        engine,
        (y, x) => ({ atan2: np.atan2(y, x), half: np.atan2(1, np.array([2], { dtype: "i32" })) }),
        [[1], [-1], [0]],
        [1, -1, 0],
      ),
      {
        atan2: [
          "f32[3,3]",
          [
            [0.7853982, 2.3561945, 1.5707964],
            [-0.7853982, -2.3561945, -1.5707964],
            [0, Math.PI, 0],
          ],
        ],
        half: ["f32[1]", [0.4636476]],
      },
    );
  });

  it("has no acosh below 1", () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    expectAll(
      evaluate(engine, (v) => ({ acosh: np.acosh(v) }), [-inf, -1e30, -1e4, -5, -1, 0.5, 1, 2, inf, nan]),
      { acosh: ["f32[10]", [nan, nan, nan, nan, nan, nan, 0, 1.316958, inf, nan]] },
    );
  });
});
