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
  return { at: () => value, units: [], describe: () => `constant ${value}` };
}

/**
 * Whether something is a ramp. Its `at` alone does not tell: texts and lists have one, too.
 *
 * @example
 * ```ts
 * isRamp(linear({ from: 1, to: 0, over: { updates: 1000 } })); // true
 * isRamp([0.1, 0.01]); // false
 * ```
 */
export function isRamp(value: unknown): value is Ramp {
  const { at, describe } = (value ?? {}) as Partial<Ramp>;
  return typeof at === "function" && typeof describe === "function";
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
  if (isRamp(value)) return value;
  throw badOption(
    "asRamp",
    `${shown(value)} is neither a number nor a ramp`,
    "give a number, or a ramp such as linear({ from: 1, to: 0, over: { updates: 1000 } })",
  );
}
