import { didYouMean, EspalierError, shown } from "../core/index.ts";
import { type CompileOptions, np, put, type Tensor, type Value } from "../engine/index.ts";
import type { Optimizer, Rates } from "../optim/index.ts";
import { constant, isRamp, type Ramp } from "../schedule/index.ts";

/** Rates of an optimizer that change over time, by name; of groups by path. */
export type RateInputs = { readonly [name: string]: Ramp | number | RateInputs };

/** Numbers by ramp: of one update, or of all updates of a call along a first axis. */
type RampValues = Readonly<Record<string, Value>>;

/**
 * The numbers of an update that change over time: the optimizer's rates and the objective's ramps. They reach a program
 * as one array, `all`, made by {@link RampNumbers}: a row for each ramp, a column for each update of the call.
 */
export interface RateRamps {
  readonly names: readonly string[];
  readonly ramps: Readonly<Record<string, Ramp>>;
  /** Inside a program: the numbers of all updates, to scan over. */
  stacks(all: Value | null, capacity: number): RampValues;
  /** Inside a program: the numbers of one update. */
  at(all: Value | null, repeat: Value): RampValues;
  /** Inside a program: the optimizer's rates among the numbers of one update. */
  rates(now: RampValues): Rates;
}

/** Checks the optimizer's rates and joins them with other ramps. */
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

/** The ramps' numbers for the updates of a call, on the device. They are copied there only when one has changed. */
export class RampNumbers {
  readonly #names: readonly string[];
  readonly #capacity: number;
  readonly #options: CompileOptions;
  readonly #last: Float32Array;
  #tensor: Tensor | undefined;

  constructor(names: readonly string[], capacity: number, options: CompileOptions) {
    this.#names = names;
    this.#capacity = capacity;
    this.#options = options;
    this.#last = new Float32Array(names.length * capacity);
  }

  /** The first `count` columns are `ramps`; the rest is whatever it was. Null where there are no ramps. */
  tensor(ramps: Readonly<Record<string, Float32Array>>, count: number): Tensor | null {
    if (this.#names.length === 0) return null;
    let changed = this.#tensor === undefined;
    for (let k = 0; k < this.#names.length; k++) {
      const numbers = ramps[this.#names[k] as string] as Float32Array;
      for (let i = 0, at = k * this.#capacity; i < count; i++, at++)
        if (this.#last[at] !== numbers[i]) {
          this.#last[at] = numbers[i] as number;
          changed = true;
        }
    }
    if (!changed && this.#tensor) return this.#tensor;
    this.#tensor?.dispose();
    const { engine, device } = this.#options;
    this.#tensor = put(this.#last, { ...(engine && { engine }), ...(device !== undefined && { device }) });
    return this.#tensor;
  }
}

/** Rates by path. Refuses those that the optimizer does not have. */
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

/** Rates by path as the tree that the optimizer takes. */
function nested(paths: readonly string[], values: RampValues): Rates {
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
