import { badOption, shown } from "../core/index.ts";
import { checkNumber } from "./options.ts";
import type { Ramp } from "./ramp.ts";

/**
 * Always the same number.
 *
 * @example
 * ```ts
 * constant(0.2).at(counters); // 0.2
 * ```
 */
export function constant(value: number): Ramp {
  checkNumber("constant", "the value", value);
  return { at: () => value, describe: () => `constant ${value}` };
}

/**
 * A number as a ramp; a ramp as it is. For options that take either.
 *
 * @example
 * ```ts
 * const rate = asRamp(options.learningRate ?? 1e-3);
 * ```
 */
export function asRamp(value: number | Ramp): Ramp {
  if (typeof value === "number") return constant(value);
  if (typeof value?.at === "function" && typeof value.describe === "function") return value;
  throw badOption(
    "asRamp",
    `${shown(value)} is neither a number nor a ramp`,
    "give a number, or a ramp such as linear({ from: 1, to: 0, over: { updates: 1000 } })",
  );
}
