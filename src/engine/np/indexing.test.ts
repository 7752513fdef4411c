import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
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
];
const m = [
  [0, 1, 2, 3],
  [4, 5, 6, 7],
  [8, 9, 10, 11],
];

describe.each(testEngines())("indexing on %s", (engine) => {
  const integers = (data: number[] | number[][]) => put(data, { engine, dtype: "i32" });

  it("slices by ranges, numbers, new axes and dots", () => {
    expectAll(
      evaluate(
        engine,
        (a) => ({
          rows: np.slice(a, "1:"),
          number: np.slice(a, 1, -1),
          columns: np.slice(a, ":", "0:2", [1, 3]),
          steps: np.slice(a, "...", "::2"),
          back: np.slice(a, "...", "::-1"),
          backSteps: np.slice(a, 0, "...", "3:0:-2"),
          added: np.slice(a, null, 0, "...", np.newaxis),
          open: np.slice(a, [], [1, null], [null, null, 3]),
          clamped: np.slice(a, "0:9", "-9:1"),
          none: np.slice(a, "1:1", "..."),
          all: np.slice(a),
        }),
        x,
      ),
      {
        rows: [
          "f32[1,3,4]",
          [
            [
              [12, 13, 14, 15],
              [16, 17, 18, 19],
              [20, 21, 22, 23],
            ],
          ],
        ],
        number: ["f32[4]", [20, 21, 22, 23]],
        columns: [
          "f32[2,2,2]",
          [
            [
              [1, 2],
              [5, 6],
            ],
            [
              [13, 14],
              [17, 18],
            ],
          ],
        ],
        steps: [
          "f32[2,3,2]",
          [
            [
              [0, 2],
              [4, 6],
              [8, 10],
            ],
            [
              [12, 14],
              [16, 18],
              [20, 22],
            ],
          ],
        ],
        back: [
          "f32[2,3,4]",
          [
            [
              [3, 2, 1, 0],
              [7, 6, 5, 4],
              [11, 10, 9, 8],
            ],
            [
              [15, 14, 13, 12],
              [19, 18, 17, 16],
              [23, 22, 21, 20],
            ],
          ],
        ],
        backSteps: [
          "f32[3,2]",
          [
            [3, 1],
            [7, 5],
            [11, 9],
          ],
        ],
        added: [
          "f32[1,3,4,1]",
          [
            [
              [[0], [1], [2], [3]],
              [[4], [5], [6], [7]],
              [[8], [9], [10], [11]],
            ],
          ],
        ],
        open: [
          "f32[2,2,2]",
          [
            [
              [4, 7],
              [8, 11],
            ],
            [
              [16, 19],
              [20, 23],
            ],
          ],
        ],
        clamped: ["f32[2,1,4]", [[[0, 1, 2, 3]], [[12, 13, 14, 15]]]],
        none: ["f32[0,3,4]", []],
        all: [
          "f32[2,3,4]",
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
        ],
      },
    );
  });

  it("slices by traced indices where NumPy puts their axes", () => {
    expectAll(
      evaluate(
        engine,
        (a, i, j, s) => ({
          first: np.slice(a, j),
          middle: np.slice(a, ":", i),
          last: np.slice(a, "...", j),
          pairs: np.slice(a, j, j),
          outer: np.slice(a, ":", np.expandDims(j, 1), j),
          apart: np.slice(a, j, ":", j),
          numberApart: np.slice(a, 0, ":", j),
          numberBeside: np.slice(a, ":", 1, j),
          ranged: np.slice(a, j, "1:", null),
          scalar: np.slice(a, ":", s),
          scalars: np.slice(a, s, ":", s),
          everywhere: np.slice(a, j, s, 3),
        }),
        x,
        integers([
          [0, 2],
          [1, -1],
        ]),
        integers([1, 0]),
        put(new Int32Array([-2]), { engine, shape: [] }),
      ),
      {
        first: [
          "f32[2,3,4]",
          [
            [
              [12, 13, 14, 15],
              [16, 17, 18, 19],
              [20, 21, 22, 23],
            ],
            [
              [0, 1, 2, 3],
              [4, 5, 6, 7],
              [8, 9, 10, 11],
            ],
          ],
        ],
        middle: [
          "f32[2,2,2,4]",
          [
            [
              [
                [0, 1, 2, 3],
                [8, 9, 10, 11],
              ],
              [
                [4, 5, 6, 7],
                [8, 9, 10, 11],
              ],
            ],
            [
              [
                [12, 13, 14, 15],
                [20, 21, 22, 23],
              ],
              [
                [16, 17, 18, 19],
                [20, 21, 22, 23],
              ],
            ],
          ],
        ],
        last: [
          "f32[2,3,2]",
          [
            [
              [1, 0],
              [5, 4],
              [9, 8],
            ],
            [
              [13, 12],
              [17, 16],
              [21, 20],
            ],
          ],
        ],
        pairs: [
          "f32[2,4]",
          [
            [16, 17, 18, 19],
            [0, 1, 2, 3],
          ],
        ],
        outer: [
          "f32[2,2,2]",
          [
            [
              [5, 4],
              [1, 0],
            ],
            [
              [17, 16],
              [13, 12],
            ],
          ],
        ],
        apart: [
          "f32[2,3]",
          [
            [13, 17, 21],
            [0, 4, 8],
          ],
        ],
        numberApart: [
          "f32[2,3]",
          [
            [1, 5, 9],
            [0, 4, 8],
          ],
        ],
        numberBeside: [
          "f32[2,2]",
          [
            [5, 4],
            [17, 16],
          ],
        ],
        ranged: [
          "f32[2,2,1,4]",
          [
            [[[16, 17, 18, 19]], [[20, 21, 22, 23]]],
            [[[4, 5, 6, 7]], [[8, 9, 10, 11]]],
          ],
        ],
        scalar: [
          "f32[2,4]",
          [
            [4, 5, 6, 7],
            [16, 17, 18, 19],
          ],
        ],
        scalars: ["f32[3]", [2, 6, 10]],
        everywhere: ["f32[2]", [19, 7]],
      },
    );
  });

  it("takes along axes, counting back and clamping", () => {
    expectAll(
      evaluate(
        engine,
        (a, i, far) => ({
          rows: np.take(a, i, { axis: 0 }),
          columns: np.take(a, i, { axis: -1 }),
          flat: np.take(a, i),
          number: np.take(a, -1, { axis: 1 }),
          list: np.take(a, [2, 0, -1], { axis: 1 }),
          typed: np.take(a, new Int32Array([1]), { axis: 0 }),
          clamped: np.take(a, far, { axis: 0 }),
          truths: np.take(np.greater(a, 5), i, { axis: 0 }),
          bytes: np.take(a, np.array([1], { dtype: "u8" }), { axis: 0 }),
          none: np.take(a, np.zeros([0], { dtype: "i32" }), { axis: 1 }),
        }),
        m,
        integers([
          [0, 2],
          [1, -1],
        ]),
        integers([9, -9]),
      ),
      {
        rows: [
          "f32[2,2,4]",
          [
            [
              [0, 1, 2, 3],
              [8, 9, 10, 11],
            ],
            [
              [4, 5, 6, 7],
              [8, 9, 10, 11],
            ],
          ],
        ],
        columns: [
          "f32[3,2,2]",
          [
            [
              [0, 2],
              [1, 3],
            ],
            [
              [4, 6],
              [5, 7],
            ],
            [
              [8, 10],
              [9, 11],
            ],
          ],
        ],
        flat: [
          "f32[2,2]",
          [
            [0, 2],
            [1, 11],
          ],
        ],
        number: ["f32[3]", [3, 7, 11]],
        list: [
          "f32[3,3]",
          [
            [2, 0, 3],
            [6, 4, 7],
            [10, 8, 11],
          ],
        ],
        typed: ["f32[1,4]", [[4, 5, 6, 7]]],
        clamped: [
          "f32[2,4]",
          [
            [8, 9, 10, 11],
            [0, 1, 2, 3],
          ],
        ],
        truths: [
          "bool[2,2,4]",
          [
            [
              [false, false, false, false],
              [true, true, true, true],
            ],
            [
              [false, false, true, true],
              [true, true, true, true],
            ],
          ],
        ],
        bytes: ["f32[1,4]", [[4, 5, 6, 7]]],
        none: ["f32[3,0]", [[], [], []]],
      },
    );
  });

  it("picks along an axis and makes one-hot rows", () => {
    expectAll(
      evaluate(
        engine,
        (a, p, j) => ({
          last: np.takeAlongAxis(a, p),
          first: np.takeAlongAxis(a, np.argmax(a, { axis: 0, keepdims: true }), { axis: 0 }),
          spread: np.takeAlongAxis(a, np.array([[1, 2]], { dtype: "i32" })),
          slope: grad((v: Value) => np.sum(np.takeAlongAxis(v, p)))(a),
          hot: np.oneHot(j, 3),
          typed: np.oneHot(j, 2, { dtype: "i32", axis: 0 }),
          outside: np.oneHot(np.array([-1, 2], { dtype: "i32" }), 2),
          scalar: np.oneHot(np.array(1, { dtype: "u8" }), 2),
        }),
        m,
        integers([[3], [0], [-1]]),
        integers([1, 0]),
      ),
      {
        last: ["f32[3,1]", [[3], [4], [11]]],
        first: ["f32[1,4]", [[8, 9, 10, 11]]],
        spread: [
          "f32[3,2]",
          [
            [1, 2],
            [5, 6],
            [9, 10],
          ],
        ],
        slope: [
          "f32[3,4]",
          [
            [0, 0, 0, 1],
            [1, 0, 0, 0],
            [0, 0, 0, 1],
          ],
        ],
        hot: [
          "f32[2,3]",
          [
            [0, 1, 0],
            [1, 0, 0],
          ],
        ],
        typed: [
          "i32[2,2]",
          [
            [0, 1],
            [1, 0],
          ],
        ],
        outside: [
          "f32[2,2]",
          [
            [0, 0],
            [0, 0],
          ],
        ],
        scalar: ["f32[2]", [0, 1]],
      },
    );
  });

  it("adds the gradients of an element taken twice", () => {
    expectAll(
      evaluate(
        engine,
        (a, i) => ({
          take: grad((v: Value) => np.sum(np.multiply(np.take(v, i, { axis: 1 }), 2)))(a),
          scalar: grad((v: Value) => np.sum(np.square(np.slice(v, np.argmax(i)))))(a),
          range: grad((v: Value) => np.sum(np.square(np.slice(v, "::-2", 1))))(a),
        }),
        m,
        integers([
          [0, 0],
          [3, 0],
        ]),
      ),
      {
        take: [
          "f32[3,4]",
          [
            [6, 0, 0, 2],
            [6, 0, 0, 2],
            [6, 0, 0, 2],
          ],
        ],
        scalar: [
          "f32[3,4]",
          [
            [0, 0, 0, 0],
            [0, 0, 0, 0],
            [16, 18, 20, 22],
          ],
        ],
        range: [
          "f32[3,4]",
          [
            [0, 2, 0, 0],
            [0, 0, 0, 0],
            [0, 18, 0, 0],
          ],
        ],
      },
    );
  });
});

