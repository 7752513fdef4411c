import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
  [-7, 2.5, 0],
  [3, -0.5, 9],
];
const y = [2, -3, 4];

describe.each(testEngines())("arithmetic on %s", (engine) => {
  it("leaves all of a number that is divided by infinity", () => {
    const [nan, inf] = [Number.NaN, Number.POSITIVE_INFINITY];
    expectAll(
      evaluate(
        engine,
        (a, b) => ({ fmod: np.fmod(a, b), remainder: np.remainder(a, b), quotient: np.floorDivide(a, b) }),
        [1, -1, 1, inf, inf, nan, 5.5],
        [inf, inf, -inf, inf, 2, inf, -inf],
      ),
      {
        fmod: ["f32[7]", [1, -1, 1, nan, nan, nan, 5.5]],
        remainder: ["f32[7]", [1, inf, -inf, nan, nan, nan, -inf]],
        quotient: ["f32[7]", [0, -1, -1, nan, nan, nan, -1]],
      },
    );
  });

  it("broadcasts over leading and unit axes", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => ({
          add: np.add(a, b),
          subtract: np.subtract(a, b),
          multiply: np.multiply(b, a),
          divide: np.divide(a, b),
          columns: np.add(np.expandDims(b, 1), b),
          maximum: np.maximum(a, b),
          minimum: np.minimum(a, 0),
          floorDivide: np.floorDivide(a, b),
          remainder: np.remainder(a, b),
          fmod: np.fmod(a, b),
        }),
        x,
        y,
      ),
      {
        add: [
          "f32[2,3]",
          [
            [-5, -0.5, 4],
            [5, -3.5, 13],
          ],
        ],
        subtract: [
          "f32[2,3]",
          [
            [-9, 5.5, -4],
            [1, 2.5, 5],
          ],
        ],
        multiply: [
          "f32[2,3]",
          [
            [-14, -7.5, 0],
            [6, 1.5, 36],
          ],
        ],
        divide: [
          "f32[2,3]",
          [
            [-3.5, -0.8333334, 0],
            [1.5, 0.16666667, 2.25],
          ],
        ],
        columns: [
          "f32[3,3]",
          [
            [4, -1, 6],
            [-1, -6, 1],
            [6, 1, 8],
          ],
        ],
        maximum: [
          "f32[2,3]",
          [
            [2, 2.5, 4],
            [3, -0.5, 9],
          ],
        ],
        minimum: [
          "f32[2,3]",
          [
            [-7, 0, 0],
            [0, -0.5, 0],
          ],
        ],
        floorDivide: [
          "f32[2,3]",
          [
            [-4, -1, 0],
            [1, -0, 2],
          ],
        ],
        remainder: [
          "f32[2,3]",
          [
            [1, -0.5, 0],
            [1, -0.5, 1],
          ],
        ],
        fmod: [
          "f32[2,3]",
          [
            [-1, 2.5, 0],
            [1, -0.5, 1],
          ],
        ],
      },
    );
  });

  it("keeps integers whole, except in quotients", () => {
    expectAll(
      evaluate(
        engine,
        (a, b) => ({
          add: np.add(a, b),
          multiply: np.multiply(a, 2),
          divide: np.divide(a, b),
          floorDivide: np.floorDivide(a, b),
          remainder: np.remainder(a, b),
          fmod: np.fmod(a, b),
          negative: np.negative(a),
          absolute: np.absolute(a),
          sign: np.sign(a),
          square: np.square(a),
          maximum: np.maximum(a, b),
          byZero: np.remainder(a, 0),
          reciprocal: np.reciprocal(b),
          fractional: np.add(a, 0.5),
        }),
        put(new Int32Array([-7, 7, 6, -6, 0]), { engine }),
        put(new Int32Array([3, -3, 3, -4, 5]), { engine }),
      ),
      {
        add: ["i32[5]", [-4, 4, 9, -10, 5]],
        multiply: ["i32[5]", [-14, 14, 12, -12, 0]],
        divide: ["f32[5]", [-2.3333333, -2.3333333, 2, 1.5, 0]],
        floorDivide: ["i32[5]", [-3, -3, 2, 1, 0]],
        remainder: ["i32[5]", [2, -2, 0, -2, 0]],
        fmod: ["i32[5]", [-1, 1, 0, -2, 0]],
        negative: ["i32[5]", [7, -7, -6, 6, 0]],
        absolute: ["i32[5]", [7, 7, 6, 6, 0]],
        sign: ["i32[5]", [-1, 1, 1, -1, 0]],
        square: ["i32[5]", [49, 49, 36, 36, 0]],
        maximum: ["i32[5]", [3, 7, 6, -4, 5]],
        byZero: ["i32[5]", [0, 0, 0, 0, 0]],
        reciprocal: ["f32[5]", [0.33333334, -0.33333334, 0.33333334, -0.25, 0.2]],
        fractional: ["f32[5]", [-6.5, 7.5, 6.5, -5.5, 0.5]],
      },
    );
  });

  it("wraps u8 and reads booleans as truths or as 0 and 1", () => {
    expectAll(
      evaluate(
        engine,
        (a, b, u, v) => ({
          or: np.add(a, b),
          and: np.multiply(a, b),
          larger: np.maximum(a, b),
          smaller: np.minimum(a, b),
          ratio: np.divide(a, 2),
          sum: np.add(a, 1),
          product: np.multiply(a, 0.5),
          mixed: np.add(u, a),
          absolute: np.absolute(a),
          square: np.square(a),
          wrapped: np.add(u, v),
          below: np.subtract(u, v),
          times: np.multiply(u, v),
          quotient: np.floorDivide(u, v),
          rest: np.remainder(u, v),
          sign: np.sign(u),
          negative: np.negative(u),
        }),
        put([true, true, false], { engine }),
        put([true, false, false], { engine }),
        put(new Uint8Array([250, 7, 0]), { engine }),
        put(new Uint8Array([10, 200, 3]), { engine }),
      ),
      {
        or: ["bool[3]", [true, true, false]],
        and: ["bool[3]", [true, false, false]],
        larger: ["bool[3]", [true, true, false]],
        smaller: ["bool[3]", [true, false, false]],
        ratio: ["f32[3]", [0.5, 0.5, 0]],
        sum: ["i32[3]", [2, 2, 1]],
        product: ["f32[3]", [0.5, 0.5, 0]],
        mixed: ["u8[3]", [251, 8, 0]],
        absolute: ["bool[3]", [true, true, false]],
        square: ["i32[3]", [1, 1, 0]],
        wrapped: ["u8[3]", [4, 207, 3]],
        below: ["u8[3]", [240, 63, 253]],
        times: ["u8[3]", [196, 120, 0]],
        quotient: ["u8[3]", [25, 0, 0]],
        rest: ["u8[3]", [0, 7, 0]],
        sign: ["u8[3]", [1, 1, 0]],
        negative: ["u8[3]", [6, 249, 0]],
      },
    );
  });

  it("divides as Python does at the edges", () => {
    expectAll(
      evaluate(
        engine,
        (p, q) => ({ floorDivide: np.floorDivide(p, q), remainder: np.remainder(p, q) }),
        [1, -1, 0, -0.5, 7, 1e30],
        [0, 0, 0, -0.5, -2, 3],
      ),
      {
        floorDivide: ["f32[6]", [Infinity, -Infinity, Number.NaN, 1, -4, 3.3333334e29]],
        remainder: ["f32[6]", [Number.NaN, Number.NaN, Number.NaN, -0, -1, 0]],
      },
    );
  });

  if (engine === "xla")
    it("takes the exact remainder, which wasm rounds", () => {
      expectAll(
        evaluate(
          engine,
          (p, q) => ({ floorDivide: np.floorDivide(p, q), remainder: np.remainder(p, q) }),
          [1, 5, -5],
          [0.1, Infinity, Infinity],
        ),
        {
          floorDivide: ["f32[3]", [9, 0, -1]],
          remainder: ["f32[3]", [0.09999999, 5, Infinity]],
        },
      );
    });

  it("works on empty axes", () => {
    expectAll(
      evaluate(engine, () => ({
        empty: np.add(np.zeros([0, 3]), np.ones([3])),
        column: np.multiply(np.zeros([2, 0]), np.ones([2, 1])),
      })),
      { empty: ["f32[0,3]", []], column: ["f32[2,0]", [[], []]] },
    );
  });
});

