import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("einsum on %s", (engine) => {
  it("contracts, sums, transposes and spreads", () => {
    expectAll(
      evaluate(
        engine,
        (a, b, m, v, t) => ({
          product: np.einsum("ij,jk->ik", a, b),
          implicit: np.einsum("ij,jk", a, b),
          implicitOrder: np.einsum("ba", a),
          turned: np.einsum("ij,jk->ki", a, b),
          transpose: np.einsum("ij->ji", a),
          sum: np.einsum("ij->", a),
          rows: np.einsum("ij->i", a),
          trace: np.einsum("ii", m),
          diagonal: np.einsum("ii->i", m),
          diagonalProduct: np.einsum("ii,i->i", m, v),
          inner: np.einsum("i,i", v, v),
          outer: np.einsum("i,j->ij", v, v),
          elementwise: np.einsum("ij,ij->ij", a, a),
          rowsOfTwo: np.einsum("ij,ij->i", a, a),
          spread: np.einsum("ij,j->ij", a, v),
          three: np.einsum("ij,jk,k->i", a, b, np.ones([4])),
          chain: np.einsum("ij,kjl,l->ki", a, t, np.ones([4])),
          sumBefore: np.einsum("ij,kl->il", a, b),
          batch: np.einsum("bij,bkj->bik", t, t),
          spaces: np.einsum(" ij , jk -> ik ", a, b),
          scalar: np.einsum(",i->i", 2, v),
          triple: np.einsum("iii->i", np.reshape(np.arange(8, { dtype: "f32" }), [2, 2, 2])),
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
        [
          [0, 1, 2],
          [3, 4, 5],
          [6, 7, 8],
        ],
        [1, -2, 3],
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
        product: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        implicit: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        implicitOrder: [
          "f32[3,2]",
          [
            [0, 3],
            [1, 4],
            [2, 5],
          ],
        ],
        turned: [
          "f32[4,2]",
          [
            [5, -4],
            [8, 8],
            [11, 20],
            [14, 32],
          ],
        ],
        transpose: [
          "f32[3,2]",
          [
            [0, 3],
            [1, 4],
            [2, 5],
          ],
        ],
        sum: ["f32[]", 15],
        rows: ["f32[2]", [3, 12]],
        trace: ["f32[]", 12],
        diagonal: ["f32[3]", [0, 4, 8]],
        diagonalProduct: ["f32[3]", [0, -8, 24]],
        inner: ["f32[]", 14],
        outer: [
          "f32[3,3]",
          [
            [1, -2, 3],
            [-2, 4, -6],
            [3, -6, 9],
          ],
        ],
        elementwise: [
          "f32[2,3]",
          [
            [0, 1, 4],
            [9, 16, 25],
          ],
        ],
        rowsOfTwo: ["f32[2]", [5, 50]],
        spread: [
          "f32[2,3]",
          [
            [0, -2, 6],
            [3, -8, 15],
          ],
        ],
        three: ["f32[2]", [38, 56]],
        chain: [
          "f32[2,2]",
          [
            [24.5, 74],
            [60.5, 218],
          ],
        ],
        sumBefore: [
          "f32[2,4]",
          [
            [-9, 0, 9, 18],
            [-36, 0, 36, 72],
          ],
        ],
        batch: [
          "f32[2,3,3]",
          [
            [
              [0.875, 2.375, 3.875],
              [2.375, 7.875, 13.375],
              [3.875, 13.375, 22.875],
            ],
            [
              [45.875, 59.375, 72.875],
              [59.375, 76.875, 94.375],
              [72.875, 94.375, 115.875],
            ],
          ],
        ],
        spaces: [
          "f32[2,4]",
          [
            [5, 8, 11, 14],
            [-4, 8, 20, 32],
          ],
        ],
        scalar: ["f32[3]", [2, -4, 6]],
        triple: ["f32[2]", [0, 7]],
      },
    );
  });

  it("knows dots, unit axes and integers", () => {
    expectAll(
      evaluate(
        engine,
        (q, k, a, i) => ({
          attention: np.einsum("...qd,...kd->...qk", q, k),
          implicit: np.einsum("...qd,...kd", q, k),
          ranks: np.einsum("...d,d->...", q, np.array([1, 2])),
          moved: np.einsum("i...->...i", a),
          summed: np.einsum("i...->...", a),
          unit: np.einsum("ij,kj->ik", a, np.array([[2]])),
          integers: np.einsum("ij,ij->j", i, i),
        }),
        [
          [
            [
              [0, 0.125],
              [0.25, 0.375],
              [0.5, 0.625],
            ],
            [
              [0.75, 0.875],
              [1, 1.125],
              [1.25, 1.375],
            ],
          ],
          [
            [
              [1.5, 1.625],
              [1.75, 1.875],
              [2, 2.125],
            ],
            [
              [2.25, 2.375],
              [2.5, 2.625],
              [2.75, 2.875],
            ],
          ],
        ],
        [
          [
            [
              [-1, -0.875],
              [-0.75, -0.625],
            ],
            [
              [-0.5, -0.375],
              [-0.25, -0.125],
            ],
          ],
          [
            [
              [0, 0.125],
              [0.25, 0.375],
            ],
            [
              [0.5, 0.625],
              [0.75, 0.875],
            ],
          ],
        ],
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
        put(
          [
            [1, 2, 3],
            [4, 5, 6],
          ],
          { engine, dtype: "i32" },
        ),
      ),
      {
        attention: [
          "f32[2,2,3,2]",
          [
            [
              [
                [-0.109375, -0.078125],
                [-0.578125, -0.421875],
                [-1.046875, -0.765625],
              ],
              [
                [-0.703125, -0.296875],
                [-0.921875, -0.390625],
                [-1.140625, -0.484375],
              ],
            ],
            [
              [
                [0.203125, 0.984375],
                [0.234375, 1.140625],
                [0.265625, 1.296875],
              ],
              [
                [2.609375, 3.765625],
                [2.890625, 4.171875],
                [3.171875, 4.578125],
              ],
            ],
          ],
        ],
        implicit: [
          "f32[2,2,2,3]",
          [
            [
              [
                [-0.109375, -0.578125, -1.046875],
                [-0.078125, -0.421875, -0.765625],
              ],
              [
                [-0.703125, -0.921875, -1.140625],
                [-0.296875, -0.390625, -0.484375],
              ],
            ],
            [
              [
                [0.203125, 0.234375, 0.265625],
                [0.984375, 1.140625, 1.296875],
              ],
              [
                [2.609375, 2.890625, 3.171875],
                [3.765625, 4.171875, 4.578125],
              ],
            ],
          ],
        ],
        ranks: [
          "f32[2,2,3]",
          [
            [
              [0.25, 1, 1.75],
              [2.5, 3.25, 4],
            ],
            [
              [4.75, 5.5, 6.25],
              [7, 7.75, 8.5],
            ],
          ],
        ],
        moved: [
          "f32[3,2]",
          [
            [0, 3],
            [1, 4],
            [2, 5],
          ],
        ],
        summed: ["f32[3]", [3, 5, 7]],
        unit: ["f32[2,1]", [[6], [24]]],
        integers: ["i32[3]", [17, 29, 45]],
      },
    );
  });

  it("has gradients of every argument", () => {
    expectAll(
      evaluate(
        engine,
        (a, t) => {
          const [da, dt] = grad((p: Value, q: Value) => np.sum(np.square(np.einsum("ij,kjl->lk", p, q))), {
            argnums: [0, 1],
          })(a, t);
          return { da, dt };
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
      ),
      {
        da: [
          "f32[2,3]",
          [
            [1972.5, 2726.5, 3480.5],
            [1972.5, 2726.5, 3480.5],
          ],
        ],
        dt: [
          "f32[2,3,4]",
          [
            [
              [114, 136.5, 159, 181.5],
              [190, 227.5, 265, 302.5],
              [266, 318.5, 371, 423.5],
            ],
            [
              [384, 406.5, 429, 451.5],
              [640, 677.5, 715, 752.5],
              [896, 948.5, 1001, 1053.5],
            ],
          ],
        ],
      },
      2e-6,
    );
  });
});

describe("errors of einsum", () => {
  it("name the subscripts and what is wrong with them", () => {
    const two = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    const error = errorOf((a) => np.einsum("ij,jk->ik", a, a), two);
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain('"j" has length 3 in argument 0, [2, 3], and 2 in argument 1, [2, 3]');
    expect(error.at).toContain("einsum.test.ts");
    const says = (text: string, count = 1) =>
      errorOf((a) => np.einsum(text, ...Array(count).fill(a)), two).message;
    expect(says("ij,jk->ik")).toContain("names 2 arguments, but 1 were given");
    expect(says("ijk")).toContain('"ijk" names 3 axes, but argument 0 has shape [2, 3]');
    expect(says("i")).toContain('"i" names 1 axes');
    expect(says("ij->k")).toContain('the result names "k", which no argument has');
    expect(says("ij->ii")).toContain('the result names "i" twice');
    expect(says("i1->i")).toContain("is not of the form ij,jk->ik");
    expect(says("ij->i->j")).toContain("is not of the form");
    expect(says("ii")).toContain("SHAPE_MISMATCH");
  });
});
