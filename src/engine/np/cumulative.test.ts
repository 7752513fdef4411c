import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy and jax.lax 0.10.2.
const x = [
  [3, 1, 2, 1],
  [0, -1, 5, 5],
];

describe.each(testEngines())("cumulative functions on %s", (engine) => {
  it("give no gradient to minus infinities that come to nothing", () => {
    const slope = (v: Value, reverse: boolean) =>
      grad((u: Value) => np.sum(np.cumlogsumexp(u, { reverse })))(v);
    expectAll(
      evaluate(
        engine,
        (none, some) => ({
          value: np.cumlogsumexp(some),
          none: slope(none, false),
          back: slope(none, true),
          some: slope(some, false),
        }),
        [-Infinity, -Infinity, -Infinity],
        [-Infinity, -Infinity, 1, 2],
      ),
      {
        value: ["f32[4]", [-Infinity, -Infinity, 1, 2.3132617]],
        none: ["f32[3]", [0, 0, 0]],
        back: ["f32[3]", [0, 0, 0]],
        some: ["f32[4]", [0, 0, 1.2689414, 0.7310586]],
      },
    );
  });

  it("run along an axis, either way, or over all elements", () => {
    expectAll(
      evaluate(
        engine,
        (a, i) => ({
          sums: np.cumsum(a, { axis: 1 }),
          flat: np.cumsum(a),
          back: np.cumsum(a, { axis: -1, reverse: true }),
          products: np.cumprod(a, { axis: 0 }),
          largest: np.cummax(a, { axis: 1 }),
          smallest: np.cummin(a, { axis: 1 }),
          logs: np.cumlogsumexp(a, { axis: 1 }),
          truths: np.cumsum(np.greater(a, 1), { axis: 1 }),
          integers: np.cumsum(i),
          empty: np.cumsum(np.zeros([0])),
        }),
        x,
        put([3, -2, 7, 3], { engine, dtype: "i32" }),
      ),
      {
        sums: [
          "f32[2,4]",
          [
            [3, 4, 6, 7],
            [0, -1, 4, 9],
          ],
        ],
        flat: ["f32[8]", [3, 4, 6, 7, 7, 6, 11, 16]],
        back: [
          "f32[2,4]",
          [
            [7, 4, 3, 1],
            [9, 9, 10, 5],
          ],
        ],
        products: [
          "f32[2,4]",
          [
            [3, 1, 2, 1],
            [0, -1, 10, 5],
          ],
        ],
        largest: [
          "f32[2,4]",
          [
            [3, 3, 3, 3],
            [0, 0, 5, 5],
          ],
        ],
        smallest: [
          "f32[2,4]",
          [
            [3, 1, 1, 1],
            [0, -1, -1, -1],
          ],
        ],
        logs: [
          "f32[2,4]",
          [
            [3, 3.126928, 3.4076061, 3.4938118],
            [0, 0.3132617, 5.0091743, 5.697745],
          ],
        ],
        truths: [
          "i32[2,4]",
          [
            [1, 1, 2, 2],
            [0, 0, 1, 2],
          ],
        ],
        integers: ["i32[4]", [3, 1, 8, 11]],
        empty: ["f32[0]", []],
      },
      1e-6,
    );
  });

  it("have JAX's gradients", () => {
    const slope = (f: (v: Value) => Value, v: Value) =>
      grad((w: Value) => np.sum(np.multiply(f(w), np.array([[1, 2, 3, 4]]))))(v);
    expectAll(
      evaluate(
        engine,
        (a) => ({
          sums: slope((v) => np.cumsum(v, { axis: 1 }), a),
          products: slope((v) => np.cumprod(v, { axis: 1 }), a),
          logs: slope((v) => np.cumlogsumexp(v, { axis: 1 }), a),
        }),
        x,
      ),
      {
        sums: [
          "f32[2,4]",
          [
            [10, 9, 7, 4],
            [10, 9, 7, 4],
          ],
        ],
        products: [
          "f32[2,4]",
          [
            [17, 48, 21, 24],
            [-116, 0, 0, 0],
          ],
        ],
        logs: [
          "f32[2,4]",
          [
            [7.198499, 0.8388756, 1.632246, 0.33037812],
            [2.4955606, 0.550186, 4.9634285, 1.9908258],
          ],
        ],
      },
      1e-6,
    );
  });
});

it("cumulative functions name an axis that is not there", () => {
  const error = errorOf((a) => np.cumsum(a, { axis: 2 }), [1]);
  expect(error.code).toBe("AXIS_OUT_OF_RANGE");
  expect(error.message).toContain("cumsum: axis 2");
  expect(error.at).toContain("cumulative.test.ts");
});