describe("errors of indexing", () => {
  it("name the index, the axis and the shape", () => {
    const error = errorOf(
      (a) => np.slice(a, 0, 4),
      [
        [1, 2],
        [3, 4],
      ],
    );
    expect(error.code).toBe("INDEX_OUT_OF_RANGE");
    expect(error.message).toContain("slice: index 4 on axis 1 of [2, 2]");
    expect(error.fix).toContain("from -2 to 1");
    expect(error.at).toContain("indexing.test.ts");
    expect(errorOf((a) => np.take(a, [0, 5], { axis: 0 }), [1, 2]).message).toContain(
      "take: index 5 on axis 0 of [2]",
    );
  });

  it("explain ranges", () => {
    expect(errorOf((a) => np.slice(a, "1-3"), [1]).message).toContain('slice: "1-3" is no range');
    expect(errorOf((a) => np.slice(a, [0, 1, 0]), [1]).message).toContain("slice: [0,1,0] is no range");
    expect(errorOf((a) => np.slice(a, 0, 0), [1]).message).toContain(
      "slice: 2 indices for the 1 axes of [1]",
    );
    expect(errorOf((a) => np.slice(a, "...", "..."), [1]).message).toContain('"..." stands twice');
  });

  it("refuse indices that are no integers", () => {
    const error = errorOf((a) => np.take(a, a, { axis: 0 }), [1]);
    expect(error.code).toBe("DTYPE_MISMATCH");
    expect(error.message).toContain("take: the index is f32[1]");
    expect(errorOf((a) => np.slice(a, np.greater(a, 0)), [1]).fix).toContain("np.where");
    expect(errorOf((a) => np.takeAlongAxis(a, np.zeros([1], { dtype: "i32" })), [[1]]).message).toContain(
      "takeAlongAxis: the value has shape [1, 1] and the indices [1]",
    );
  });
});
