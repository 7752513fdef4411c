import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const x = [
  [1, 2, 3],
  [4, 5, 6],
];

describe.each(testEngines())("padding on %s", (engine) => {
  it("fills in every mode", () => {
    expectAll(
      evaluate(
        engine,
        (a, v, i, b) => ({
          zeros: np.pad(a, 1),
          before: np.pad(a, [1, 0]),
          each: np.pad(
            a,
            [
              [0, 1],
              [2, 0],
            ],
            { value: -1 },
          ),
          none: np.pad(a, 0),
          integer: np.pad(i, 1, { value: 7 }),
          truths: np.pad(b, [1, 2]),
          edge: np.pad(
            a,
            [
              [1, 2],
              [0, 2],
            ],
            { mode: "edge" },
          ),
          reflect: np.pad(
            a,
            [
              [1, 1],
              [2, 1],
            ],
            { mode: "reflect" },
          ),
          reflectFar: np.pad(v, [5, 6], { mode: "reflect" }),
          symmetric: np.pad(v, [4, 2], { mode: "symmetric" }),
          wrap: np.pad(v, [4, 5], { mode: "wrap" }),
          one: np.pad(np.slice(v, [0, 1]), 2, { mode: "reflect" }),
        }),
        x,
        [1, 2, 3],
        put([[1, 2]], { engine, dtype: "i32" }),
        put([true, false], { engine }),
      ),
      {
        zeros: [
          "f32[4,5]",
          [
            [0, 0, 0, 0, 0],
            [0, 1, 2, 3, 0],
            [0, 4, 5, 6, 0],
            [0, 0, 0, 0, 0],
          ],
        ],
        before: [
          "f32[3,4]",
          [
            [0, 0, 0, 0],
            [0, 1, 2, 3],
            [0, 4, 5, 6],
          ],
        ],
        each: [
          "f32[3,5]",
          [
            [-1, -1, 1, 2, 3],
            [-1, -1, 4, 5, 6],
            [-1, -1, -1, -1, -1],
          ],
        ],
        none: [
          "f32[2,3]",
          [
            [1, 2, 3],
            [4, 5, 6],
          ],
        ],
        integer: [
          "i32[3,4]",
          [
            [7, 7, 7, 7],
            [7, 1, 2, 7],
            [7, 7, 7, 7],
          ],
        ],
        truths: ["bool[5]", [false, true, false, false, false]],
        edge: [
          "f32[5,5]",
          [
            [1, 2, 3, 3, 3],
            [1, 2, 3, 3, 3],
            [4, 5, 6, 6, 6],
            [4, 5, 6, 6, 6],
            [4, 5, 6, 6, 6],
          ],
        ],
        reflect: [
          "f32[4,6]",
          [
            [6, 5, 4, 5, 6, 5],
            [3, 2, 1, 2, 3, 2],
            [6, 5, 4, 5, 6, 5],
            [3, 2, 1, 2, 3, 2],
          ],
        ],
        reflectFar: ["f32[14]", [2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1]],
        symmetric: ["f32[9]", [3, 3, 2, 1, 1, 2, 3, 3, 2]],
        wrap: ["f32[12]", [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2]],
        one: ["f32[5]", [1, 1, 1, 1, 1]],
      },
    );
  });

  it("sends gradients of repeated elements back to where they came from", () => {
    const slope = (mode: np.PadMode) => (v: Value) =>
      grad((w: Value) => np.sum(np.multiply(np.pad(w, [2, 3], { mode }), np.arange(8, { dtype: "f32" }))))(v);
    expectAll(
      evaluate(
        engine,
        (v) => ({ edge: slope("edge")(v), reflect: slope("reflect")(v), constant: slope("constant")(v) }),
        [1, 2, 3],
      ),
      { edge: ["f32[3]", [3, 3, 22]], reflect: ["f32[3]", [8, 16, 4]], constant: ["f32[3]", [2, 3, 4]] },
    );
  });
});

it("pad names widths and axes that do not fit, and unknown modes", () => {
  const error = errorOf((a) => np.pad(a, [[1, 1]]), [[1]]);
  expect(error.code).toBe("ARGUMENT_INVALID");
  expect(error.message).toContain("pad: the widths [[1,1]] do not fit the 2 axes of [1, 1]");
  expect(error.at).toContain("padding.test.ts");
  expect(errorOf((a) => np.pad(a, -1), [1]).code).toBe("ARGUMENT_INVALID");
  expect(errorOf((a) => np.pad(a, 1, { mode: "mirror" as "edge" }), [1]).message).toContain(
    'no mode "mirror"',
  );
  expect(errorOf(() => np.pad(np.zeros([0]), 1, { mode: "edge" })).message).toContain(
    "axis 0 of [0] is empty",
  );
});
