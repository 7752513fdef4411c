import { didYouMean, EspalierError } from "../core/index.ts";
import { np, Value, type ValueLike } from "../engine/index.ts";
import type { Rates } from "./optimizer.ts";

/** The defaults of an optimizer's rates; those that are undefined it does not have. */
export type RateDefaults = Readonly<Record<string, number | undefined>>;

/** Each rate an optimizer has as a scalar. */
export type RateValues<D extends RateDefaults> = {
  readonly [K in keyof D]: undefined extends D[K] ? Value | undefined : Value;
};

/** The rates an optimizer has, for its `rates`. */
export function listRates(defaults: RateDefaults): Rates<number> {
  const given = Object.entries(defaults).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Rates<number>;
}

/** The rates of one update as f32 scalars: those given, and defaults for the others. */
export function readRates<D extends RateDefaults>(
  kind: string,
  defaults: D,
  given: Rates<ValueLike> = {},
): RateValues<D> {
  const known = Object.keys(listRates(defaults));
  checkRates(kind, given, known);
  return Object.fromEntries(
    known.map((name) => [name, scalar(kind, name, given[name] ?? (defaults[name] as number))]),
  ) as RateValues<D>;
}

/** Refuses rates that nobody knows. */
export function checkRates(kind: string, given: Rates<ValueLike>, known: readonly string[]): void {
  for (const name of Object.keys(given))
    if (!known.includes(name))
      throw new EspalierError(
        "RATE_UNKNOWN",
        `${kind}: there is no rate "${name}"${didYouMean(name, known)}`,
        {
          fix: known.length === 0 ? `${kind} has no rates` : `the rates of ${kind} are ${known.join(", ")}`,
        },
      );
}

/** Those of the rates given that are among others. */
export function selectRates(given: Rates<ValueLike>, among: Rates<number>): Rates<ValueLike> {
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in among));
}

function scalar(kind: string, name: string, given: ValueLike | Rates<ValueLike>): Value {
  const value = typeof given === "number" ? np.full([], given) : given;
  if (!(value instanceof Value) || value.ndim !== 0)
    throw new EspalierError(
      "RATE_INVALID",
      `${kind}: the rate ${name} is ${value instanceof Value ? value.type.text : typeof given}, which is not one number`,
      { fix: `pass a scalar: step(params, state, { ${name}: 0.001 }, ...)` },
    );
  return value.astype("f32");
}
