import { didYouMean, shown } from "../../core/index.ts";
import { checkAxis } from "../ops/rules.ts";
import { reshape } from "../ops/shape.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";

/** One axis or several; negative ones count from the end. */
export type Axis = number | readonly number[];

/** The axes a function works along. Default: all of them. */
export interface AxisOptions {
  readonly axis?: Axis | undefined;
}

/** Options of functions that reduce axes. */
export interface ReduceOptions extends AxisOptions {
  /** Leaves reduced axes in place with length 1. */
  readonly keepdims?: boolean | undefined;
}

export const range = (n: number, from = 0): number[] => Array.from({ length: n }, (_, i) => from + i);

/** The named axes, counted from the front and in order; all where none is named. */
export function axesOf(op: string, axis: Axis | undefined, rank: number): number[] {
  if (axis === undefined) return range(rank);
  const axes = (typeof axis === "number" ? [axis] : axis).map((a) => checkAxis(op, a, rank));
  const twice = axes.find((a, i) => axes.indexOf(a) !== i);
  if (twice !== undefined)
    throw userError("AXIS_REPEATED", `${op}: axis ${twice} is named twice`, "name every axis once");
  return axes.sort((a, b) => a - b);
}

/** Puts reduced axes back with length 1, where asked. */
export function keeping(y: Value, x: Value, axes: readonly number[], options: ReduceOptions): Value {
  return options.keepdims
    ? reshape(
        y,
        x.shape.map((n, i) => (axes.includes(i) ? 1 : n)),
      )
    : y;
}

/** Refuses options a function does not have, and what are no options at all. */
export function checkOptions(op: string, options: object, known: readonly string[]): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw badOption(op, `its options are ${shown(options)}`, `give an object: { ${known[0]}: ... }`);
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw userError(
        "OPTION_UNKNOWN",
        `${op}: there is no option "${name}"${didYouMean(name, known)}`,
        `the options of ${op} are ${known.join(", ")}`,
      );
}

/** An error about the value of an option. */
export const badOption = (op: string, what: string, fix: string) =>
  userError("OPTION_INVALID", `${op}: ${what}`, fix);

/** Refuses a word an option does not know. */
export function oneOf<T extends string>(op: string, option: string, given: unknown, known: readonly T[]): T {
  const found = known.find((word) => word === given);
  if (found !== undefined) return found;
  const hint = typeof given === "string" ? didYouMean(given, known) : "";
  throw badOption(op, `${option} cannot be ${JSON.stringify(given)}${hint}`, `use ${known.join(", ")}`);
}

/** One whole number from 1 on for each of `n` spatial axes, from one for all or a list. */
export function perAxis(
  op: string,
  option: string,
  given: number | readonly number[],
  n: number,
): readonly number[] {
  const list = typeof given === "number" ? Array.from({ length: n }, () => given) : given;
  if (!Array.isArray(list) || list.length !== n || !list.every((v) => Number.isInteger(v) && v >= 1))
    throw badOption(
      op,
      `${option} is ${JSON.stringify(given)}, for ${n} spatial ${n === 1 ? "axis" : "axes"}`,
      `give a whole number from 1 on, or ${n} of them`,
    );
  return list;
}
