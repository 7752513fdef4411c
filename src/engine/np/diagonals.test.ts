import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [9, 10, 11, 12],
];

describe.each(testEngines())("diagonals on %s", (engine) => {
  it("makes matrices by their diagonals", () => {
    expectAll(
      evaluate(
        engine,
        (v) => ({
          eye: np.eye(3),
          wide: np.eye(2, { columns: 4, k: 1, dtype: "i32" }),
          tri: np.tri(3),
          below: np.tri(3, { columns: 2, k: -1 }),
          diag: np.diag(v),
          above: np.diag(v, { k: 1 }),
          under: np.diag(v, { k: -2 }),
          none: np.diag(np.zeros([0]), { k: 1 }),
        }),
        [1, 2, 3],
      ),
      {
        eye: [
          "f32[3,3]",
          [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
          ],
        ],
        wide: [
          "i32[2,4]",
          [
            [0, 1, 0, 0],
            [0, 0, 1, 0],
          ],
        ],
        tri: [
          "f32[3,3]",
          [
            [1, 0, 0],
            [1, 1, 0],
            [1, 1, 1],
          ],
        ],
        below: [
          "f32[3,2]",
          [
            [0, 0],
            [1, 0],
            [1, 1],
          ],
        ],
        diag: [
          "f32[3,3]",
          [
            [1, 0, 0],
            [0, 2, 0],
            [0, 0, 3],
          ],
        ],
        above: [
          "f32[4,4]",
          [
            [0, 1, 0, 0],
            [0, 0, 2, 0],
            [0, 0, 0, 3],
            [0, 0, 0, 0],
          ],
        ],
        under: [
          "f32[5,5]",
          [
            [0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [0, 2, 0, 0, 0],
            [0, 0, 3, 0, 0],
          ],
        ],
        none: ["f32[1,1]", [[0]]],
      },
    );
  });

  it("reads diagonals and triangles", () => {
    expectAll(
      evaluate(
        engine,
        (m, y) => ({
          diag: np.diag(m),
          above: np.diag(m, { k: 2 }),
          below: np.diagonal(m, { k: -1 }),
          beyond: np.diagonal(m, { k: 9 }),
          planes: np.diagonal(y, { axes: [1, 2] }),
          crossed: np.diagonal(y, { axes: [-1, 0], k: -1 }),
          trace: np.trace(m),
          traces: np.trace(y, { axes: [1, 2], k: 1 }),
          truths: np.trace(np.greater(m, 5)),
          tril: np.tril(m),
          trilUp: np.tril(y, { k: 1 }),
          triu: np.triu(m),
          triuUp: np.triu(m, { k: 2 }),
        }),
        x,
        [
          [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
            [8, 9, 10, 11],
          ],
          [
            [12, 13, 14, 15],
            [16, 17, 18, 19],
            [20, 21, 22, 23],
          ],
        ],
      ),
      {
        diag: ["f32[3]", [1, 6, 11]],
        above: ["f32[2]", [3, 8]],
        below: ["f32[2]", [5, 10]],
        beyond: ["f32[0]", []],
        planes: [
          "f32[2,3]",
          [
            [0, 5, 10],
            [12, 17, 22],
          ],
        ],
        crossed: [
          "f32[3,2]",
          [
            [1, 14],
            [5, 18],
            [9, 22],
          ],
        ],
        trace: ["f32[]", 18],
        traces: ["f32[2]", [18, 54]],
        truths: ["i32[]", 2],
        tril: [
          "f32[3,4]",
          [
            [1, 0, 0, 0],
            [5, 6, 0, 0],
            [9, 10, 11, 0],
          ],
        ],
        trilUp: [
          "f32[2,3,4]",
          [
            [
              [0, 1, 0, 0],
              [4, 5, 6, 0],
              [8, 9, 10, 11],
            ],
            [
              [12, 13, 0, 0],
              [16, 17, 18, 0],
              [20, 21, 22, 23],
            ],
          ],
        ],
        triu: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [0, 6, 7, 8],
            [0, 0, 11, 12],
          ],
        ],
        triuUp: [
          "f32[3,4]",
          [
            [0, 0, 3, 4],
            [0, 0, 0, 8],
            [0, 0, 0, 0],
          ],
        ],
      },
    );
  });

  it("sends gradients back to the diagonal", () => {
    expectAll(
      evaluate(engine, (m) => ({ slope: grad((w: Value) => np.sum(np.square(np.diag(w, { k: 1 }))))(m) }), x),
      {
        slope: [
          "f32[3,4]",
          [
            [0, 4, 0, 0],
            [0, 0, 14, 0],
            [0, 0, 0, 24],
          ],
        ],
      },
    );
  });
});

it("diagonals refuse what is no matrix", () => {
  expect(errorOf((v) => np.tril(v), [1]).message).toContain("tril: [1] is no matrix");
  expect(errorOf((v) => np.diag(v), [[[1]]]).message).toContain(
    "diag: [1, 1, 1] is neither a vector nor a matrix",
  );
  const error = errorOf((v) => np.trace(v, { axes: [0, -2] }), [[1]]);
  expect(error.code).toBe("AXIS_REPEATED");
  expect(error.at).toContain("diagonals.test.ts");
});
