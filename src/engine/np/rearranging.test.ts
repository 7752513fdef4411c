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

describe.each(testEngines())("rearranging on %s", (engine) => {
  it("tiles and repeats", () => {
    expectAll(
      evaluate(
        engine,
        (a, v) => ({
          tile: np.tile(v, 2),
          tileMore: np.tile(v, [2, 3]),
          tileLess: np.tile(a, 2),
          tileNone: np.tile(v, 0),
          repeat: np.repeat(v, 3),
          rows: np.repeat(a, 2, { axis: 0 }),
          columns: np.repeat(a, 2, { axis: -1 }),
          counts: np.repeat(a, [2, 0, 1], { axis: 1 }),
          flat: np.repeat(a, 2),
        }),
        x,
        [1, 2],
      ),
      {
        tile: ["f32[4]", [1, 2, 1, 2]],
        tileMore: [
          "f32[2,6]",
          [
            [1, 2, 1, 2, 1, 2],
            [1, 2, 1, 2, 1, 2],
          ],
        ],
        tileLess: [
          "f32[2,6]",
          [
            [1, 2, 3, 1, 2, 3],
            [4, 5, 6, 4, 5, 6],
          ],
        ],
        tileNone: ["f32[0]", []],
        repeat: ["f32[6]", [1, 1, 1, 2, 2, 2]],
        rows: [
          "f32[4,3]",
          [
            [1, 2, 3],
            [1, 2, 3],
            [4, 5, 6],
            [4, 5, 6],
          ],
        ],
        columns: [
          "f32[2,6]",
          [
            [1, 1, 2, 2, 3, 3],
            [4, 4, 5, 5, 6, 6],
          ],
        ],
        counts: [
          "f32[2,3]",
          [
            [1, 1, 3],
            [4, 4, 6],
          ],
        ],
        flat: ["f32[12]", [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]],
      },
    );
  });

  it("rolls, flips and turns", () => {
    expectAll(
      evaluate(
        engine,
        (a, s) => ({
          roll: np.roll(a, 1),
          back: np.roll(a, -1, { axis: 1 }),
          far: np.roll(a, 7, { axis: 1 }),
          both: np.roll(a, [1, 2], { axis: [0, 1] }),
          traced: np.roll(a, s, { axis: 1 }),
          tracedFlat: np.roll(a, np.negative(s)),
          flip: np.flip(a),
          rows: np.flip(a, { axis: 0 }),
          turn: np.rot90(a),
          half: np.rot90(a, { k: 2 }),
          backTurn: np.rot90(a, { k: -1 }),
          otherPlane: np.rot90(a, { axes: [1, 0] }),
        }),
        x,
        put(new Int32Array([2]), { engine, shape: [] }),
      ),
      {
        roll: [
          "f32[2,3]",
          [
            [6, 1, 2],
            [3, 4, 5],
          ],
        ],
        back: [
          "f32[2,3]",
          [
            [2, 3, 1],
            [5, 6, 4],
          ],
        ],
        far: [
          "f32[2,3]",
          [
            [3, 1, 2],
            [6, 4, 5],
          ],
        ],
        both: [
          "f32[2,3]",
          [
            [5, 6, 4],
            [2, 3, 1],
          ],
        ],
        traced: [
          "f32[2,3]",
          [
            [2, 3, 1],
            [5, 6, 4],
          ],
        ],
        tracedFlat: [
          "f32[2,3]",
          [
            [3, 4, 5],
            [6, 1, 2],
          ],
        ],
        flip: [
          "f32[2,3]",
          [
            [6, 5, 4],
            [3, 2, 1],
          ],
        ],
        rows: [
          "f32[2,3]",
          [
            [4, 5, 6],
            [1, 2, 3],
          ],
        ],
        turn: [
          "f32[3,2]",
          [
            [3, 6],
            [2, 5],
            [1, 4],
          ],
        ],
        half: [
          "f32[2,3]",
          [
            [6, 5, 4],
            [3, 2, 1],
          ],
        ],
        backTurn: [
          "f32[3,2]",
          [
            [4, 1],
            [5, 2],
            [6, 3],
          ],
        ],
        otherPlane: [
          "f32[3,2]",
          [
            [4, 1],
            [5, 2],
            [6, 3],
          ],
        ],
      },
    );
  });

  it("adds the gradients of repetitions", () => {
    expectAll(
      evaluate(
        engine,
        (v) => ({
          tile: grad((w: Value) => np.sum(np.multiply(np.tile(w, 2), np.arange(4, { dtype: "f32" }))))(v),
          repeat: grad((w: Value) => np.sum(np.multiply(np.repeat(w, 2), np.arange(4, { dtype: "f32" }))))(v),
        }),
        [1, 2],
      ),
      { tile: ["f32[2]", [2, 4]], repeat: ["f32[2]", [1, 5]] },
    );
  });
});

it("rearranging refuses counts and shifts that are none", () => {
  expect(errorOf((a) => np.tile(a, -1), [1]).message).toContain("tile: [-1] are no counts");
  const error = errorOf((a) => np.repeat(a, [1, 2], { axis: 0 }), [1, 2, 3]);
  expect(error.message).toContain("repeat: the counts [1, 2] do not fit axis 0 of [3]");
  expect(error.at).toContain("rearranging.test.ts");
  expect(errorOf((a) => np.roll(a, [1, 2], { axis: 0 }), [1]).code).toBe("ARGUMENT_INVALID");
});
