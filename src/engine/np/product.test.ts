import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("products on %s", (engine) => {
  it("multiply matrices, vectors and batches by NumPy's rules", () => {
    expectAll(
      evaluate(
        engine,
        (a, b, v, w, t, s) => ({
          matrices: np.matmul(a, b),
          matrixVector: np.matmul(a, v),
          vectorMatrix: np.matmul(v, b),
          vectors: np.matmul(v, v),
          batches: np.matmul(t, s),
          batchMatrix: np.matmul(t, b),
          matrixBatch: np.matmul(a, s),
          vectorBatch: np.matmul(v, s),
          batchVector: np.matmul(t, v),
          broadcast: np.matmul(np.expandDims(t, 1), s),
          unit: np.matmul(np.slice(t, [0, 1]), s),
          dot: np.dot(a, b),
          dotVectors: np.dot(v, v),
          dotScalar: np.dot(2, a),
          dotMany: np.dot(t, s),
          inner: np.inner(a, t),
          outer: np.outer(w, a),
          vdot: np.vdot(a, a),
          kron: np.kron(a, w),
          tensordot: np.tensordot(a, b, 1),
          tensordotTwo: np.tensordot(t, s, [
            [0, 2],
            [0, 1],
          ]),
          tensordotNone: np.tensordot(w, v, 0),
        }),
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
        [
          [-5, -4, -3, -2],
          [-1, 0, 1, 2],
          [3, 4, 5, 6],
        ],
        [1, -2, 3],
        [2, 1],
        [
          [
            [0, 1, 2],
            [3, 4, 5],
          ],
          [
            [6, 7, 8],
            [9, 10, 11],
          ],
        ],
        [
          [
            [0, 0.25, 0.5, 0.75],
            [1, 1.25, 1.5, 1.75],
            [2, 2.25, 2.5, 2.75],
          ],
          [
            [3, 3.25, 3.5, 3.75],
            [4, 4.25, 4.5, 4.75],
            [5, 5.25, 5.5, 5.75],
          ],
        ],
      ),
      {
        matrices: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        matrixVector: ["f32[2]", [4, 10]],
        vectorMatrix: ["f32[4]", [6, 8, 10, 12]],
        vectors: ["f32[]", 14],
        batches: [
          "f32[2,2,4]",
          [
            [
              [5, 5.75, 6.5, 7.25],
              [14, 17, 20, 23],
            ],
            [
              [86, 91.25, 96.5, 101.75],
              [122, 129.5, 137, 144.5],
            ],
          ],
        ],
        batchMatrix: [
          "f32[2,2,4]",
          [
            [
              [5, 8, 11, 14],
              [-4, 8, 20, 32],
            ],
            [
              [-13, 8, 29, 50],
              [-22, 8, 38, 68],
            ],
          ],
        ],
        matrixBatch: [
          "f32[2,2,4]",
          [
            [
              [5, 5.75, 6.5, 7.25],
              [14, 17, 20, 23],
            ],
            [
              [14, 14.75, 15.5, 16.25],
              [50, 53, 56, 59],
            ],
          ],
        ],
        vectorBatch: [
          "f32[2,4]",
          [
            [4, 4.5, 5, 5.5],
            [10, 10.5, 11, 11.5],
          ],
        ],
        batchVector: [
          "f32[2,2]",
          [
            [4, 10],
            [16, 22],
          ],
        ],
        broadcast: [
          "f32[2,2,2,4]",
          [
            [
              [
                [5, 5.75, 6.5, 7.25],
                [14, 17, 20, 23],
              ],
              [
                [14, 14.75, 15.5, 16.25],
                [50, 53, 56, 59],
              ],
            ],
            [
              [
                [23, 28.25, 33.5, 38.75],
                [32, 39.5, 47, 54.5],
              ],
              [
                [86, 91.25, 96.5, 101.75],
                [122, 129.5, 137, 144.5],
              ],
            ],
          ],
        ],
        unit: [
          "f32[2,2,4]",
          [
            [
              [5, 5.75, 6.5, 7.25],
              [14, 17, 20, 23],
            ],
            [
              [14, 14.75, 15.5, 16.25],
              [50, 53, 56, 59],
            ],
          ],
        ],
        dot: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        dotVectors: ["f32[]", 14],
        dotScalar: [
          "f32[2,3]",
          [
            [0, 2, 4],
            [6, 8, 10],
          ],
        ],
        dotMany: [
          "f32[2,2,2,4]",
          [
            [
              [
                [5, 5.75, 6.5, 7.25],
                [14, 14.75, 15.5, 16.25],
              ],
              [
                [14, 17, 20, 23],
                [50, 53, 56, 59],
              ],
            ],
            [
              [
                [23, 28.25, 33.5, 38.75],
                [86, 91.25, 96.5, 101.75],
              ],
              [
                [32, 39.5, 47, 54.5],
                [122, 129.5, 137, 144.5],
              ],
            ],
          ],
        ],
        inner: [
          "f32[2,2,2]",
          [
            [
              [5, 14],
              [23, 32],
            ],
            [
              [14, 50],
              [86, 122],
            ],
          ],
        ],
        outer: [
          "f32[2,6]",
          [
            [0, 2, 4, 6, 8, 10],
            [0, 1, 2, 3, 4, 5],
          ],
        ],
        vdot: ["f32[]", 55],
        kron: [
          "f32[2,6]",
          [
            [0, 0, 2, 1, 4, 2],
            [6, 3, 8, 4, 10, 5],
          ],
        ],
        tensordot: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        tensordotTwo: [
          "f32[2,4]",
          [
            [91, 97, 103, 109],
            [136, 146.5, 157, 167.5],
          ],
        ],
        tensordotNone: [
          "f32[2,3]",
          [
            [2, -4, 6],
            [1, -2, 3],
          ],
        ],
      },
    );
  });

  it("promote, and keep integers and truths", () => {
    expectAll(
      evaluate(
        engine,
        (i, c) => ({
          integers: np.matmul(i, i),
          mixed: np.matmul(i, np.array([0.5, 1])),
          truths: np.matmul(c, c),
          bytes: np.matmul(np.astype(np.multiply(i, 60), "u8"), np.astype(i, "u8")),
          empty: np.matmul(np.zeros([2, 0]), np.zeros([0, 3])),
          emptyIntegers: np.matmul(np.zeros([1, 0], { dtype: "i32" }), np.zeros([0, 1], { dtype: "i32" })),
        }),
        put(
          [
            [1, 2],
            [3, 4],
          ],
          { engine, dtype: "i32" },
        ),
        put(
          [
            [true, false],
            [true, true],
          ],
          { engine },
        ),
      ),
      {
        integers: [
          "i32[2,2]",
          [
            [7, 10],
            [15, 22],
          ],
        ],
        mixed: ["f32[2]", [2.5, 5.5]],
        truths: [
          "bool[2,2]",
          [
            [true, false],
            [true, true],
          ],
        ],
        bytes: [
          "u8[2,2]",
          [
            [164, 88],
            [132, 40],
          ],
        ],
        empty: [
          "f32[2,3]",
          [
            [0, 0, 0],
            [0, 0, 0],
          ],
        ],
        emptyIntegers: ["i32[1,1]", [[0]]],
      },
    );
  });

  it("have gradients on both sides, through broadcasting", () => {
    const both = (f: (p: Value, q: Value) => Value, a: Value, b: Value) =>
      grad((p: Value, q: Value) => np.sum(np.square(f(p, q))), { argnums: [0, 1] })(a, b);
    expectAll(
      evaluate(
        engine,
        (a, s, v) => {
          const [da, ds] = both(np.matmul, a, s);
          const [dv, dsv] = both(np.matmul, v, s);
          const [di, dj] = both(np.outer, v, v);
          return { da, ds, dv, dsv, di, dj };
        },
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
        [
          [
            [0, 0.25, 0.5, 0.75],
            [1, 1.25, 1.5, 1.75],
            [2, 2.25, 2.5, 2.75],
          ],
          [
            [3, 3.25, 3.5, 3.75],
            [4, 4.25, 4.5, 4.75],
            [5, 5.25, 5.5, 5.75],
          ],
        ],
        [1, -2, 3],
      ),
      {
        da: [
          "f32[2,3]",
          [
            [430.5, 600.5, 770.5],
            [1542, 2126, 2710],
          ],
        ],
        ds: [
          "f32[2,3,4]",
          [
            [
              [84, 102, 120, 138],
              [122, 147.5, 173, 198.5],
              [160, 193, 226, 259],
            ],
            [
              [300, 318, 336, 354],
              [428, 453.5, 479, 504.5],
              [556, 589, 622, 655],
            ],
          ],
        ],
        dv: ["f32[3]", [307, 431, 555]],
        dsv: [
          "f32[2,3,4]",
          [
            [
              [8, 9, 10, 11],
              [-16, -18, -20, -22],
              [24, 27, 30, 33],
            ],
            [
              [20, 21, 22, 23],
              [-40, -42, -44, -46],
              [60, 63, 66, 69],
            ],
          ],
        ],
        di: ["f32[3]", [28, -56, 84]],
        dj: ["f32[3]", [28, -56, 84]],
      },
    );
  });
});

