import { describe, expect, it } from "vitest";
import { reduceSum } from "../ops/reduce.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import { grad } from "../transform/grad.ts";
import { erfInv } from "./erf-inv.ts";
import { difference, evaluate } from "./evaluate.test-support.ts";

describe.each(testEngines())("erfInv on %s", (engine) => {
  it("x", () => {
    const x = [0, 0.1, -0.5, 0.9, 0.99, 0.999999, -1, 1, 1.5];
    const r = evaluate(
      engine,
      (x) => ({
        y: erfInv(x),
        g: grad((v) => reduceSum(erfInv(v), [0]))(x),
        h: grad((z) => reduceSum(grad((v) => reduceSum(erfInv(v), [0]))(z), [0]))(x),
      }),
      x,
    );
    console.log(JSON.stringify(r));
    if (engine === "xla") {
      const r2 = evaluate(
        engine,
        (x) => erfInv(x),
        put(new Float64Array([0, 0.1, -0.5, 0.9, 0.99, 0.999999, -1, 1, 1 - 1e-14, 1 - 1e-10]), {
          engine,
          dtype: "f64",
        }),
      );
      console.log(JSON.stringify(r2));
    }
  });
});
