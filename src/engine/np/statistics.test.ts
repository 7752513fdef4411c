import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy and jax.scipy.special 0.10.2.
const x = [
  [1, 4, -2, 0.5],
  [3, 3, 1000, 7],
];
const gradient = (f: (x: Value) => Value, v: Value): Value => grad((w: Value) => np.sum(f(w)))(v);

describe.each(testEngines())("statistics on %s", (engine) => {
  it("measure spread", () => {
    expectAll(
      evaluate(
        engine,
        (v, i) => ({
          var: np.var(v, { axis: 1 }),
          unbiased: np.var(v, { axis: -1, ddof: 1, keepdims: true }),
          all: np.var(v),
          std: np.std(v, { axis: 0 }),
          integer: np.std(i),
          slope: gradient((w) => np.var(w, { axis: 1 }), v),
          slopeOfStd: gradient((w) => np.std(w, { axis: 1, ddof: 1 }), v),
          equal: gradient((w) => np.std(w), np.ones([3])),
        }),
        x,
        put(new Int32Array([-3, 2, 7]), { engine }),
      ),
      {
        var: ["f32[2]", [4.546875, 185881.19]],
        unbiased: ["f32[2,1]", [[6.0625], [247841.58]]],
        all: ["f32[]", 108866.15],
        std: ["f32[4]", [1, 0.5, 501, 3.25]],
        integer: ["f32[]", 4.082483],
        slope: [
          "f32[2,4]",
          [
            [0.0625, 1.5625, -1.4375, -0.1875],
            [-125.125, -125.125, 373.375, -123.125],
          ],
        ],
        slopeOfStd: [
          "f32[2,4]",
          [
            [0.016922433, 0.42306092, -0.38921604, -0.050767314],
            [-0.16755822, -0.16755822, 0.49999645, -0.16487998],
          ],
        ],
        equal: ["f32[3]", [Number.NaN, Number.NaN, Number.NaN]],
      },
      2e-6,
    );
  });

  it("logsumexp is stable, with -inf standing for nothing in value and gradient", () => {
    expectAll(
      evaluate(
        engine,
        (l) => {
          const nothing = np.full([2], -np.inf);
          return {
            rows: np.logsumexp(l, { axis: 1 }),
            kept: np.logsumexp(l, { axis: 0, keepdims: true }),
            slope: gradient((v) => np.logsumexp(v, { axis: 1 }), l),
            nothing: np.logsumexp(nothing),
            slopeOfNothing: gradient(np.logsumexp, nothing),
            infinite: np.logsumexp(np.array([0, np.inf])),
            second: gradient(
              (v) => np.multiply(gradient(np.logsumexp, v), np.array([1, 2, 3])),
              np.slice(l, 0),
            ),
          };
        },
        [
          [1, 2, 3],
          [1000, 999, -1000],
          [-Infinity, 0, 1],
        ],
      ),
      {
        rows: ["f32[3]", [3.407606, 1000.31323, 1.3132616]],
        kept: ["f32[1,3]", [[1000, 999, 3.126928]]],
        slope: [
          "f32[3,3]",
          [
            [0.09003057, 0.24472848, 0.66524094],
            [0.7310586, 0.26894143, 0],
            [0, 0.26894143, 0.7310586],
          ],
        ],
        nothing: ["f32[]", -Infinity],
        // JAX gives NaN here.
        slopeOfNothing: ["f32[2]", [0, 0]],
        infinite: ["f32[]", Infinity],
        second: ["f32[3]", [-0.1418171, -0.14077039, 0.2825873]],
      },
    );
  });

  it("norms are JAX's, with NaN for the gradient of a length of 0", () => {
    expectAll(
      evaluate(
        engine,
        (v) => ({
          length: np.norm(v, { axis: 1 }),
          frobenius: np.norm(v),
          sum: np.norm(v, { ord: 1, axis: 1, keepdims: true }),
          largest: np.norm(v, { ord: np.inf, axis: 0 }),
          smallest: np.norm(v, { ord: -np.inf, axis: 0 }),
          count: np.norm(v, { ord: 0, axis: 1 }),
          cubic: np.norm(np.slice(v, 0), { ord: 3 }),
          slope: gradient((w) => np.norm(w, { axis: 1 }), v),
        }),
        [
          [3, -4],
          [0, 0],
        ],
      ),
      {
        length: ["f32[2]", [5, 0]],
        frobenius: ["f32[]", 5],
        sum: ["f32[2,1]", [[7], [0]]],
        largest: ["f32[2]", [3, 4]],
        smallest: ["f32[2]", [0, 0]],
        count: ["f32[2]", [2, 0]],
        cubic: ["f32[]", 4.4979415],
        slope: [
          "f32[2,2]",
          [
            [0.6, -0.8],
            [Number.NaN, Number.NaN],
          ],
        ],
      },
    );
  });

  it("averages weigh", () => {
    expectAll(
      evaluate(
        engine,
        (v, w) => ({
          plain: np.average(v, { axis: 0 }),
          along: np.average(v, { axis: 1, weights: w }),
          each: np.average(v, { weights: np.abs(v) }),
          kept: np.average(v, { axis: 1, weights: w, keepdims: true }),
        }),
        x,
        [1, 2, 0, 1],
      ),
      {
        plain: ["f32[4]", [2, 3.5, 499, 3.75]],
        along: ["f32[2]", [2.375, 4]],
        each: ["f32[]", 979.9904],
        kept: ["f32[2,1]", [[2.375], [4]]],
      },
    );
  });
});

it("average names both shapes where weights do not fit", () => {
  const error = errorOf(
    (v) => np.average(v, { axis: 0, weights: np.ones([3]) }),
    [
      [1, 2],
      [3, 4],
    ],
  );
  expect(error.code).toBe("SHAPE_MISMATCH");
  expect(error.message).toContain("average: the weights have shape [3] and the value [2, 2]");
  expect(error.at).toContain("statistics.test.ts");
});
