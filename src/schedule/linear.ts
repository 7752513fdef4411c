import { badOption, shown } from "../core/index.ts";
import { checkDuration, type Duration } from "./duration.ts";
import { checkNames, checkNumber } from "./options.ts";
import type { Ramp } from "./ramp.ts";
import { halfCosine, type Shape, straight } from "./shapes.ts";

/** From one value to another. */
export interface LinearOptions {
  /** The value at 0. */
  readonly from: number;
  /** The value at the end of `over`, and ever after. */
  readonly to: number;
  /** How long it takes, from 0. */
  readonly over: Duration;
}

/** The options of {@link cosine}: those of {@link linear}. */
export type CosineOptions = LinearOptions;

/** From one value to another, again and again. */
export interface SawtoothOptions extends LinearOptions {
  /** The shape of each tooth; `"linear"` unless given. */
  readonly shape?: "linear" | "cosine" | undefined;
}

/**
 * In a straight line from one value to another, which it then keeps.
 *
 * @example
 * ```ts
 * linear({ from: 0.01, to: 0, over: { updates: 1000 } });
 * ```
 */
export function linear(options: LinearOptions): Ramp {
  return once("linear", straight, options);
}

/**
 * From one value to another by half a cosine: slowly at first, fast in the middle, slowly at last. Equals PyTorch's
 * `CosineAnnealingLR` up to its end, where this one stays.
 *
 * @example
 * ```ts
 * cosine({ from: 3e-4, to: 0, over: { updates: 10_000 } });
 * ```
 */
export function cosine(options: CosineOptions): Ramp {
  return once("cosine", halfCosine, options);
}

/**
 * From one value to another, then at once back to the first, over and over. `to` is never quite reached: the end of
 * one tooth is the start of the next. With `shape: "cosine"` it equals PyTorch's `CosineAnnealingWarmRestarts`.
 *
 * @example
 * ```ts
 * sawtooth({ from: 1, to: 0, over: { epochs: 10 } }); // 1, 0.9, ..., 0.1, 1, 0.9, ...
 * ```
 */
export function sawtooth(options: SawtoothOptions): Ramp {
  checkNames("sawtooth", options, ["from", "to", "over", "shape"]);
  const { from, to, over, shape = "linear" } = options;
  if (shape !== "linear" && shape !== "cosine")
    throw badOption("sawtooth", `shape is ${shown(shape)}`, `give "linear" or "cosine"`);
  const { values, duration } = checkEnds("sawtooth", from, to, over);
  const tooth = shape === "linear" ? straight : halfCosine;
  const { unit, length, count } = duration;
  return {
    units: [unit],
    at: (counters) => tooth(from, to, (count(counters) % length) / length),
    describe: () =>
      `sawtooth ${values} over each ${duration.words}${shape === "cosine" ? ", by cosines" : ""}`,
  };
}

function once(kind: string, shape: Shape, options: LinearOptions): Ramp {
  checkNames(kind, options, ["from", "to", "over"]);
  const { from, to, over } = options;
  const { values, duration } = checkEnds(kind, from, to, over);
  const { unit, length, count } = duration;
  return {
    units: [unit],
    at: (counters) => shape(from, to, count(counters) / length),
    describe: () => `${kind} ${values} over ${duration.words}`,
  };
}

function checkEnds(kind: string, from: number, to: number, over: Duration) {
  checkNumber(kind, "from", from);
  checkNumber(kind, "to", to);
  return { values: `from ${from} to ${to}`, duration: checkDuration(kind, "over", over) };
}
