import { describeDifference, sameShape } from "../../core/index.ts";
import { asValue, toI32, type ValueLike } from "../np/operands.ts";
import { convert } from "../ops/convert.ts";
import { emitSwitch } from "../ops/switch.ts";
import { isInteger } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { type Flat, flat, grow, placeText } from "./tree.ts";

function choose<A extends readonly unknown[], R>(
  name: string,
  names: readonly string[],
  index: Value,
  branches: readonly ((...operands: A) => R)[],
  operands: A,
): R {
  let first!: Flat | undefined; // set by the first branch
  const results = emitSwitch(
    index,
    branches.map((branch, k) => () => {
      const result = flat(branch(...operands));
      first ??= result;
      check(name, [names[0], names[k]] as [string, string], first, result);
      return result.values;
    }),
  );
  return grow((first as Flat).shape, results) as R;
}

function check(name: string, [a, b]: readonly [string, string], first: Flat, result: Flat): void {
  const fix = "make all branches return the same tree of the same shapes and element types";
  if (!sameShape(first.shape, result.shape))
    throw userError(
      "BRANCHES_DIFFER",
      `${name}: ${a} and ${b}: ${describeDifference(first.shape, result.shape)}`,
      fix,
    );
  result.values.forEach((value, i) => {
    const other = first.values[i] as Value;
    if (other.type === value.type) return;
    throw userError(
      "BRANCHES_DIFFER",
      `${name}: ${a} gives ${other.type.text}${placeText(first, i)} and ${b} gives ${value.type.text}`,
      fix,
    );
  });
}

/**
 * One of two functions by a traced truth value; only the one taken runs (under `vmap` both, with a choice for each
 * example).
 *
 * @example
 * ```ts
 * const y = cond(np.greater(x, 0), (v: Value) => np.sqrt(v), (v: Value) => np.zerosLike(v), x);
 * ```
 */
export function cond<A extends readonly unknown[], const R>(
  condition: ValueLike,
  whenTrue: (...operands: A) => R,
  whenFalse: (...operands: A) => R,
  ...operands: A
): R {
  const test = asValue(condition);
  if (test.dtype !== "bool" || test.ndim !== 0)
    throw userError(
      "COND_CONDITION",
      `cond: the condition is ${test.type.text}`,
      "give one truth value, or use np.where to choose elementwise",
    );
  return choose("cond", ["whenFalse", "whenTrue"], convert(test, "i32"), [whenFalse, whenTrue], operands);
}

/**
 * One of several functions by a traced whole number; numbers out of range take the nearest.
 *
 * @example
 * ```ts
 * const y = switchBranch(mode, [(v: Value) => v, (v: Value) => np.tanh(v)], x);
 * ```
 */
export function switchBranch<A extends readonly unknown[], const R>(
  index: ValueLike,
  branches: readonly ((...operands: A) => R)[],
  ...operands: A
): R {
  const at = typeof index === "number" ? asValue(index, "i32") : asValue(index);
  if (!isInteger(at.dtype) || at.ndim !== 0)
    throw userError(
      "SWITCH_INDEX",
      `switchBranch: the index is ${at.type.text}`,
      'give one whole number: index.astype("i32")',
    );
  if (branches.length === 0)
    throw userError("SWITCH_INDEX", "switchBranch: there are no branches", "pass at least one function");
  const names = branches.map((_, k) => `branch ${k}`);
  return choose("switchBranch", names, toI32(at), branches, operands);
}
