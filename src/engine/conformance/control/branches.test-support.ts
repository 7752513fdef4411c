import { cond, grad, scan, switchBranch, type Value, vmap } from "../../index.ts";
import { type Dense, dense, expectAllSame } from "../dense.test-support.ts";
import { add, constant, greater, like, mul, sin, total } from "../run.test-support.ts";
import type { Check } from "./index.test-support.ts";

const f32 = (...data: number[]): Dense => dense("f32", [data.length], data);
const scalar = (x: number): Dense => dense("f32", [], [x]);
const close = { floor: 0.1 };

/** x^2 w above 0, sin(x) below, with what it took as a whole number beside it. */
const choose = (x: Value, w: Value): readonly [Value, Value] =>
  cond(
    greater(x, like(x, 0)),
    (v: Value) => [mul(mul(v, v), w), constant(1, "i32")] as const,
    (v: Value) => [sin(v), constant(0, "i32")] as const,
    x,
  );
const value = (x: Value, w: Value): Value => choose(x, w)[0];

const byHand = (x: number, w: number): readonly number[] => (x > 0 ? [x * x * w, 1] : [Math.sin(x), 0]);
const slopes = (x: number, w: number): readonly number[] => (x > 0 ? [2 * x * w, x * x] : [Math.cos(x), 0]);
const bends = (x: number, w: number): number => (x > 0 ? 2 * w : -Math.sin(x));

const taken: Check = async ({ compiled }) => {
  const run = compiled((x, w) => [
    ...choose(x, w),
    ...grad(value, { argnums: [0, 1] })(x, w),
    grad((v: Value) => grad(value)(v, w))(x),
  ]);
  for (const [x, w] of [
    [1.5, 3],
    [-1, 3],
    [0, 2],
  ] as const) {
    const [y, which] = byHand(x, w) as [number, number];
    const results = await run(scalar(x), scalar(w));
    const expected = [scalar(y), dense("i32", [], [which]), ...slopes(x, w).map(scalar), scalar(bends(x, w))];
    expectAllSame(`cond at ${x}: values, first and second derivatives`, results, expected, close);
  }
};

const mapped: Check = async ({ run }) => {
  const [xs, ws] = [
    [1.5, -1, 0.5],
    [3, 2, -1],
  ] as const;
  const at = (f: (x: number, w: number) => number, mapW: boolean) =>
    f32(...xs.map((x, i) => f(x, mapW ? (ws[i] as number) : ws[0])));
  for (const mapW of [true, false]) {
    const results = await run(
      (x, w) => {
        const inAxes = [0, mapW ? 0 : null];
        return [
          ...vmap(choose, { inAxes })(x, w),
          vmap((v: Value, u: Value) => grad(value)(v, u), { inAxes })(x, w),
          grad((v: Value) => total(vmap(value, { inAxes })(v, w)))(x),
        ];
      },
      f32(...xs),
      mapW ? f32(...ws) : scalar(ws[0]),
    );
    const slope = at((x, w) => slopes(x, w)[0] as number, mapW);
    const which = dense(
      "i32",
      [3],
      xs.map((x, i) => byHand(x, ws[i] as number)[1] as number),
    );
    expectAllSame(
      `vmap of cond${mapW ? "" : ", one operand for all"}`,
      results,
      [at((x, w) => byHand(x, w)[0] as number, mapW), which, slope, slope],
      close,
    );
  }
};

/** One condition for all examples: one branch runs. */
const mappedOperands: Check = async ({ compiled }) => {
  const run = compiled((on, xs) => [
    vmap((x: Value) =>
      cond(
        on,
        () => sin(x),
        () => mul(x, x),
      ),
    )(xs),
    vmap((x: Value) =>
      grad((v: Value) =>
        cond(
          on,
          () => sin(v),
          () => mul(v, v),
        ),
      )(x),
    )(xs),
  ]);
  const xs = [1, -2];
  for (const on of [0, 1])
    expectAllSame(
      `vmap of cond with one condition, ${on}`,
      await run(dense("bool", [], [on]), f32(...xs)),
      [f32(...xs.map((x) => (on ? Math.sin(x) : x * x))), f32(...xs.map((x) => (on ? Math.cos(x) : 2 * x)))],
      close,
    );
};

export const branchChecks: Readonly<Record<string, Check>> = {
  "cond: values and derivatives of the branch taken": taken,
  "cond: under vmap, examples taking different branches": mapped,
  "cond: under vmap with one condition for all": mappedOperands,
};

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
