import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("shapes on %s", (engine) => {
  it("reshape, transpose and move axes as in NumPy", () => {
    expectAll(
      evaluate(engine, () => {
        const x = np.reshape(np.arange(24, { dtype: "f32" }), [2, 3, 4]);
        return {
          reshape: np.reshape(x, [4, -1]),
          flat: np.reshape(x, -1),
          ravel: np.ravel(x),
          transpose: np.transpose(x),
          ordered: np.transpose(x, [1, -1, 0]),
          swapped: np.swapaxes(x, 0, -1),
          moved: np.moveaxis(x, 0, -1),
          movedTwo: np.moveaxis(x, [0, 1], [2, 0]),
          expanded: np.expandDims(x, [0, -1]),
          squeezed: np.squeeze(np.reshape(x, [1, 6, 1, 4])),
          squeezedOne: np.squeeze(np.reshape(x, [1, 6, 1, 4]), { axis: -2 }),
        };
      }),
      {
        reshape: [
          "f32[4,6]",
          [
            [0, 1, 2, 3, 4, 5],
            [6, 7, 8, 9, 10, 11],
            [12, 13, 14, 15, 16, 17],
            [18, 19, 20, 21, 22, 23],
          ],
        ],
        flat: [
          "f32[24]",
          [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
        ],
        ravel: [
          "f32[24]",
          [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23],
        ],
        transpose: [
          "f32[4,3,2]",
          [
            [
              [0, 12],
              [4, 16],
              [8, 20],
            ],
            [
              [1, 13],
              [5, 17],
              [9, 21],
            ],
            [
              [2, 14],
              [6, 18],
              [10, 22],
            ],
            [
              [3, 15],
              [7, 19],
              [11, 23],
            ],
          ],
        ],
        ordered: [
          "f32[3,4,2]",
          [
            [
              [0, 12],
              [1, 13],
              [2, 14],
              [3, 15],
            ],
            [
              [4, 16],
              [5, 17],
              [6, 18],
              [7, 19],
            ],
            [
              [8, 20],
              [9, 21],
              [10, 22],
              [11, 23],
            ],
          ],
        ],
        swapped: [
          "f32[4,3,2]",
          [
            [
              [0, 12],
              [4, 16],
              [8, 20],
            ],
            [
              [1, 13],
              [5, 17],
              [9, 21],
            ],
            [
              [2, 14],
              [6, 18],
              [10, 22],
            ],
            [
              [3, 15],
              [7, 19],
              [11, 23],
            ],
          ],
        ],
        moved: [
          "f32[3,4,2]",
          [
            [
              [0, 12],
              [1, 13],
              [2, 14],
              [3, 15],
            ],
            [
              [4, 16],
              [5, 17],
              [6, 18],
              [7, 19],
            ],
            [
              [8, 20],
              [9, 21],
              [10, 22],
              [11, 23],
            ],
          ],
        ],
        movedTwo: [
          "f32[3,4,2]",
          [
            [
              [0, 12],
              [1, 13],
              [2, 14],
              [3, 15],
            ],
            [
              [4, 16],
              [5, 17],
              [6, 18],
              [7, 19],
            ],
            [
              [8, 20],
              [9, 21],
              [10, 22],
              [11, 23],
            ],
          ],
        ],
        expanded: [
          "f32[1,2,3,4,1]",
          [
            [
              [
                [[0], [1], [2], [3]],
                [[4], [5], [6], [7]],
                [[8], [9], [10], [11]],
              ],
              [
                [[12], [13], [14], [15]],
                [[16], [17], [18], [19]],
                [[20], [21], [22], [23]],
              ],
            ],
          ],
        ],
        squeezed: [
          "f32[6,4]",
          [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
            [8, 9, 10, 11],
            [12, 13, 14, 15],
            [16, 17, 18, 19],
            [20, 21, 22, 23],
          ],
        ],
        squeezedOne: [
          "f32[1,6,4]",
          [
            [
              [0, 1, 2, 3],
              [4, 5, 6, 7],
              [8, 9, 10, 11],
              [12, 13, 14, 15],
              [16, 17, 18, 19],
              [20, 21, 22, 23],
            ],
          ],
        ],
      },
    );
  });

  it("repeat to a shape, empty ones too", () => {
    expectAll(
      evaluate(
        engine,
        (v) => {
          const [a, b] = np.broadcastArrays(v, np.array([[1], [2]], { dtype: "i32" }));
          return {
            rows: np.broadcastTo(v, [2, 3]),
            number: np.broadcastTo(5, 2),
            empty: np.broadcastTo(np.zeros([1, 3]), [0, 3]),
            emptyReshaped: np.reshape(np.zeros([0, 3]), [3, 0, 2]),
            a,
            b,
          };
        },
        [1, 2, 3],
      ),
      {
        rows: [
          "f32[2,3]",
          [
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
        number: ["f32[2]", [5, 5]],
        empty: ["f32[0,3]", []],
        emptyReshaped: ["f32[3,0,2]", [[], [], []]],
        a: [
          "f32[2,3]",
          [
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
        b: [
          "i32[2,3]",
          [
            [1, 1, 1],
            [2, 2, 2],
          ],
        ],
      },
    );
  });
});

describe("errors of shapes", () => {
  it("count the elements of both sides", () => {
    const error = errorOf((x) => np.reshape(x, [4, -1]), [1, 2, 3]);
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain("reshape: [3] has 3 elements, which do not fill [4, -1]");
    expect(error.at).toContain("shape.test.ts");
    expect(errorOf((x) => np.reshape(x, [-1, -1]), [1]).message).toContain("[-1, -1]");
    expect(errorOf((x) => np.reshape(x, [0, -1]), [1]).message).toContain("[0, -1]");
  });

  it("name the axis that is not 1, and shapes that do not repeat", () => {
    expect(errorOf((x) => np.squeeze(x, { axis: 0 }), [1, 2]).message).toContain(
      "squeeze: axis 0 of [2] has length 2, not 1",
    );
    expect(errorOf((x) => np.broadcastTo(x, [2]), [1, 2, 3]).message).toContain("[3] and [2]");
    expect(errorOf((x) => np.broadcastTo(x, [1]), [1, 2, 3]).message).toContain(
      "broadcastTo: shape [3] does not broadcast to [1]",
    );
    expect(errorOf((x) => np.transpose(x, [0, 0]), [[1]]).code).toBe("AXIS_OUT_OF_RANGE");
    expect(errorOf((x) => np.moveaxis(x, [0, 1], [0]), [[1]]).message).toContain("moveaxis");
    expect(errorOf((x) => np.expandDims(x, 3), [1]).message).toContain("expandDims: axis 3");
  });
});
