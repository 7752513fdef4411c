import { badOption } from "../core/index.ts";
import { checkDuration, type Duration } from "./duration.ts";
import { checkNames, checkNumber } from "./options.ts";
import type { Ramp } from "./ramp.ts";
import { halfCosine } from "./shapes.ts";

/** Up to a peak, and down again. */
export interface OneCycleOptions {
  /** The greatest value. */
  readonly peak: number;
  /** How long the whole cycle takes, from 0. */
  readonly over: Duration;
  /** At which share of it the peak is; 0.3 unless given. */
  readonly peakAt?: number | undefined;
  /** The value at 0; a 25th of the peak unless given. */
  readonly from?: number | undefined;
  /** The value at the end, and ever after; a 10_000th of `from` unless given. */
  readonly to?: number | undefined;
}

/**
 * Up to a peak by half a cosine, then down, further than where it began, by another. Equals optax's
 * `cosine_onecycle_schedule`, and PyTorch's `OneCycleLR` but for where that one counts its first and last step.
 *
 * @example
 * ```ts
 * oneCycle({ peak: 1e-3, over: { updates: 10_000 } });
 * ```
 */
export function oneCycle(options: OneCycleOptions): Ramp {
  checkNames("oneCycle", options, ["peak", "over", "peakAt", "from", "to"]);
  const peak = checkNumber("oneCycle", "peak", options.peak);
  const from = checkNumber("oneCycle", "from", options.from ?? peak / 25);
  const to = checkNumber("oneCycle", "to", options.to ?? from / 1e4);
  const peakAt = checkNumber("oneCycle", "peakAt", options.peakAt ?? 0.3);
  if (peakAt <= 0 || peakAt >= 1)
    throw badOption(
      "oneCycle",
      `peakAt is ${peakAt}, which is not a share of the cycle`,
      "give one between 0 and 1",
    );
  const { unit, length, count, words } = checkDuration("oneCycle", "over", options.over);
  const top = peakAt * length;
  return {
    units: [unit],
    at(counters) {
      const now = count(counters);
      return now < top
        ? halfCosine(from, peak, now / top)
        : // What is left, so that the end is exact.
          halfCosine(to, peak, (length - now) / (length - top));
    },
    describe: () => `one cycle from ${from} up to ${peak} and down to ${to} over ${words}`,
  };
}
