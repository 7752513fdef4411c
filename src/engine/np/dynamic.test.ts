import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { switchBranch } from "../transform/branches.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.lax 0.10.2.

describe.each(testEngines())("dynamic slices on %s", (engine) => {
  it("take indices beyond what i32 holds for the last", () => {
    expectAll(
      evaluate(
        engine,
        (v, i) => ({
          slice: np.dynamicSlice(v, [i], [2]),
          take: np.take(v, i),
          branch: switchBranch(i, [(u: Value) => u, (u: Value) => np.negative(u)], v),
        }),
        [1, 2, 3, 4],
        put(Uint32Array.of(3_000_000_000), { engine, shape: [] }),
      ),
      { slice: ["f32[2]", [3, 4]], take: ["f32[]", 4], branch: ["f32[4]", [-1, -2, -3, -4]] },
    );
  });

  it("begin where traced numbers say, moved so that they fit", () => {
    expectAll(
      evaluate(
        engine,
        (m, p, i, n) => ({
          part: np.dynamicSlice(m, [i, 2], [2, 2]),
          fromEnd: np.dynamicSlice(m, [n, n], [1, 3]),
          far: np.dynamicSlice(m, [9, 0], [2, 4]),
          written: np.dynamicUpdateSlice(m, p, [i, i]),
          writtenFar: np.dynamicUpdateSlice(m, p, [n, 9]),
          converted: np.dynamicUpdateSlice(m, np.array([[7]], { dtype: "i32" }), [0, i]),
          row: np.dynamicIndexInDim(m, i),
          column: np.dynamicIndexInDim(m, n, { axis: 1, keepdims: false }),
          bytes: np.dynamicIndexInDim(m, np.array(2, { dtype: "u8" }), { keepdims: false }),
        }),
        [
          [0, 1, 2, 3],
          [4, 5, 6, 7],
          [8, 9, 10, 11],
        ],
        [[100, 200]],
        put(new Int32Array([1]), { engine, shape: [] }),
        put(new Int32Array([-1]), { engine, shape: [] }),
      ),
      {
        part: [
          "f32[2,2]",
          [
            [6, 7],
            [10, 11],
          ],
        ],
        fromEnd: ["f32[1,3]", [[9, 10, 11]]],
        far: [
          "f32[2,4]",
          [
            [4, 5, 6, 7],
            [8, 9, 10, 11],
          ],
        ],
        written: [
          "f32[3,4]",
          [
            [0, 1, 2, 3],
            [4, 100, 200, 7],
            [8, 9, 10, 11],
          ],
        ],
        writtenFar: [
          "f32[3,4]",
          [
            [0, 1, 2, 3],
            [4, 5, 6, 7],
            [8, 9, 100, 200],
          ],
        ],
        converted: [
          "f32[3,4]",
          [
            [0, 7, 2, 3],
            [4, 5, 6, 7],
            [8, 9, 10, 11],
          ],
        ],
        row: ["f32[1,4]", [[4, 5, 6, 7]]],
        column: ["f32[3]", [3, 7, 11]],
        bytes: ["f32[4]", [8, 9, 10, 11]],
      },
    );
  });
});

it("dynamic slices name starts and sizes that do not fit", () => {
  const error = errorOf((m) => np.dynamicSlice(m, [0], [1, 1]), [[1, 2]]);
  expect(error.message).toContain("dynamicSlice: 1 starts for the 2 axes of [1, 2]");
  expect(error.at).toContain("dynamic.test.ts");
  expect(errorOf((m) => np.dynamicSlice(m, [0], [3]), [1, 2]).code).toBe("SHAPE_MISMATCH");
  expect(
    errorOf((m) => np.dynamicSlice(m, [np.zeros([1], { dtype: "i32" })], [1]), [1, 2]).message,
  ).toContain("scalars");
  expect(errorOf((m) => np.dynamicIndexInDim(m, m), [1]).message).toContain(
    "dynamicIndexInDim: the index is f32[1]",
  );
});
