import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
  [3, 1, 2, 1],
  [0, -1, 5, 5],
];

describe.each(testEngines())("sorting on %s", (engine) => {
  it("finds the place of NaN behind all numbers", () => {
    expectAll(
      evaluate(
        engine,
        (line, withNan, v) => ({
          left: np.searchsorted(line, v),
          right: np.searchsorted(line, v, { side: "right" }),
          leftOfNan: np.searchsorted(withNan, v),
          rightOfNan: np.searchsorted(withNan, v, { side: "right" }),
        }),
        [1, 2, 3],
        [1, 2, Number.NaN, Number.NaN],
        [Number.NaN, 2, Number.POSITIVE_INFINITY],
      ),
      {
        left: ["i32[3]", [3, 1, 3]],
        right: ["i32[3]", [3, 2, 3]],
        leftOfNan: ["i32[3]", [2, 1, 2]],
        rightOfNan: ["i32[3]", [4, 2, 2]],
      },
    );
  });

  it("sorts up and down, along any axis, NaN last", () => {
    expectAll(
      evaluate(
        engine,
        (a, n, i) => ({
          up: np.sort(a),
          rows: np.sort(a, { axis: 0 }),
          down: np.sort(a, { descending: true }),
          nan: np.sort(n),
          order: np.argsort(a),
          orderDown: np.argsort(a, { descending: true }),
          orderRows: np.argsort(a, { axis: 0 }),
          orderNan: np.argsort(n),
          integers: np.sort(i),
          truths: np.sort(np.greater(i, 3)),
          truthOrder: np.argsort(np.greater(i, 3)),
          empty: np.sort(np.zeros([2, 0])),
          one: np.argsort(np.ones([2, 1])),
        }),
        x,
        [2, Number.NaN, -1, Infinity],
        put([3, -2, 7, 3], { engine, dtype: "i32" }),
      ),
      {
        up: [
          "f32[2,4]",
          [
            [1, 1, 2, 3],
            [-1, 0, 5, 5],
          ],
        ],
        rows: [
          "f32[2,4]",
          [
            [0, -1, 2, 1],
            [3, 1, 5, 5],
          ],
        ],
        down: [
          "f32[2,4]",
          [
            [3, 2, 1, 1],
            [5, 5, 0, -1],
          ],
        ],
        nan: ["f32[4]", [-1, 2, Infinity, Number.NaN]],
        order: [
          "i32[2,4]",
          [
            [1, 3, 2, 0],
            [1, 0, 2, 3],
          ],
        ],
        orderDown: [
          "i32[2,4]",
          [
            [0, 2, 1, 3],
            [2, 3, 0, 1],
          ],
        ],
        orderRows: [
          "i32[2,4]",
          [
            [1, 1, 0, 0],
            [0, 0, 1, 1],
          ],
        ],
        orderNan: ["i32[4]", [2, 0, 3, 1]],
        integers: ["i32[4]", [-2, 3, 3, 7]],
        truths: ["bool[4]", [false, false, false, true]],
        truthOrder: ["i32[4]", [0, 1, 3, 2]],
        empty: ["f32[2,0]", [[], []]],
        one: ["i32[2,1]", [[0], [0]]],
      },
    );
  });

  it("finds the largest k and where they stand, the first of equals first", () => {
    expectAll(
      evaluate(
        engine,
        (a, i) => {
          const [values, indices] = np.topK(a, 2);
          const [first, at] = np.topK(a, 1, { axis: 0 });
          const [whole] = np.topK(i, 3);
          const [none] = np.topK(i, 0);
          const slope = grad((v: Value) => np.sum(np.square(np.topK(v, 2)[0])))(a);
          return { values, indices, first, at, whole, none, slope };
        },
        x,
        put([3, -2, 7, 3], { engine, dtype: "i32" }),
      ),
      {
        values: [
          "f32[2,2]",
          [
            [3, 2],
            [5, 5],
          ],
        ],
        indices: [
          "i32[2,2]",
          [
            [0, 2],
            [2, 3],
          ],
        ],
        first: ["f32[1,4]", [[3, 1, 5, 5]]],
        at: ["i32[1,4]", [[0, 0, 1, 1]]],
        whole: ["i32[3]", [7, 3, 3]],
        none: ["i32[0]", []],
        slope: [
          "f32[2,4]",
          [
            [6, 0, 4, 0],
            [0, 0, 10, 10],
          ],
        ],
      },
    );
  });

  it("sends gradients to where elements came from", () => {
    expectAll(
      evaluate(
        engine,
        (a) => ({
          up: grad((v: Value) => np.sum(np.multiply(np.sort(v), np.arange(4, { dtype: "f32" }))))(a),
          down: grad((v: Value) =>
            np.sum(np.multiply(np.sort(v, { axis: 0, descending: true }), np.array([[1], [2]]))),
          )(a),
          median: grad((v: Value) => np.sum(np.median(v, { axis: 1 })))(a),
        }),
        x,
      ),
      {
        up: [
          "f32[2,4]",
          [
            [3, 0, 2, 1],
            [1, 0, 2, 3],
          ],
        ],
        down: [
          "f32[2,4]",
          [
            [1, 1, 2, 2],
            [2, 2, 1, 1],
          ],
        ],
        median: [
          "f32[2,4]",
          [
            [0, 0, 0.5, 0.5],
            [0.5, 0, 0.5, 0],
          ],
        ],
      },
    );
  });

  it("searches by comparing, and finds the middle", () => {
    expectAll(
      evaluate(
        engine,
        (l, q, a, n, i) => ({
          left: np.searchsorted(l, q),
          right: np.searchsorted(l, q, { side: "right" }),
          number: np.searchsorted(l, 3),
          median: np.median(a),
          rows: np.median(a, { axis: 1, keepdims: true }),
          odd: np.median(np.slice(a, ":", [0, 3]), { axis: 1 }),
          nan: np.median(n),
          integers: np.median(i),
        }),
        [1, 2, 2, 5],
        [
          [0, 2],
          [5, 9],
        ],
        x,
        [2, Number.NaN, -1, Infinity],
        put([3, -2, 7, 3], { engine, dtype: "i32" }),
      ),
      {
        left: [
          "i32[2,2]",
          [
            [0, 1],
            [3, 4],
          ],
        ],
        right: [
          "i32[2,2]",
          [
            [0, 3],
            [4, 4],
          ],
        ],
        number: ["i32[]", 3],
        median: ["f32[]", 1.5],
        rows: ["f32[2,1]", [[1.5], [2.5]]],
        odd: ["f32[2]", [2, 0]],
        nan: ["f32[]", Number.NaN],
        integers: ["f32[]", 3],
      },
    );
  });
});

it("sorting refuses what it cannot count", () => {
  const error = errorOf((a) => np.topK(a, 3), [1, 2]);
  expect(error.code).toBe("ARGUMENT_INVALID");
  expect(error.message).toContain("topK: 3 of the 2 elements along axis 0 of [2]");
  expect(error.at).toContain("sorting.test.ts");
  expect(errorOf((a) => np.sort(a, { axis: 1 }), [1]).message).toContain("sort: axis 1");
  expect(errorOf((a) => np.searchsorted(a, 1), [[1]]).message).toContain(
    "searchsorted: argument 0 has shape [1, 1]",
  );
  expect(errorOf(() => np.median(np.zeros([0]))).code).toBe("REDUCTION_EMPTY");
});