describe("errors of products", () => {
  it("name the function called, the axes and both shapes", () => {
    const error = errorOf(
      (a) => np.matmul(a, a),
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    );
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain(
      "matmul: axis 1 of [2, 3] has length 3, but axis 0 of [2, 3] has length 2",
    );
    expect(error.fix).toContain("transpose");
    expect(error.at).toContain("product.test.ts");
    expect(errorOf((a, b) => np.dot(a, b), [1, 2], [1]).message).toContain("dot: axis 0 of [2]");
    expect(errorOf((a, b) => np.vdot(a, b), [1, 2], [1]).message).toContain("vdot");
    expect(errorOf((a) => np.matmul(a, 2), [1]).message).toContain("matmul: argument 1 is a scalar");
    expect(errorOf(() => np.matmul(np.ones([2, 1, 1]), np.ones([3, 1, 1]))).message).toContain(
      "matmul: shapes [2] and [3] do not broadcast",
    );
  });

  it("explain the axes of tensordot", () => {
    expect(errorOf((a) => np.tensordot(a, a, 2), [1]).message).toContain("tensordot: 2 axes of [1] and [1]");
    expect(errorOf((a) => np.tensordot(a, a, [[0], []]), [1]).message).toContain("1 axes of one side and 0");
  });
});
