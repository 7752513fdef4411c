import { asRamp } from "./constant.ts";
import { checkDuration, type Duration } from "./duration.ts";
import { checkNames, checkNumber } from "./options.ts";
import type { Ramp } from "./ramp.ts";
import { straight } from "./shapes.ts";

/** How a warm-up begins. */
export interface WarmupOptions {
  /** The value at 0; 0 unless given. */
  readonly from?: number | undefined;
}

/**
 * A straight line up to the first value of another ramp, which begins when the warm-up is over: a warm-up over 100
 * updates before a cosine over 10_000 ends at 10_100. A ramp in another unit runs from the start, during the warm-up
 * too, and the line goes up to the value it has at the moment: from 0, the share of the warm-up that is done times that
 * value.
 *
 * Give it updates. Epochs count those completed, so `warmup({ epochs: 1 }, 0.1)` is `from` (0) for the whole first
 * epoch, which then trains nothing, and 0.1 from the second on.
 *
 * @example
 * ```ts
 * warmup({ updates: 100 }, cosine({ from: 3e-4, to: 0, over: { updates: 10_000 } }));
 * ```
 */
export function warmup(over: Duration, then: Ramp | number, options: WarmupOptions = {}): Ramp {
  checkNames("warmup", options, ["from"]);
  const from = checkNumber("warmup", "from", options.from ?? 0);
  const { unit, length, count, words } = checkDuration("warmup", "over", over);
  const ramp = asRamp(then);
  return {
    at(counters) {
      const now = count(counters);
      const value = ramp.at({ ...counters, [unit]: Math.max(0, now - length) });
      return straight(from, value, now / length);
    },
    ...(ramp.units && { units: [unit, ...ramp.units] }),
    describe: () => `warm-up${from === 0 ? "" : ` from ${from}`} over ${words}, then ${ramp.describe()}`,
    ...(ramp.follows && { follows: ramp.follows }),
    ...(ramp.observe && { observe: (metrics) => ramp.observe?.(metrics) }),
    ...(ramp.state && { state: ramp.state }),
  };
}
