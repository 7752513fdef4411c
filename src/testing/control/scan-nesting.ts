import type { Value } from "../../engine/index.ts";
import { scan, vmap } from "../../engine/index.ts";
import { expectAllSame, expectSame } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { dense, stacked, unstacked, varied } from "../dense.ts";
import { add, constant, mul } from "../math.ts";
import { cell, matrix, rows, vector } from "./scan.ts";
import type { Check } from "./setting.ts";

const mapped: Check = async ({ run, compiled }) => {
  const fn = (c: Value, w: Value, xs: Value) => scan(cell(w), c, xs);
  const single = compiled(fn);
  const inputs = [vector, matrix, rows];
  for (let bits = 1; bits < 8; bits++) {
    const is = (i: number) => ((bits >> i) & 1) === 1;
    const stacks = inputs.map((input, i) => (is(i) ? stacked([input, varied(input, 2)]) : input));
    const inAxes = inputs.map((_, i) => (is(i) ? 0 : null));
    const results = await run((c, w, xs) => vmap(fn, { inAxes })(c, w, xs), ...stacks);
    for (const e of [0, 1]) {
      const one = await single(...inputs.map((input, i) => (is(i) && e === 1 ? varied(input, 2) : input)));
      const name = `vmap of scan over ${inputs.map((_, i) => (is(i) ? "x" : "-")).join("")}, example ${e}`;
      expectAllSame(
        name,
        results.map((result) => unstacked(result)[e] as Dense),
        one,
        { floor: 0.1 },
      );
    }
  }
};

const nested: Check = async ({ run }) => {
  // Every step of the outer loop goes through all slices of the inner one, which captures both carries.
  const [sum, all] = (await run(
    (xs, ys) =>
      scan(
        (c: Value, x: Value) => [
          scan((d: Value, y: Value) => [add(d, mul(mul(x, y), c)), null], c, ys)[0],
          c,
        ],
        constant(1, "f32"),
        xs,
      ),
    dense("f32", [3], [1, -2, 0.5]),
    dense("f32", [2], [1, 0.5]),
  )) as [Dense, Dense];
  // c (1 + 1.5 x), step by step.
  expectSame("nested scan", sum, dense("f32", [], [-8.75]));
  expectSame("nested scan, results", all, dense("f32", [3], [1, 2.5, -5]));
};

export const scanNestingChecks: Readonly<Record<string, Check>> = {
  "under vmap, for each combination of mapped inputs": mapped,
  "one inside another": nested,
};
