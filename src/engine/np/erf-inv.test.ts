import { describe, expect, it } from "vitest";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { grad } from "../transform/grad.ts";
import { vmap } from "../transform/vmap.ts";
import { evaluate, expectAll } from "./evaluate.test-support.ts";
import * as np from "./index.ts";

// Expected numbers: jax.scipy.special.erfinv 0.10.2.
const slope =
  (f: (x: Value) => Value) =>
  (x: Value): Value =>
    grad((v: Value) => np.sum(f(v)))(x);

describe.each(testEngines())("erfInv on %s", (engine) => {
  const tolerance = engine === "wasm" ? 1e-6 : 1e-7;

  it("gives JAX's numbers, infinite at the ends", () => {
    expectAll(
      evaluate(engine, (x) => ({ y: np.erfInv(x) }), [0, 0.0001, 0.1, -0.5, 0.9, 0.99, 0.999999, -1, 1, 1.5]),
      {
        y: [
          "f32[10]",
          [
            0,
            8.8622684e-5,
            0.08885599,
            -0.47693628,
            1.163087,
            1.8213867,
            3.4570746,
            -Infinity,
            Infinity,
            Number.NaN,
          ],
        ],
      },
      tolerance,
    );
  });

  it("has the derivative of the inverse, twice over, at 0 and in a batch too", () => {
    expectAll(
      evaluate(
        engine,
        (x) => ({
          first: slope(np.erfInv)(x),
          second: slope(slope(np.erfInv))(x),
          batched: vmap((v: Value) => grad((w: Value) => np.sum(np.square(np.erfInv(w))))(v))(x),
        }),
        [0, 0.0001, 0.1, -0.5, 0.9, 0.99],
      ),
      {
        first: ["f32[6]", [0.88622695, 0.88622695, 0.8932517, 1.112585, 3.428042, 24.450909]],
        second: ["f32[6]", [0, 0.00013920819, 0.14179614, -1.1807466, 27.335968, 2177.821]],
        batched: ["f32[6]", [0, 0.00015707962, 0.15874153, -1.0612643, 7.974222, 89.06912]],
      },
      1e-6,
    );
  });

  if (engine === "xla") {
    it("gives the same bits as JAX", () => {
      const { y } = evaluate(
        engine,
        (x) => ({ y: np.erfInv(x) }),
        [0, 0.0001, 0.1, -0.5, 0.9, 0.99, 0.999999, -1, 1, 1.5],
      );
      expect((y.value as number[]).map((n) => Math.fround(n))).toEqual(
        [
          0,
          8.8622684e-5,
          0.08885599,
          -0.47693628,
          1.163087,
          1.8213867,
          3.4570746,
          -Infinity,
          Infinity,
          Number.NaN,
        ].map((n) => Math.fround(n)),
      );
    });

    it("has the digits of f64, and computes 16-bit floats in f32", () => {
      // The same by JAX in f64.
      const points = [0, 0.1, -0.5, 0.99, 0.999999, 1 - 1e-10, 1 - 1e-14];
      const expected = [
        0, 0.08885599049425769, -0.47693627620446977, 1.8213863677184494, 3.4589107372739605,
        4.57282495853958, 5.4725525174145355,
      ];
      expectAll(
        evaluate(
          engine,
          (x, h) => ({ y: np.erfInv(x), h: np.erfInv(h) }),
          put(new Float64Array(points), { engine }),
          put([0.5, 1], { engine, dtype: "bf16" }),
        ),
        { y: ["f64[7]", expected], h: ["bf16[2]", [0.4765625, Infinity]] },
        1e-11,
      );
    });
  }
});
