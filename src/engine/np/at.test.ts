import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { errorOf, evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.numpy 0.10.2.
const m = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [9, 10, 11, 12],
];

describe.each(testEngines())("at on %s", (engine) => {
  const integers = (data: number[] | number[][]) => put(data, { engine, dtype: "i32" });

  it("changes places known while tracing", () => {
    expectAll(
      evaluate(
        engine,
        (a) => ({
          row: np.at(a, 0).set(7),
          last: np.at(a, -1).add(np.slice(a, 0)),
          element: np.at(a, [1, 2]).multiply(10),
          range: np.at(a, ["1:", [0, 2]]).set(0),
          steps: np.at(a, [":", "::2"]).set(np.array([[1], [2], [3]])),
          backwards: np.at(a, "::-1").set(a),
          addSteps: np.at(a, ["::2", 1]).add(100),
          max: np.at(a, [1]).max(6.5),
          min: np.at(a, "0:2").min(3),
          added: np.at(a, [null, 1]).set(np.zeros([1, 4])),
          none: np.at(a, "1:1").set(9),
          get: np.at(a, [0, "1:3"]).get(),
        }),
        m,
      ),
      {
        row: [
          "f32[3,4]",
          [
            [7, 7, 7, 7],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        last: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
            [10, 12, 14, 16],
          ],
        ],
        element: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 6, 70, 8],
            [9, 10, 11, 12],
          ],
        ],
        range: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [0, 0, 7, 8],
            [0, 0, 11, 12],
          ],
        ],
        steps: [
          "f32[3,4]",
          [
            [1, 2, 1, 4],
            [2, 6, 2, 8],
            [3, 10, 3, 12],
          ],
        ],
        backwards: [
          "f32[3,4]",
          [
            [9, 10, 11, 12],
            [5, 6, 7, 8],
            [1, 2, 3, 4],
          ],
        ],
        addSteps: [
          "f32[3,4]",
          [
            [1, 102, 3, 4],
            [5, 6, 7, 8],
            [9, 110, 11, 12],
          ],
        ],
        max: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [6.5, 6.5, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        min: [
          "f32[3,4]",
          [
            [1, 2, 3, 3],
            [3, 3, 3, 3],
            [9, 10, 11, 12],
          ],
        ],
        added: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [0, 0, 0, 0],
            [9, 10, 11, 12],
          ],
        ],
        none: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        get: ["f32[2]", [2, 3]],
      },
    );
  });

  it("changes places that traced indices name; repeated ones all count, the last stays", () => {
    expectAll(
      evaluate(
        engine,
        (a, i, j, u) => ({
          set: np.at(a, i).set(u),
          add: np.at(a, i).add(1),
          multiply: np.at(a, i).multiply(u),
          max: np.at(a, i).max(u),
          min: np.at(a, [i, j]).min(0),
          pairs: np.at(a, [i, j]).add(np.array([1, 2, 3])),
          columns: np.at(a, [":", j]).add(np.array([1, 10, 100])),
          mixed: np.at(a, [i, "1:3"]).add(1),
          number: np.at(a, [0, j]).multiply(2),
          get: np.at(a, [i, j]).get(),
        }),
        m,
        integers([0, 2, 0]),
        integers([1, 1, -1]),
        [
          [10, 20, 30, 40],
          [50, 60, 70, 80],
          [90, 100, 110, 120],
        ],
      ),
      {
        set: [
          "f32[3,4]",
          [
            [90, 100, 110, 120],
            [5, 6, 7, 8],
            [50, 60, 70, 80],
          ],
        ],
        add: [
          "f32[3,4]",
          [
            [3, 4, 5, 6],
            [5, 6, 7, 8],
            [10, 11, 12, 13],
          ],
        ],
        multiply: [
          "f32[3,4]",
          [
            [900, 4000, 9900, 19200],
            [5, 6, 7, 8],
            [450, 600, 770, 960],
          ],
        ],
        max: [
          "f32[3,4]",
          [
            [90, 100, 110, 120],
            [5, 6, 7, 8],
            [50, 60, 70, 80],
          ],
        ],
        min: [
          "f32[3,4]",
          [
            [1, 0, 3, 0],
            [5, 6, 7, 8],
            [9, 0, 11, 12],
          ],
        ],
        pairs: [
          "f32[3,4]",
          [
            [1, 3, 3, 7],
            [5, 6, 7, 8],
            [9, 12, 11, 12],
          ],
        ],
        columns: [
          "f32[3,4]",
          [
            [1, 13, 3, 104],
            [5, 17, 7, 108],
            [9, 21, 11, 112],
          ],
        ],
        mixed: [
          "f32[3,4]",
          [
            [1, 4, 5, 4],
            [5, 6, 7, 8],
            [9, 11, 12, 12],
          ],
        ],
        number: [
          "f32[3,4]",
          [
            [1, 8, 3, 8],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        get: ["f32[3]", [2, 10, 4]],
      },
    );
  });

  it("changes one traced place, dropping updates out of range", () => {
    expectAll(
      evaluate(
        engine,
        (a, k, far) => ({
          set: np.at(a, k).set(0),
          add: np.at(a, [k, k]).add(0.5),
          max: np.at(a, [":", k]).max(5),
          ranged: np.at(a, [k, "1:3"]).set(np.array([7, 8])),
          outside: np.at(a, far).set(0),
          dropped: np.at(a, np.array([1, 7, -9], { dtype: "i32" })).add(100),
          droppedMax: np.at(a, np.array([1, 7, -9], { dtype: "i32" })).max(100),
          droppedPair: np
            .at(a, [np.array([0, 0], { dtype: "i32" }), np.array([1, 4], { dtype: "i32" })])
            .set(100),
          clamped: np.at(a, far).get(),
        }),
        m,
        put(new Int32Array([1]), { engine, shape: [] }),
        put(new Int32Array([5]), { engine, shape: [] }),
      ),
      {
        set: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [0, 0, 0, 0],
            [9, 10, 11, 12],
          ],
        ],
        add: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 6.5, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        max: [
          "f32[3,4]",
          [
            [1, 5, 3, 4],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        ranged: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 7, 8, 8],
            [9, 10, 11, 12],
          ],
        ],
        outside: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        dropped: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [105, 106, 107, 108],
            [9, 10, 11, 12],
          ],
        ],
        droppedMax: [
          "f32[3,4]",
          [
            [1, 2, 3, 4],
            [100, 100, 100, 100],
            [9, 10, 11, 12],
          ],
        ],
        droppedPair: [
          "f32[3,4]",
          [
            [1, 100, 3, 4],
            [5, 6, 7, 8],
            [9, 10, 11, 12],
          ],
        ],
        clamped: ["f32[4]", [9, 10, 11, 12]],
      },
    );
  });

  it("keeps the value's element type", () => {
    expectAll(
      evaluate(
        engine,
        (i, b) => ({
          integer: np.at(i, 0).set(9),
          counted: np.at(i, i).add(1),
          truth: np.at(b, 1).set(true),
          traced: np.at(b, np.slice(i, [0, 1])).set(false),
          converted: np.at(np.astype(i, "f32"), 0).add(np.slice(i, 1)),
        }),
        integers([1, 2, 1]),
        put([true, false, true], { engine }),
      ),
      {
        integer: ["i32[3]", [9, 2, 1]],
        counted: ["i32[3]", [1, 4, 2]],
        truth: ["bool[3]", [true, true, true]],
        traced: ["bool[3]", [true, false, true]],
        converted: ["f32[3]", [3, 2, 1]],
      },
    );
  });

  it("has gradients by value and by update", () => {
    const both = (f: (a: Value, u: Value) => Value) => (a: Value, u: Value) => {
      const [da, du] = grad(
        (p: Value, q: Value) => np.sum(np.multiply(np.square(f(p, q)), np.ones([3, 4]))),
        { argnums: [0, 1] },
      )(a, u);
      return { da, du };
    };
    const i = () => np.array([0, 2, 0], { dtype: "i32" });
    const results = evaluate(
      engine,
      (a, u) => {
        const row = both((p, q) => np.at(p, 1).set(np.slice(q, 0)))(a, u);
        const steps = both((p, q) => np.at(p, ["::2"]).add(np.slice(q, "::2")))(a, u);
        const added = both((p, q) => np.at(p, i()).add(q))(a, u);
        const multiplied = both((p, q) => np.at(p, i()).multiply(q))(a, u);
        const one = both((p, q) => np.at(p, np.slice(i(), 1)).multiply(np.slice(q, 1)))(a, u);
        return {
          rowA: row.da,
          rowU: row.du,
          stepsA: steps.da,
          stepsU: steps.du,
          addedA: added.da,
          addedU: added.du,
          multipliedA: multiplied.da,
          multipliedU: multiplied.du,
          oneA: one.da,
          oneU: one.du,
        };
      },
      m,
      [
        [10, 20, 30, 40],
        [50, 60, 70, 80],
        [90, 100, 110, 120],
      ],
    );
    expectAll(results, {
      rowA: [
        "f32[3,4]",
        [
          [2, 4, 6, 8],
          [0, 0, 0, 0],
          [18, 20, 22, 24],
        ],
      ],
      rowU: [
        "f32[3,4]",
        [
          [20, 40, 60, 80],
          [0, 0, 0, 0],
          [0, 0, 0, 0],
        ],
      ],
      stepsA: [
        "f32[3,4]",
        [
          [22, 44, 66, 88],
          [10, 12, 14, 16],
          [198, 220, 242, 264],
        ],
      ],
      stepsU: [
        "f32[3,4]",
        [
          [22, 44, 66, 88],
          [0, 0, 0, 0],
          [198, 220, 242, 264],
        ],
      ],
      addedA: [
        "f32[3,4]",
        [
          [202, 244, 286, 328],
          [10, 12, 14, 16],
          [118, 140, 162, 184],
        ],
      ],
      addedU: [
        "f32[3,4]",
        [
          [202, 244, 286, 328],
          [118, 140, 162, 184],
          [202, 244, 286, 328],
        ],
      ],
      multipliedA: [
        "f32[3,4]",
        [
          [1620000, 16000000, 65340000, 184320000],
          [10, 12, 14, 16],
          [45000, 72000, 107800, 153600],
        ],
      ],
      multipliedU: [
        "f32[3,4]",
        [
          [162000, 1600000, 6534000, 18432000],
          [8100, 12000, 16940, 23040],
          [18000, 320000, 1782000, 6144000],
        ],
      ],
      oneA: [
        "f32[3,4]",
        [
          [2, 4, 6, 8],
          [10, 12, 14, 16],
          [45000, 72000, 107800, 153600],
        ],
      ],
      oneU: [
        "f32[3,4]",
        [
          [0, 0, 0, 0],
          [8100, 12000, 16940, 23040],
          [0, 0, 0, 0],
        ],
      ],
    });
  });
});

describe("errors of at", () => {
  it("name the place's and the update's shape", () => {
    const error = errorOf((a) => np.at(a, 0).set(np.ones([3])), [[1, 2]]);
    expect(error.code).toBe("SHAPE_MISMATCH");
    expect(error.message).toContain("at.set: shapes [2] and [3] do not broadcast");
    expect(error.at).toContain("at.test.ts");
    expect(errorOf((a) => np.at(a, [0, 0]).add(np.ones([3])), [[1, 2]]).message).toContain(
      "at.add: the update has shape [3] and the place []",
    );
  });

  it("refuse fractions in integers and arithmetic of truths", () => {
    const error = errorOf((a) => np.at(np.astype(a, "i32"), 0).add(0.5), [1]);
    expect(error.code).toBe("DTYPE_MISMATCH");
    expect(error.message).toContain("at.add: the update is 0.5 and the value is i32[1]");
    expect(errorOf((a) => np.at(np.greater(a, 0), 0).add(true), [1]).fix).toContain("logicalOr");
    expect(errorOf((a) => np.at(a, [0, 1]).get(), [1]).message).toContain("at: 2 indices");
  });
});
