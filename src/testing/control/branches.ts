import type { Value } from "../../engine/index.ts";
import { cond, grad, vmap } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { dense } from "../dense.ts";
import { constant, greater, like, mul, sin, total } from "../math.ts";
import type { Check } from "./setting.ts";

export const f32 = (...data: number[]): Dense => dense("f32", [data.length], data);
export const scalar = (x: number): Dense => dense("f32", [], [x]);
const close = { floor: 0.1 };

/** x^2 w above 0, sin(x) below, with what it took as a whole number beside it. */
const choose = (x: Value, w: Value): readonly [Value, Value] =>
  cond(
    greater(x, like(x, 0)),
    (v: Value) => [mul(mul(v, v), w), constant(1, "i32")] as const,
    (v: Value) => [sin(v), constant(0, "i32")] as const,
    x,
  );
export const value = (x: Value, w: Value): Value => choose(x, w)[0];

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
