import { badOption, checkValue, didYouMean, EspalierError, option, shown, singular } from "../core/index.ts";
import type { Counters, Unit } from "./counters.ts";

/** The units every host has. Others are counters of the host's own. */
export const UNITS = ["epochs", "batches", "updates", "samples", "steps", "seconds"] as const;

type KnownUnit = (typeof UNITS)[number];

/** Likely slips: refused at once, also by the compiler. `epoch` is an index, the others are not counters. */
type Slip = "epoch" | "batch" | "update" | "sample" | "step" | "second";

/**
 * Options that name exactly one unit with its value, and may have others beside it. Two units, or a unit in the
 * singular, do not compile. Counters of the host's own are units too.
 *
 * @example
 * ```ts
 * const length: InUnit<number> = { updates: 1000 };
 * ```
 */
export type InUnit<V, More extends object = Record<never, never>> = More &
  (
    | {
        [U in KnownUnit]: { readonly [K in U]: V } & {
          readonly [K in Exclude<KnownUnit, U> | Slip]?: undefined;
        };
      }[KnownUnit]
    | ({ readonly [own: string]: V | More[keyof More] | undefined } & {
        readonly [K in KnownUnit | Slip]?: undefined;
      })
  );

/**
 * A counter by its unit. Schedules and ramps ask for little else, so the common names are spelt out: the engine
 * finds those without a look-up by name.
 */
export function countOf(counters: Counters, unit: Unit): number {
  if (!counters) return missingCounter(counters, unit);
  switch (unit) {
    case "epochs":
      return counters.epochs;
    case "batches":
      return counters.batches;
    case "updates":
      return counters.updates;
    case "samples":
      return counters.samples;
    case "steps":
      return counters.steps;
    case "seconds":
      return counters.seconds;
    default:
      return counters[unit] ?? missingCounter(counters, unit);
  }
}

function missingCounter(counters: Counters, unit: Unit): never {
  if (typeof counters !== "object" || counters === null)
    throw new EspalierError("ARGUMENT_INVALID", `the counters are ${shown(counters)}`, {
      fix: "give the counters of a run: context.counters",
    });
  const units = Object.keys(counters).filter((name) => name !== "epoch");
  throw new EspalierError("UNIT_UNKNOWN", `nothing here counts "${unit}"${didYouMean(unit, units)}`, {
    fix: `use one of the units counted here: ${units.join(", ")}`,
  });
}

/** Refuses names that are surely not units: those of the built-in ones in the singular or in another case. */
export function checkUnit(kind: string, unit: Unit): void {
  const lower = unit.toLowerCase();
  const meant = UNITS.find((known) => known !== unit && (known === lower || singular(known) === lower));
  if (meant !== undefined)
    throw new EspalierError("UNIT_UNKNOWN", `${kind}: "${unit}" is not a unit; did you mean "${meant}"?`, {
      fix: `write ${meant}; the units are ${UNITS.join(", ")}, and counters of the host's own`,
    });
}

/** `1 update`, `100 updates`. */
export function amount(count: number, unit: Unit): string {
  return `${count} ${count === 1 ? singular(unit) : unit}`;
}

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

/** Checks that a value is a finite number. */
export function checkNumber(kind: string, name: string, value: unknown): number {
  checkValue(kind, name, value, finite);
  return value as number;
}

const finite = option.number({});

/** `1, 5 and 9`; long lists are cut. */
export function listed(items: readonly (string | number)[]): string {
  if (items.length > 8) return `${items.slice(0, 6).join(", ")} and ${items.length - 6} more`;
  const last = items[items.length - 1];
  return items.length < 2 ? String(last ?? "") : `${items.slice(0, -1).join(", ")} and ${last}`;
}
