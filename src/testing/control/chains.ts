import type { Value } from "../../engine/index.ts";
import { grad } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import { dense } from "../dense.ts";
import { add, applyRow, constant, less, like, mul, sin, total } from "../math.ts";
import type { Check } from "./setting.ts";

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