describe("errors of arithmetic", () => {
  it("name the function, both shapes, the fix and the line", () => {
    const error = errorOf(
      (a, b) => np.add(a, b),
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      [1, 2, 3, 4],
    );
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain(
      "add: shapes [2, 3] and [4] do not broadcast: axis 1 has length 3 in one and 4 in the other",
    );
    expect(error.fix).toContain("equally long or 1");
    expect(error.at).toContain("arithmetic.test.ts");
  });

  it("refuse booleans where there is no arithmetic of truths", () => {
    const error = errorOf((a) => np.subtract(a, a), [true]);
    expect(error.code).toBe("DTYPE_MISMATCH");
    expect(error.message).toContain("subtract: argument 0 is bool[1]");
    expect(errorOf((a) => np.negative(a), [true]).message).toContain("negative: the argument is bool[1]");
  });

  it("refuse numbers an integer type cannot hold", () => {
    const error = errorOf((a) => np.add(np.astype(a, "u8"), 300), [1]);
    expect(error.code).toBe("NUMBER_OUT_OF_RANGE");
    expect(error.message).toContain("add: 300 does not fit u8");
  });

  it("say which argument is no value", () => {
    const error = errorOf((a) => np.add(a, [1, 2] as unknown as number), [1, 2]);
    expect(error.code).toBe("ARGUMENT_INVALID");
    expect(error.message).toContain("add: argument 1 is an array, which is not a value to compute with");
    expect(error.fix).toContain("np.array");
  });

  it("say that math belongs into compile", () => {
    expect(() => np.add(1, 2)).toThrowError(/add was called outside a compiled function/);
  });
});
