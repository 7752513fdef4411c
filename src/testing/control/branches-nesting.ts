import type { Value } from "../../engine/index.ts";
import { cond, grad, scan, switchBranch, vmap } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import { dense } from "../dense.ts";
import { add, constant, greater, like, mul } from "../math.ts";
import { f32, scalar, value } from "./branches.ts";
import type { Check } from "./setting.ts";

const close = { floor: 0.1 };

const byNumber: Check = async ({ compiled, run }) => {
  const pick = (i: Value, x: Value) =>
    switchBranch(i, [(v: Value) => v, (v: Value) => add(v, v), (v: Value) => mul(v, v)], x);
  const single = compiled((i, x) => [pick(i, x), grad((v: Value) => pick(i, v))(x)]);
  const expected: readonly (readonly [number, number, number])[] = [
    [-2, 5, 1],
    [0, 5, 1],
    [1, 10, 2],
    [2, 25, 10],
    [7, 25, 10],
  ];
  for (const [i, y, slope] of expected)
    expectAllSame(`switch by ${i}`, await single(dense("i32", [], [i]), scalar(5)), [
      scalar(y),
      scalar(slope),
    ]);
  const all = await run(
    (i, x) => [vmap(pick, { inAxes: [0, null] })(i, x)],
    dense(
      "i32",
      [5],
      expected.map(([i]) => i),
    ),
    scalar(5),
  );
  expectAllSame("vmap of switch", all, [f32(...expected.map(([, y]) => y))]);
};

const nested: Check = async ({ compiled }) => {
  const fn = (x: Value, w: Value) =>
    cond(
      greater(w, like(w, 0)),
      () => mul(value(x, w), w),
      () => value(mul(x, w), like(w, 1)),
    );
  const run = compiled((x, w) => [fn(x, w), ...grad(fn, { argnums: [0, 1] })(x, w)]);
  const expected: readonly (readonly [x: number, w: number, ...results: number[]])[] = [
    [2, 3, 36, 36, 24],
    [-1, 3, 3 * Math.sin(-1), 3 * Math.cos(-1), Math.sin(-1)],
    [-1, -2, 4, -8, -4],
    [0.5, -2, Math.sin(-1), -2 * Math.cos(1), 0.5 * Math.cos(1)],
  ];
  for (const [x, w, ...results] of expected)
    expectAllSame(
      `cond inside cond at ${x}, ${w}`,
      await run(scalar(x), scalar(w)),
      results.map(scalar),
      close,
    );
};

const insideScan: Check = async ({ run }) => {
  const loss = (w: Value, xs: Value) =>
    scan(
      (c: Value, x: Value) => [
        cond(
          greater(x, like(x, 0)),
          () => mul(c, w),
          () => add(c, mul(w, x)),
        ),
        null,
      ],
      constant(1, "f32"),
      xs,
    )[0];
  const results = await run(
    (w, xs) => [loss(w, xs), ...grad(loss, { argnums: [0, 1] })(w, xs)],
    scalar(3),
    f32(1, -2, 1),
  );
  // (w - 2 w) w = -w^2, and by the second slice w * w.
  expectAllSame("cond inside scan", results, [scalar(-9), scalar(-6), f32(0, 9, 0)]);
};

export const branchNestingChecks: Readonly<Record<string, Check>> = {
  "switch: by number, the nearest branch out of range": byNumber,
  "cond: one inside another": nested,
  "cond: inside a scan, with derivatives": insideScan,
};
