import { customGradient, grad, remat, scan, stopGradient, type Value, vmap } from "../../index.ts";
import { type Dense, dense, expectAllSame } from "../dense.test-support.ts";
import { add, applyRow, constant, less, like, mul, sin, tanh, total } from "../run.test-support.ts";
import type { Check } from "./index.test-support.ts";

const f32 = (...data: number[]): Dense => dense("f32", [data.length], data);
const xs = f32(0.5, -1, 2);
const ws = f32(1.5, 0.3, -0.7);
const close = { floor: 0.1 };
const both = { argnums: [0, 1] } as const;

/** A block with something from outside, once as it is and once computed again on the way back. */
function losses(w: Value): readonly ((x: Value) => Value)[] {
  const plain = (x: Value) => tanh(mul(sin(mul(x, w)), x));
  return [plain, remat(plain)];
}

const sameAsPlain =
  (
    name: string,
    transform: (loss: (x: Value, w: Value) => Value) => (x: Value, w: Value) => readonly Value[],
  ): Check =>
  async ({ run }) => {
    const results = await run(
      (x, w) =>
        [0, 1].flatMap((i) => transform((v, u) => total((losses(u)[i] as (x: Value) => Value)(v)))(x, w)),
      xs,
      ws,
    );
    const half = results.length / 2;
    expectAllSame(name, results.slice(half), results.slice(0, half), close);
  };

const insideScan: Check = async ({ run }) => {
  const loss = (i: number) => (x: Value, w: Value) =>
    total(
      scan((c: Value) => [(losses(w)[i] as (x: Value) => Value)(c), null], x, undefined, { length: 3 })[0],
    );
  const results = await run((x, w) => [0, 1].flatMap((i) => [...grad(loss(i), both)(x, w)]), xs, ws);
  expectAllSame("remat inside a scan", results.slice(2), results.slice(0, 2), close);
};

/** A function with a derivative that is none of its own: three times the cotangent, and the argument. */
const odd = customGradient(
  (x: Value, w: Value) => mul(x, sin(w)),
  ([x, w], y, ct) => [mul(ct, like(x, 3)), mul(ct, add(y, w))],
);
const byRule = (x: readonly number[], w: readonly number[]): readonly Dense[] => [
  f32(...x.map((v, i) => v * Math.sin(w[i] as number))),
  f32(...x.map(() => 3)),
  f32(...x.map((v, i) => v * Math.sin(w[i] as number) + (w[i] as number))),
];

const customRule: Check = async ({ run }) => {
  const sum = (x: Value, w: Value) => total(odd(x, w));
  const results = await run(
    (x, w) => [
      odd(x, w),
      ...grad(sum, both)(x, w),
      vmap(odd)(x, w),
      ...vmap((v: Value, u: Value) => grad(odd, both)(v, u))(x, w),
      odd(x, w),
      ...grad((v: Value, u: Value) => total(vmap(odd)(v, u)), both)(x, w),
    ],
    xs,
    ws,
  );
  const expected = byRule(xs.data, ws.data);
  expectAllSame(
    "customGradient, alone and under vmap",
    results,
    [...expected, ...expected, ...expected],
    close,
  );
};

/** The rule's own derivative is that of what it computes. */
const customTwice: Check = async ({ run }) => {
  const square = customGradient(
    (x: Value) => mul(x, x),
    ([x], _y, ct) => [mul(ct, mul(x, mul(x, x)))],
  );
  const results = await run(
    (x) => [grad((v: Value) => total(grad((u: Value) => total(square(u)))(v)))(x)],
    xs,
  );
  expectAllSame(
    "second derivative through customGradient",
    results,
    [f32(...xs.data.map((x) => 3 * x * x))],
    close,
  );
};

const stopped: Check = async ({ run }) => {
  const loss = (x: Value) => total(mul(x, stopGradient(mul(x, x))));
  const results = await run((x) => [grad(loss)(x), grad((v: Value) => total(mul(v, grad(loss)(v))))(x)], xs);
  // x^2 counts as constant in the first derivative; as a value of its own it has a derivative again.
  expectAllSame(
    "stopGradient",
    results,
    [f32(...xs.data.map((x) => x * x)), f32(...xs.data.map((x) => x * x))],
    close,
  );
};

