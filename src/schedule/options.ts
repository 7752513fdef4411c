import {
  badOption,
  checkNames as checkOptionNames,
  didYouMean,
  EspalierError,
  shown,
} from "../core/index.ts";
import type { Unit } from "./counters.ts";
import { checkUnit, UNITS } from "./units.ts";

/** The one unit that options name, and what stands there. `others` are the options beside it. */
export function takeUnit(
  kind: string,
  options: unknown,
  others: readonly string[],
  example: string,
): { readonly unit: Unit; readonly value: unknown } {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new EspalierError("UNIT_MISSING", `${kind}: ${shown(options)} has no unit`, {
      fix: `write the unit: ${example}`,
    });
  const given = Object.entries(options).filter(
    ([name, value]) => value !== undefined && !others.includes(name),
  );
  for (const [name] of given) checkUnit(kind, name);
  const [first, ...more] = given;
  if (first === undefined)
    throw new EspalierError("UNIT_MISSING", `${kind}: no unit is given`, {
      fix: `write one of ${UNITS.join(", ")}, or a counter of the host's own: ${example}`,
    });
  if (more.length > 0) {
    const names = given.map(([name]) => name);
    const odd = names.find((name) => !(UNITS as readonly string[]).includes(name)) ?? "";
    throw new EspalierError(
      "UNITS_SEVERAL",
      `${kind}: one unit is needed, and ${listed(names)} are given${didYouMean(odd, others)}`,
      { fix: `write one unit: ${example}` },
    );
  }
  return { unit: first[0], value: first[1] };
}

/** A number of some unit: whole, unless it is seconds; above 0 or, for points in time, from 0 on. */
export function checkCount(kind: string, name: string, value: unknown, unit: Unit, least: 0 | 1): number {
  const fractional = unit === "seconds";
  const fits =
    typeof value === "number" &&
    Number.isFinite(value) &&
    (fractional || Number.isInteger(value)) &&
    (least === 0 ? value >= 0 : value > 0);
  if (fits) return value;
  const expected = fractional
    ? `a number ${least === 0 ? "from 0 on" : "above 0"}`
    : `a whole number from ${least} on`;
  const off = kind === "every" && value === 0 ? "; to switch it off write never()" : "";
  throw badOption(kind, `${name} is ${shown(value)}, which is not ${expected}`, `give ${expected}${off}`);
}

/** A finite number. */
export function checkNumber(kind: string, name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw badOption(kind, `${name} is ${shown(value)}, which is not a finite number`, "give a finite number");
}

/** Refuses options that are not there. */
export function checkNames(kind: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== "object" || options === null)
    throw badOption(kind, `${shown(options)} is not options`, `give an object with ${listed(known)}`);
  checkOptionNames(kind, options, known);
}

/** `1, 5 and 9`; long lists are cut. */
export function listed(items: readonly (string | number)[]): string {
  if (items.length > 8) return `${items.slice(0, 6).join(", ")} and ${items.length - 6} more`;
  const last = items[items.length - 1];
  return items.length < 2 ? String(last ?? "") : `${items.slice(0, -1).join(", ")} and ${last}`;
}
