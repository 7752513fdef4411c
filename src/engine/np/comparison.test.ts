import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.

describe.each(testEngines())("comparison on %s", (engine) => {
  it("compares element by element, NaN with nothing", () => {
    expectAll(
      evaluate(
        engine,
        (x, y) => ({
          equal: np.equal(x, y),
          notEqual: np.notEqual(x, y),
          less: np.less(x, y),
          lessEqual: np.lessEqual(x, y),
          greater: np.greater(x, y),
          greaterEqual: np.greaterEqual(x, y),
          number: np.greater(x, 1),
          truths: np.equal(np.greater(x, 0), true),
          mixed: np.less(np.array([1, 2], { dtype: "i32" }), 1.5),
        }),
        [1, 2, Number.NaN, -0],
        [[1], [0]],
      ),
      {
        equal: [
          "bool[2,4]",
          [
            [true, false, false, false],
            [false, false, false, true],
          ],
        ],
        notEqual: [
          "bool[2,4]",
          [
            [false, true, true, true],
            [true, true, true, false],
          ],
        ],
        less: [
          "bool[2,4]",
          [
            [false, false, false, true],
            [false, false, false, false],
          ],
        ],
        lessEqual: [
          "bool[2,4]",
          [
            [true, false, false, true],
            [false, false, false, true],
          ],
        ],
        greater: [
          "bool[2,4]",
          [
            [false, true, false, false],
            [true, true, false, false],
          ],
        ],
        greaterEqual: [
          "bool[2,4]",
          [
            [true, true, false, false],
            [true, true, false, true],
          ],
        ],
        number: ["bool[4]", [false, true, false, false]],
        truths: ["bool[4]", [true, true, false, false]],
        mixed: ["bool[2]", [true, false]],
      },
    );
  });

  it("compares unsigned numbers as unsigned", () => {
    expectAll(
      evaluate(
        engine,
        (u) => ({ greater: np.greater(u, 1) }),
        put(new Uint32Array([4294967295, 0]), { engine }),
      ),
      { greater: ["bool[2]", [true, false]] },
    );
  });

  it("where broadcasts three ways and promotes", () => {
    expectAll(
      evaluate(
        engine,
        (c, a, i) => ({
          three: np.where(np.slice(c, [0, 1]), a, np.expandDims(a, 1)),
          column: np.where(c, a, 0),
          numbers: np.where(c, 1, 0),
          integer: np.where(np.greater(i, 1), i, 0),
          fractional: np.where(np.greater(i, 1), i, 0.5),
          byNumber: np.where(i, a, -1),
          scalar: np.where(true, a, 0),
          truths: np.where(c, true, false),
        }),
        put([[true], [false]], { engine }),
        [1, 2, 3],
        put(new Int32Array([1, 2, 3]), { engine }),
      ),
      {
        three: [
          "f32[3,3]",
          [
            [1, 2, 3],
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
        column: [
          "f32[2,3]",
          [
            [1, 2, 3],
            [0, 0, 0],
          ],
        ],
        numbers: ["f32[2,1]", [[1], [0]]],
        integer: ["i32[3]", [0, 2, 3]],
        fractional: ["f32[3]", [0.5, 2, 3]],
        byNumber: ["f32[3]", [1, 2, 3]],
        scalar: ["f32[3]", [1, 2, 3]],
        truths: ["bool[2,1]", [[true], [false]]],
      },
    );
  });

  it("where keeps NaN of the untaken side out of the gradient when its argument is chosen too", () => {
    const root = (x: Value) => {
      const safe = np.where(np.greater(x, 0), x, 1);
      return np.where(np.greater(x, 0), np.sqrt(safe), 0);
    };
    const naive = (x: Value) => np.where(np.greater(x, 0), np.sqrt(x), 0);
    expectAll(
      evaluate(
        engine,
        (x) => ({
          safe: grad((v: Value) => np.sum(root(v)))(x),
          naive: grad((v: Value) => np.sum(naive(v)))(x),
        }),
        [0, 4],
      ),
      {
        safe: ["f32[2]", [0, 0.25]],
        naive: ["f32[2]", [Number.NaN, 0.25]],
      },
    );
  });

  it("closeness has tolerances, infinities and NaN", () => {
    expectAll(
      evaluate(
        engine,
        (p, q) => ({
          close: np.isClose(p, q),
          wide: np.isClose(p, q, { rtol: 0.2 }),
          nan: np.isClose(p, q, { equalNan: true }),
          all: np.allClose(np.slice(p, [0, 1]), np.slice(q, [0, 1])),
          notAll: np.allClose(p, q),
        }),
        [1, 1, Infinity, Infinity, Number.NaN, 0],
        [1.000001, 1.1, Infinity, -Infinity, Number.NaN, 1e-9],
      ),
      {
        close: ["bool[6]", [true, false, true, false, false, true]],
        wide: ["bool[6]", [true, true, true, false, false, true]],
        nan: ["bool[6]", [true, false, true, false, true, true]],
        all: ["bool[]", true],
        notAll: ["bool[]", false],
      },
    );
  });
});

it("where names the shapes that do not broadcast", () => {
  const error = errorOf((c, x) => np.where(c, x, 0), [true, false], [1, 2, 3]);
  expect(error.code).toBe("SHAPE_MISMATCH");
  expect(error.message).toContain("where: shapes [2] and [3] do not broadcast");
  expect(error.at).toContain("comparison.test.ts");
});
