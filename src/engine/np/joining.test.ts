import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
  [0, 1, 2],
  [3, 4, 5],
];
const v = [7, 8, 9];

describe.each(testEngines())("joining and splitting on %s", (engine) => {
  it("joins along axes old and new, promoting", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => ({
          rows: np.concatenate([a, np.array([[1, 2, 3]], { dtype: "i32" })]),
          columns: np.concatenate([a, a], { axis: -1 }),
          one: np.concatenate([a]),
          empty: np.concatenate([a, np.zeros([0, 3])]),
          stack: np.stack([b, np.multiply(b, 2)]),
          last: np.stack([b, b], { axis: -1 }),
          scalars: np.stack([1, 2, np.sum(b)]),
          hstack: np.hstack([a, a]),
          hstackVectors: np.hstack([b, b]),
          vstack: np.vstack([b, a]),
        }),
        x,
        v,
      ),
      {
        rows: [
          "f32[3,3]",
          [
            [0, 1, 2],
            [3, 4, 5],
            [1, 2, 3],
          ],
        ],
        columns: [
          "f32[2,6]",
          [
            [0, 1, 2, 0, 1, 2],
            [3, 4, 5, 3, 4, 5],
          ],
        ],
        one: [
          "f32[2,3]",
          [
            [0, 1, 2],
            [3, 4, 5],
          ],
        ],
        empty: [
          "f32[2,3]",
          [
            [0, 1, 2],
            [3, 4, 5],
          ],
        ],
        stack: [
          "f32[2,3]",
          [
            [7, 8, 9],
            [14, 16, 18],
          ],
        ],
        last: [
          "f32[3,2]",
          [
            [7, 7],
            [8, 8],
            [9, 9],
          ],
        ],
        scalars: ["f32[3]", [1, 2, 24]],
        hstack: [
          "f32[2,6]",
          [
            [0, 1, 2, 0, 1, 2],
            [3, 4, 5, 3, 4, 5],
          ],
        ],
        hstackVectors: ["f32[6]", [7, 8, 9, 7, 8, 9]],
        vstack: [
          "f32[3,3]",
          [
            [7, 8, 9],
            [0, 1, 2],
            [3, 4, 5],
          ],
        ],
      },
    );
  });

  it("splits into equal parts and at places", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => {
          const [left, middle, right] = np.split(a, 3, { axis: 1 });
          const [head, tail] = np.split(b, [1]);
          const [most, last, none] = np.split(b, [-1, 9]);
          return { left, middle, right, head, tail, most, last, none };
        },
        x,
        v,
      ),
      {
        left: ["f32[2,1]", [[0], [3]]],
        middle: ["f32[2,1]", [[1], [4]]],
        right: ["f32[2,1]", [[2], [5]]],
        head: ["f32[1]", [7]],
        tail: ["f32[2]", [8, 9]],
        most: ["f32[2]", [7, 8]],
        last: ["f32[1]", [9]],
        none: ["f32[0]", []],
      },
    );
  });

  it("sends gradients back to the parts", () => {
    expectAll(
      evaluate(
        engine,
        (b) => ({
          slope: grad((w: Value) => {
            const [first, second] = np.split(np.concatenate([w, np.multiply(w, 10)]), 2);
            return np.sum(np.multiply(first, second));
          })(b),
        }),
        v,
      ),
      { slope: ["f32[3]", [140, 160, 180]] },
    );
  });
});

describe("errors of joining", () => {
  it("name both arguments and shapes", () => {
    const error = errorOf((a, b) => np.concatenate([a, b]), [[1, 2]], [[1, 2, 3]]);
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain(
      "concatenate: argument 0 has shape [1, 2] and argument 1 has shape [1, 3]",
    );
    expect(error.at).toContain("joining.test.ts");
    expect(errorOf((a, b) => np.stack([a, b]), [1], [1, 2]).message).toContain(
      "stack: argument 0 has shape [1]",
    );
    expect(errorOf((a) => np.hstack([a, 1]), [[1]]).message).toContain("hstack");
  });

  it("refuse nothing, scalars and uneven parts", () => {
    expect(errorOf(() => np.concatenate([])).message).toContain("concatenate: nothing to join");
    expect(errorOf(() => np.concatenate([1, 2])).message).toContain("concatenate: axis 0");
    const error = errorOf((a) => np.split(a, 2), [1, 2, 3]);
    expect(error.message).toContain("split: axis 0 of [3] has length 3, which 2 parts do not divide evenly");
    expect(error.fix).toContain("np.split(x, [2, 5])");
  });
});
