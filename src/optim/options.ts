import { badOption, checkNames, shown } from "../core/index.ts";

export { badOption } from "../core/index.ts";

/** Says what a value should be where it is not that. */
export type Check = (value: unknown) => string | undefined;

const numberWhere =
  (words: string, holds: (x: number) => boolean): Check =>
  (value) =>
    typeof value === "number" && Number.isFinite(value) && holds(value) ? undefined : words;

export const notNegative: Check = numberWhere("a finite number from 0 on", (x) => x >= 0);
export const positive: Check = numberWhere("a finite number above 0", (x) => x > 0);
export const fraction: Check = numberWhere("a number from 0 to below 1", (x) => x >= 0 && x < 1);
export const finite: Check = numberWhere("a finite number", () => true);
export const wholePositive: Check = numberWhere(
  "a whole number from 1 on",
  (x) => Number.isInteger(x) && x > 0,
);
export const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
export const patterns: Check = (value) =>
  typeof value === "function" || [value].flat().every((one) => typeof one === "string")
    ? undefined
    : "a path pattern, a list of them, or a function of path and value";

/** Refuses a value that is not what it should be. */
export function checkValue(kind: string, name: string, value: unknown, check: Check): void {
  const expected = check(value);
  if (expected !== undefined)
    throw badOption(kind, `${name} is ${shown(value)}, which is not ${expected}`, `give ${expected}`);
}

/** Refuses options that are not there, and values they cannot have. Options that are `undefined` are not given. */
export function checkOptions(kind: string, options: object, checks: Readonly<Record<string, Check>>): void {
  checkNames(kind, options, Object.keys(checks));
  for (const [name, value] of Object.entries(options))
    if (value !== undefined) checkValue(kind, name, value, checks[name] as Check);
}