/** The row passes its last input on, with the derivative the rule gives. */
const ownFormula: Check = async ({ run }) => {
  const rule = (ct: Value, [x]: readonly Value[], y: Value) => [mul(ct, add(x as Value, y))];
  const fn = (x: Value) => applyRow("withDerivative", [x, sin(x)], { rule })[0] as Value;
  const results = await run(
    (x) => [fn(x), grad((v: Value) => total(fn(v)))(x), vmap(fn)(x), vmap((v: Value) => grad(fn)(v))(x)],
    xs,
  );
  const sines = f32(...xs.data.map(Math.sin));
  const slopes = f32(...xs.data.map((x) => x + Math.sin(x)));
  expectAllSame("withDerivative", results, [sines, slopes, sines, slopes], close);
};

export const callChecks: Readonly<Record<string, Check>> = {
  "remat: gradients of the plain function": sameAsPlain("gradient under remat", (loss) => (x, w) => [
    loss(x, w),
    ...grad(loss, both)(x, w),
  ]),
  "remat: second derivatives of the plain function": sameAsPlain(
    "second derivative under remat",
    (loss) => (x, w) => [
      ...grad(
        (v: Value, u: Value) =>
          grad(loss, both)(v, u)
            .map((g) => total(mul(g, g)))
            .reduce(add),
        both,
      )(x, w),
    ],
  ),
  "remat: under vmap": sameAsPlain("vmap of a gradient under remat", (loss) => (x, w) => [
    ...vmap((v: Value, u: Value) => grad(loss, both)(v, u))(x, w),
    ...vmap((v: Value) => grad(loss, both)(v, like(v, 0.7)))(x),
  ]),
  "remat: inside a scan": insideScan,
  "customGradient: the rule given, alone and under vmap": customRule,
  "customGradient: derivatives of the rule": customTwice,
  "stopGradient: a constant for derivatives": stopped,
  "withDerivative: the formula given": ownFormula,
};

const select = (condition: Value, x: Value, y: Value): Value =>
  applyRow("select", [condition, x, y])[0] as Value;
const bit = (x: Value, k: number): Value =>
  less(like(x, 0), applyRow("and", [x, like(x, 2 ** k)])[0] as Value);

/** Powers by squaring: every step uses the one before twice, so that written out it would be 2^30 long. */
const doubling: Check = async ({ run }) => {
  const results = await run(
    (base, exponent) => {
      let [factor, power] = [base, like(base, 1)];
      for (let k = 0; k < 30; k++) {
        power = select(bit(exponent, k), mul(power, factor), power);
        factor = mul(factor, factor);
      }
      return [power];
    },
    dense("i32", [4], [3, -2, 7, 10]),
    dense("i32", [4], [13, 31, 0, 9]),
  );
  expectAllSame("powers by squaring", results, [dense("i32", [4], [1594323, -2147483648, 1, 1000000000])]);
};

/** A long chain with its gradient, as a loop written out gives it. */
const long: Check = async ({ run }) => {
  const steps = 60;
  const chain = (x: Value): Value => {
    let y = x;
    for (let k = 0; k < steps; k++) y = add(mul(y, constant(0.5, "f32", y.shape)), sin(y));
    return y;
  };
  const xs = [0.3, -1, 2];
  const byHand = xs.map((x) => {
    let [y, slope] = [x, 1];
    for (let k = 0; k < steps; k++) [y, slope] = [y / 2 + Math.sin(y), slope * (0.5 + Math.cos(y))];
    return [y, slope] as const;
  });
  const results = await run((x) => [chain(x), grad((v: Value) => total(chain(v)))(x)], dense("f32", [3], xs));
  const expected = [0, 1].map((k) =>
    dense(
      "f32",
      [3],
      byHand.map((pair) => pair[k] as number),
    ),
  );
  expectAllSame("a long chain", results, expected, { tolerance: 1e-4, floor: 0.1 });
};

export const chainChecks: Readonly<Record<string, Check>> = {
  "steps that use the step before twice": doubling,
  "sixty steps and their gradient": long,
};
