import type { Value } from "../../engine/index.ts";
import { scan, vmap, whileLoop } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { dense, unstacked } from "../dense.ts";
import { add, constant, less, mul } from "../math.ts";
import type { Check } from "./setting.ts";

/** Multiplies until a limit, counting. */
const grow = (x: Value, by: Value, limit: Value): readonly [Value, Value] =>
  whileLoop(
    ([v]: readonly [Value, Value]) => less(v, limit),
    ([v, n]) => [mul(v, by), add(n, constant(1, "i32"))] as const,
    [x, constant(0, "i32")] as const,
  );

function growByHand(x: number, by: number, limit: number): readonly Dense[] {
  let [v, n] = [Math.fround(x), 0];
  while (v < limit) [v, n] = [Math.fround(v * by), n + 1];
  return [dense("f32", [], [v]), dense("i32", [], [n])];
}

const f32 = (...data: number[]): Dense => dense("f32", data.length === 1 ? [] : [data.length], data);

const values: Check = async ({ compiled }) => {
  const run = compiled((x, by, limit) => grow(x, by, limit));
  for (const [x, by, limit] of [
    [1, 2, 100],
    [3, 1.5, 20],
    [5, 2, 5],
  ] as const)
    expectAllSame(
      `whileLoop from ${x} by ${by} to ${limit}`,
      await run(f32(x), f32(by), f32(limit)),
      growByHand(x, by, limit),
    );
};

const mapped: Check = async ({ run }) => {
  const inputs = [
    [1, 3],
    [2, 1.5],
    [100, 2],
  ] as const;
  for (let bits = 1; bits < 8; bits++) {
    const is = (i: number) => ((bits >> i) & 1) === 1;
    const given = inputs.map((pair, i) => (is(i) ? f32(...pair) : f32(pair[0])));
    const inAxes = inputs.map((_, i) => (is(i) ? 0 : null));
    const results = await run((x, by, limit) => vmap(grow, { inAxes })(x, by, limit), ...given);
    for (const e of [0, 1]) {
      const [x, by, limit] = inputs.map((pair, i) => (is(i) ? pair[e] : pair[0])) as [number, number, number];
      const parts = results.map((result) => unstacked(result)[e] as Dense);
      const name = `vmap of whileLoop over ${inputs.map((_, i) => (is(i) ? "x" : "-")).join("")}, example ${e}`;
      expectAllSame(name, parts, growByHand(x, by, limit));
    }
  }
};

const insideScan: Check = async ({ run }) => {
  const results = await run(
    (xs) =>
      scan(
        (c: Value, x: Value) => [add(c, x), [...grow(x, constant(2, "f32"), c)]],
        constant(4, "f32"),
        xs,
      )[1],
    f32(1, 3, 10),
  );
  const expected = [growByHand(1, 2, 4), growByHand(3, 2, 5), growByHand(10, 2, 8)];
  expectAllSame("whileLoop inside scan", results, [
    dense(
      "f32",
      [3],
      expected.map(([v]) => v?.data[0] as number),
    ),
    dense(
      "i32",
      [3],
      expected.map(([, n]) => n?.data[0] as number),
    ),
  ]);
};

export const whileChecks: Readonly<Record<string, Check>> = {
  "goes on while the condition holds, perhaps not once": values,
  "under vmap, examples ending at different times": mapped,
  "inside a scan": insideScan,
};
