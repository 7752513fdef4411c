import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("logic and bits on %s", (engine) => {
  it("combines truths, numbers holding unless 0", () => {
    expectAll(
      evaluate(
        engine,
        (a, b, x) => ({
          and: np.logicalAnd(a, b),
          or: np.logicalOr(a, b),
          xor: np.logicalXor(a, b),
          not: np.logicalNot(a),
          numbers: np.logicalAnd(x, b),
          number: np.logicalOr(a, 0),
          spread: np.logicalAnd(np.expandDims(a, 1), b),
        }),
        put([true, true, false, false], { engine }),
        put([true, false, true, false], { engine }),
        [0, 2, -1, 0],
      ),
      {
        and: ["bool[4]", [true, false, false, false]],
        or: ["bool[4]", [true, true, true, false]],
        xor: ["bool[4]", [false, true, true, false]],
        not: ["bool[4]", [false, false, true, true]],
        numbers: ["bool[4]", [false, false, true, false]],
        number: ["bool[4]", [true, true, false, false]],
        spread: [
          "bool[4,4]",
          [
            [true, false, true, false],
            [true, false, true, false],
            [false, false, false, false],
            [false, false, false, false],
          ],
        ],
      },
    );
  });

  it("works on bits of every width", () => {
    expectAll(
      evaluate(
        engine,
        (i, j, u, w, a, b) => ({
          and: np.bitwiseAnd(i, j),
          or: np.bitwiseOr(i, j),
          xor: np.bitwiseXor(i, 6),
          not: np.bitwiseNot(i),
          left: np.leftShift(i, j),
          right: np.rightShift(i, j),
          truths: np.bitwiseXor(a, b),
          notTruth: np.bitwiseNot(a),
          bytes: np.bitwiseNot(u),
          bytesLeft: np.leftShift(u, 1),
          unsignedRight: np.rightShift(w, 4),
        }),
        put(new Int32Array([-7, 12, 5, 1]), { engine }),
        put(new Int32Array([3, 10, 1, 31]), { engine }),
        put(new Uint8Array([200, 3]), { engine }),
        put(new Uint32Array([4294967295, 8]), { engine }),
        put([true, true, false, false], { engine }),
        put([true, false, true, false], { engine }),
      ),
      {
        and: ["i32[4]", [1, 8, 1, 1]],
        or: ["i32[4]", [-5, 14, 5, 31]],
        xor: ["i32[4]", [-1, 10, 3, 7]],
        not: ["i32[4]", [6, -13, -6, -2]],
        left: ["i32[4]", [-56, 12288, 10, -2147483648]],
        right: ["i32[4]", [-1, 0, 2, 0]],
        truths: ["bool[4]", [false, true, true, false]],
        notTruth: ["bool[4]", [false, false, true, true]],
        bytes: ["u8[2]", [55, 252]],
        bytesLeft: ["u8[2]", [144, 6]],
        unsignedRight: ["u32[2]", [268435455, 0]],
      },
    );
  });
});

it("bits of floating-point values are an error in the user's words", () => {
  const error = errorOf((x) => np.bitwiseAnd(x, x), [1]);
  expect(error.code).toBe("DTYPE_MISMATCH");
  expect(error.message).toContain("bitwiseAnd: the wider argument is f32[1]");
  expect(errorOf((x) => np.leftShift(x, 1), [1]).message).toContain("leftShift");
});
