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
    [1, -2, 3],
    [4, 5, -6],
  ],
  [
    [0, 0.5, 2],
    [-1, 3, 3],
  ],
];

describe.each(testEngines())("reductions on %s", (engine) => {
  it("go over all axes, one, several, counted from either end", () => {
    expectAll(
      evaluate(
        engine,
        (v) => ({
          all: np.sum(v),
          last: np.sum(v, { axis: -1 }),
          two: np.sum(v, { axis: [0, -1] }),
          none: np.sum(v, { axis: [] }),
          kept: np.sum(v, { axis: 1, keepdims: true }),
          keptAll: np.mean(v, { keepdims: true }),
          mean: np.mean(v, { axis: 0 }),
          prod: np.prod(v, { axis: 2 }),
          max: np.max(v, { axis: [1, 2] }),
          min: np.min(v),
          argmax: np.argmax(v, { axis: 2 }),
          argmaxAll: np.argmax(v),
          argmin: np.argmin(v, { axis: 0, keepdims: true }),
          argminAll: np.argmin(v, { keepdims: true }),
          count: np.countNonzero(v, { axis: 1 }),
          any: np.any(np.greater(v, 4), { axis: -1 }),
          every: np.all(np.greater(v, -6), { axis: 0, keepdims: true }),
        }),
        x,
      ),
      {
        all: ["f32[]", 12.5],
        last: [
          "f32[2,2]",
          [
            [2, 3],
            [2.5, 5],
          ],
        ],
        two: ["f32[2]", [4.5, 8]],
        none: [
          "f32[2,2,3]",
          [
            [
              [1, -2, 3],
              [4, 5, -6],
            ],
            [
              [0, 0.5, 2],
              [-1, 3, 3],
            ],
          ],
        ],
        kept: ["f32[2,1,3]", [[[5, 3, -3]], [[-1, 3.5, 5]]]],
        keptAll: ["f32[1,1,1]", [[[1.0416667]]]],
        mean: [
          "f32[2,3]",
          [
            [0.5, -0.75, 2.5],
            [1.5, 4, -1.5],
          ],
        ],
        prod: [
          "f32[2,2]",
          [
            [-6, -120],
            [0, -9],
          ],
        ],
        max: ["f32[2]", [5, 3]],
        min: ["f32[]", -6],
        argmax: [
          "i32[2,2]",
          [
            [2, 1],
            [2, 1],
          ],
        ],
        argmaxAll: ["i32[]", 4],
        argmin: [
          "i32[1,2,3]",
          [
            [
              [1, 0, 1],
              [1, 1, 0],
            ],
          ],
        ],
        argminAll: ["i32[1,1,1]", [[[5]]]],
        count: [
          "i32[2,3]",
          [
            [2, 2, 2],
            [1, 2, 2],
          ],
        ],
        any: [
          "bool[2,2]",
          [
            [false, true],
            [false, false],
          ],
        ],
        every: [
          "bool[1,2,3]",
          [
            [
              [true, true, true],
              [true, true, false],
            ],
          ],
        ],
      },
    );
  });

  it("count truths, make room for bytes, and keep integers", () => {
    expectAll(
      evaluate(
        engine,
        (i, b, u) => ({
          sum: np.sum(i, { axis: 0 }),
          mean: np.mean(i),
          max: np.max(i, { axis: 1 }),
          truths: np.sum(b),
          share: np.mean(b, { axis: 0 }),
          maxTruth: np.max(b, { axis: 1 }),
          minTruth: np.min(b, { axis: 1 }),
          argmaxTruth: np.argmax(b, { axis: 1 }),
          prodTruth: np.prod(b),
          bytes: np.sum(u),
          meanBytes: np.mean(u),
          asFloat: np.sum(i, { dtype: "f32" }),
          anyNumber: np.any(i),
        }),
        put(
          [
            [3, -1],
            [2, 5],
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
        put(new Uint8Array([200, 100, 7]), { engine }),
      ),
      {
        sum: ["i32[2]", [5, 4]],
        mean: ["f32[]", 2.25],
        max: ["i32[2]", [3, 5]],
        truths: ["i32[]", 3],
        share: ["f32[2]", [1, 0.5]],
        maxTruth: ["bool[2]", [true, true]],
        minTruth: ["bool[2]", [false, true]],
        argmaxTruth: ["i32[2]", [0, 0]],
        prodTruth: ["i32[]", 0],
        bytes: ["u32[]", 307],
        meanBytes: ["f32[]", 102.333336],
        asFloat: ["f32[]", 9],
        anyNumber: ["bool[]", true],
      },
    );
  });

  it("count along axes of every length", () => {
    for (const n of [1, 3, 4, 8, 9]) {
      const rows = Array.from({ length: 8 }, (_, r) =>
        Array.from({ length: n }, (_, c) => (r * 5 + c * 3) % 7),
      );
      const count = (f: (v: number) => boolean) => rows.map((row) => row.filter(f).length);
      expectAll(
        evaluate(
          engine,
          (v) => ({
            above: np.countNonzero(np.greater(v, 3), { axis: 1 }),
            below: np.sum(np.less(v, 3), { axis: 1 }),
            whole: np.sum(np.astype(v, "i32"), { axis: 1 }),
          }),
          rows,
        ),
        {
          above: ["i32[8]", count((v) => v > 3)],
          below: ["i32[8]", count((v) => v < 3)],
          whole: ["i32[8]", rows.map((row) => row.reduce((a, b) => a + b, 0))],
        },
      );
    }
  });

  it("of nothing are neutral, and axes of length 1 go", () => {
    expectAll(
      evaluate(
        engine,
        (v) => {
          const empty = np.zeros([0, 2]);
          return {
            sum: np.sum(empty, { axis: 0 }),
            prod: np.prod(empty),
            mean: np.mean(empty, { axis: 0 }),
            every: np.all(np.greater(empty, 0)),
            rows: np.sum(empty, { axis: 1 }),
            maxRows: np.max(empty, { axis: 1 }),
            unit: np.max(np.reshape(v, [1, 12]), { axis: 0 }),
            scalar: np.sum(np.array(3)),
          };
        },
        x,
      ),
      {
        sum: ["f32[2]", [0, 0]],
        prod: ["f32[]", 1],
        mean: ["f32[2]", [Number.NaN, Number.NaN]],
        every: ["bool[]", true],
        rows: ["f32[0]", []],
        maxRows: ["f32[0]", []],
        unit: ["f32[12]", [1, -2, 3, 4, 5, -6, 0, 0.5, 2, -1, 3, 3]],
        scalar: ["f32[]", 3],
      },
    );
  });

  it("share the gradient among equal extremes and follow zeros of products", () => {
    expectAll(
      evaluate(
        engine,
        (t, z, zz) => ({
          max: grad((v: Value) => np.max(v))(t),
          min: grad((v: Value) => np.min(np.negative(v)))(t),
          mean: grad((v: Value) => np.mean(v))(t),
          prod: grad((v: Value) => np.prod(v))(z),
          prodOfTwoZeros: grad((v: Value) => np.prod(v))(zz),
        }),
        [2, 5, 5, 1],
        [2, 0, 3],
        [2, 0, 0],
      ),
      {
        max: ["f32[4]", [0, 0.5, 0.5, 0]],
        min: ["f32[4]", [-0, -0.5, -0.5, -0]],
        mean: ["f32[4]", [0.25, 0.25, 0.25, 0.25]],
        prod: ["f32[3]", [0, 6, 0]],
        prodOfTwoZeros: ["f32[3]", [0, 0, 0]],
      },
    );
  });

  it("let NaN through", () => {
    const numbers = [1, Number.NaN, 2];
    expectAll(
      evaluate(
        engine,
        (v) => ({ max: np.max(v), min: np.min(v), at: np.argmax(v), sum: np.sum(v) }),
        numbers,
      ),
      {
        max: ["f32[]", Number.NaN],
        min: ["f32[]", Number.NaN],
        at: ["i32[]", 1],
        sum: ["f32[]", Number.NaN],
      },
    );
  });

  if (engine === "xla")
    it("add 16-bit floats in f32", () => {
      expectAll(
        evaluate(
          engine,
          (h) => ({ sum: np.sum(h), mean: np.mean(np.multiply(h, 3)), var: np.var(h) }),
          put(new Float32Array(3000).fill(1), { engine, dtype: "bf16" }),
        ),
        { sum: ["bf16[]", 3008], mean: ["bf16[]", 3], var: ["bf16[]", 0] },
      );
    });
});

describe("errors of reductions", () => {
  it("name the axis and the range of axes", () => {
    const error = errorOf((v) => np.sum(v, { axis: 2 }), [[1, 2]]);
    expect(error.code).toBe("AXIS_OUT_OF_RANGE");
    expect(error.message).toContain("sum: axis 2 of a value with 2 axes");
    expect(error.fix).toContain("-2 to 1");
    expect(error.at).toContain("reduction.test.ts");
  });

  it("refuse an axis named twice and extremes of nothing", () => {
    expect(errorOf((v) => np.mean(v, { axis: [0, -2] }), [[1, 2]]).code).toBe("AXIS_REPEATED");
    const error = errorOf(() => np.max(np.zeros([0, 2]), { axis: 0 }));
    expect(error.code).toBe("REDUCTION_EMPTY");
    expect(error.message).toContain("max: [0, 2] has nothing along axis 0");
    expect(errorOf(() => np.argmin(np.zeros([2, 0]), { axis: 1 })).message).toContain("argmin");
  });
});
