import { didYouMean, EspalierError, shown } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";
import type { Optimizer, Rates } from "../optim/index.ts";
import { constant, isRamp, type Ramp } from "../schedule/index.ts";

/** Rates of an optimizer that change over time, by name; of groups by path. */
export type RateInputs = { readonly [name: string]: Ramp | number | RateInputs };

/** All numbers of a step that change over time, and how they reach it. */
export interface RateRamps {
  readonly names: readonly string[];
  readonly ramps: Readonly<Record<string, Ramp>>;
  /** Inside the program: the numbers of every repeat by name, from all of them in one row after the other. */
  stacks(all: Value | null, capacity: number): Readonly<Record<string, Value>>;
  /** Inside the program: the numbers of one repeat by name, from the same. */
  at(all: Value | null, repeat: Value): Readonly<Record<string, Value>>;
  /** Inside the program: the optimizer's rates of one repeat. */
  rates(now: Readonly<Record<string, Value>>): Rates;
}

/** The optimizer's rates that are ramps, with other ramps of the objective. */
export function rateRamps(
  task: string,
  optimizer: Optimizer,
  given: RateInputs,
  others: Readonly<Record<string, Ramp>>,
): RateRamps {
  const own = flatRates(given, optimizer.rates, "", { task, kind: optimizer.kind });
  const ramps = { ...own, ...others };
  const names = Object.keys(ramps);
  return {
    names,
    ramps,
    stacks: (all, capacity) => {
      if (all === null) return {};
      const table = np.reshape(all, [names.length, capacity]);
      return Object.fromEntries(names.map((name, i) => [name, np.take(table, i, { axis: 0 })]));
    },
    at: (all, repeat) => {
      if (all === null) return {};
      const table = np.reshape(all, [names.length, -1]);
      const column = np.reshape(np.dynamicSlice(table, [0, repeat], [names.length, 1]), [-1]);
      return Object.fromEntries(names.map((name, i) => [name, np.slice(column, i)]));
    },
    rates: (now) => nested(Object.keys(own), now),
  };
}

function flatRates(
  given: RateInputs,
  known: Rates<number>,
  path: string,
  who: { readonly task: string; readonly kind: string },
): Record<string, Ramp> {
  const flat: Record<string, Ramp> = {};
  for (const [name, rate] of Object.entries(given)) {
    const place = path === "" ? name : `${path}.${name}`;
    const at = known[name];
    if (at === undefined)
      throw new EspalierError(
        "RATE_UNKNOWN",
        `${who.task}: the optimizer (${who.kind}) has no rate "${place}"${didYouMean(name, Object.keys(known))}`,
        { fix: `its rates are ${Object.keys(known).join(", ") || "none"}` },
      );
    const isOne = typeof rate === "number" || isRamp(rate);
    if (isOne !== (typeof at === "number"))
      throw new EspalierError(
        "RATE_INVALID",
        `${who.task}: the rate "${place}" is ${isOne ? "a group of rates" : `one rate, and ${shown(rate)} is neither a number nor a ramp`}`,
        {
          fix: isOne ? `name one of its rates: ${Object.keys(at).join(", ")}` : "give a number or a ramp",
        },
      );
    if (isOne)
      flat[place] = typeof rate === "number" ? checked(`${who.task}: ${place}`, rate) : (rate as Ramp);
    else Object.assign(flat, flatRates(rate as RateInputs, at as Rates<number>, place, who));
  }
  return flat;
}

function checked(name: string, value: number): Ramp {
  if (Number.isFinite(value)) return constant(value);
  throw new EspalierError("RATE_INVALID", `${name} is ${value}`, {
    fix: "give a finite number or a ramp such as cosine({ ... })",
  });
}

function nested(paths: readonly string[], values: Readonly<Record<string, Value>>): Rates {
  const tree: Record<string, unknown> = {};
  for (const path of paths) {
    const parts = path.split(".");
    const last = parts.pop() as string;
    let at = tree;
    for (const part of parts) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[last] = values[path];
  }
  return tree as Rates;
}
