import {
  badOption,
  checkOptions as checkTable,
  checkValue,
  EspalierError,
  type Option,
  option,
  shown,
} from "../core/index.ts";
import type { nn as functions, ValueLike } from "../engine/index.ts";
import type { Initializer } from "./initializers.ts";
import type { Layer } from "./model.ts";

export { badOption, checkSize, checkWord } from "../core/index.ts";

/** Refuses options that the table of `kind` does not have, and values that they cannot have. */
export function checkOptions(kind: string, options: object, table: Readonly<Record<string, Option>>): void {
  if (ArrayBuffer.isView(options))
    throw new EspalierError("OPTION_INVALID", `${kind}: a key was given where options stand`, {
      fix: `${kind} makes an initializer: call it, as in { init: ${kind}() }`,
    });
  checkTable(kind, options, table);
}

/** Checks sizes: one whole number from 1 on for all of `n`, or one for each. */
export function checkSizes(kind: string, name: string, given: unknown, n: number): readonly number[] {
  const list = Array.isArray(given) ? (given as readonly unknown[]) : Array.from({ length: n }, () => given);
  if (list.length === n && list.every(row.size.accepts)) return list as readonly number[];
  const fix = n === 1 ? `give ${row.size.is}` : `give ${row.size.is}, or ${n} of them`;
  throw badOption(kind, `${name} is ${shown(given)}`, fix);
}

/** Checks a positional argument: `dropout(rate)`, `constant(value)`. */
export function checkArgument(kind: string, name: string, given: number, row: Option<number>): number {
  checkValue(kind, name, given, row);
  return given;
}

const isFunction = (value: unknown): boolean => typeof value === "function";

/** Rows that the tables of several layers share. */
export const row = {
  size: option.integer({ min: 1 }),
  flag: option.flag({}),
  finite: option.number({}),
  positive: option.number({ above: 0 }),
  notNegative: option.number({ min: 0 }),
  share: option.number({ min: 0, max: 1 }),
  reduction: option.oneOf(["mean", "sum", "none"], {}),
  initializer: option.made<Initializer>("an initializer such as nn.initializers.normal()", isFunction, {}),
  layer: option.made<Layer>(
    "a layer or a function of one value",
    (value) => isFunction(value) || (typeof value === "object" && value !== null),
    {},
  ),
  list: option.made<readonly number[]>("a list of sizes", Array.isArray, {}),
  /** Checked where the number of axes is known: see `checkSizes`. */
  sizes: option.made<number | readonly number[]>("a whole number from 1 on, or a list", () => true, {}),
  /** Checked by the engine's function that takes it, as arrays are. */
  padding: option.made<functions.PaddingOption>('"same", "valid" or numbers', () => true, {}),
  array: option.made<ValueLike>("an array", () => true, {}),
};
