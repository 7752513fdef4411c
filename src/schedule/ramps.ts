import { badOption, checkOptions, type Options, option, resolveOptions, shown } from "../core/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Counters, Unit } from "./counters.ts";
import { amount, checkCount, checkNumber, countOf, type InUnit, takeUnit } from "./units.ts";

/**
 * A number that changes over time. It is asked for the counters at which a batch begins, so that the first batch has
 * the value at 0; the same counters always give the same number until it has observed new metrics.
 *
 * @example
 * ```ts
 * const learningRate = warmup({ updates: 100 }, cosine({ from: 3e-4, to: 0, over: { updates: 10_000 } }));
 * learningRate.at({ ...noCounters, updates: 50 }); // 1.5e-4
 * ```
 */
export interface Ramp {
  at(counters: Counters): number;
  /** The counters it reads. Left out: any of them. A ramp that says so may be computed ahead of counters it does not read. */
  readonly units?: readonly Unit[];
  /** The ramp in words. */
  describe(): string;
  /** The metrics it follows, in full (`train/loss`, `validation/accuracy`); the host calls `observe` with their means over each epoch, at the epoch's end. */
  readonly follows?: readonly string[];
  observe?(metrics: Readonly<Record<string, number>>): void;
  readonly state?: Stateful;
}

/** Interpolates from one value to another while `gone` goes from 0 to 1. Exact at both ends, and after them. */
export type Shape = (from: number, to: number, gone: number) => number;

/** In a straight line. */
export const straight: Shape = (from, to, gone) => {
  if (gone <= 0) return from;
  return gone >= 1 ? to : from + (to - from) * gone;
};

/** By half a cosine: slowly at first, slowly at last. */
export const halfCosine: Shape = (from, to, gone) => {
  if (gone <= 0) return from;
  return gone >= 1 ? to : to + ((from - to) * (1 + Math.cos(Math.PI * gone))) / 2;
};

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
 * True for a ramp. Its `at` alone does not tell: texts and lists have one, too.
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

/** A length of time in one unit: `{ updates: 1000 }`. */
export type Duration = InUnit<number>;

/** A checked duration. */
export interface CheckedDuration {
  readonly unit: Unit;
  readonly length: number;
  /** Progress of the run, in its unit. */
  count(counters: Counters): number;
  /** `1000 updates`. */
  readonly words: string;
}

/** Reads a duration that an option of a ramp gives. */
export function checkDuration(kind: string, name: string, duration: Duration): CheckedDuration {
  const { unit, value } = takeUnit(`${kind}: ${name}`, duration, [], `${name}: { updates: 1000 }`);
  const length = checkCount(kind, `${name}.${unit}`, value, unit, 1);
  return {
    unit,
    length,
    count: (counters) => countOf(counters, unit),
    words: amount(length, unit),
  };
}

const required = { required: true } as const;
// Checked by `checkDuration`, which knows what to write instead.
const duration = option.made<Duration, typeof required>("a duration", () => true, required);

const linearOptions = {
  /** The value at 0. */
  from: option.number(required),
  /** The value at the end of `over`, and ever after. */
  to: option.number(required),
  /** Duration, from 0. */
  over: duration,
};
const sawtoothOptions = {
  ...linearOptions,
  /** The shape of each tooth. Default: `"linear"`. */
  shape: option.oneOf(["linear", "cosine"], { default: "linear" }),
};

/** From one value to another. */
export interface LinearOptions extends Options<typeof linearOptions> {}

/** The options of {@link cosine}: those of {@link linear}. */
export type CosineOptions = LinearOptions;

/** From one value to another, again and again. */
export interface SawtoothOptions extends Options<typeof sawtoothOptions> {}

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
  const { from, to, over, shape } = resolveOptions("sawtooth", options, sawtoothOptions);
  const { unit, length, count, words } = checkDuration("sawtooth", "over", over);
  const tooth = shape === "linear" ? straight : halfCosine;
  return {
    units: [unit],
    at: (counters) => tooth(from, to, (count(counters) % length) / length),
    describe: () =>
      `sawtooth from ${from} to ${to} over each ${words}${shape === "cosine" ? ", by cosines" : ""}`,
  };
}

function once(kind: string, shape: Shape, options: LinearOptions): Ramp {
  checkOptions(kind, options, linearOptions);
  const { from, to, over } = options;
  const { unit, length, count, words } = checkDuration(kind, "over", over);
  return {
    units: [unit],
    at: (counters) => shape(from, to, count(counters) / length),
    describe: () => `${kind} from ${from} to ${to} over ${words}`,
  };
}

const warmupOptions = {
  /** The value at 0. Default: 0. */
  from: option.number({ default: 0 }),
};

/** Options of {@link warmup}. */
export interface WarmupOptions extends Options<typeof warmupOptions> {}

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
  const { from } = resolveOptions("warmup", options, warmupOptions);
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

/** Values and when they begin, in one unit. */
export type PiecewiseOptions = InUnit<
  readonly (readonly [at: number, value: number])[],
  {
    /** Goes from each value to the next in a straight line instead of at once. */
    readonly interpolate?: boolean | undefined;
  }
>;

/**
 * A value from each of these times on; with `interpolate`, straight lines from one to the next. Before the first time
 * it has the first value, after the last time the last.
 *
 * @example
 * ```ts
 * piecewise({ epochs: [[0, 1e-3], [30, 1e-4], [60, 1e-5]] });
 * piecewise({ updates: [[0, 0], [100, 1e-3], [900, 1e-3], [1000, 0]], interpolate: true }); // warm up, hold, decay
 * ```
 */
export function piecewise(options: PiecewiseOptions): Ramp {
  const example = "piecewise({ epochs: [[0, 1e-3], [30, 1e-4]] })";
  const { unit, value } = takeUnit("piecewise", options, ["interpolate"], example);
  const { interpolate = false } = options;
  if (typeof interpolate !== "boolean")
    throw badOption("piecewise", `interpolate is ${shown(interpolate)}`, "give true or false");
  const { times, values } = checkPieces(unit, value, example);
  const last = times.length - 1;
  return {
    units: [unit],
    at(counters) {
      const now = countOf(counters, unit);
      let piece = 0;
      while (piece < last && now >= (times[piece + 1] as number)) piece++;
      const [start, here] = [times[piece] as number, values[piece] as number];
      if (!interpolate || piece === last) return here;
      const next = times[piece + 1] as number;
      return straight(here, values[piece + 1] as number, (now - start) / (next - start));
    },
    describe: () => {
      const rest = times.slice(1).map((time, i) => `${values[i + 1]} ${interpolate ? "at" : "from"} ${time}`);
      const words = [`${values[0]}`, ...rest].join(", ");
      return `${interpolate ? "lines through" : "piecewise"} ${words} ${unit}`;
    },
  };
}

function checkPieces(unit: string, pieces: unknown, example: string) {
  if (!Array.isArray(pieces) || pieces.length === 0)
    throw badOption(
      "piecewise",
      `${unit} is ${shown(pieces)}, which is not a list of times and values`,
      `write ${example}`,
    );
  const times: number[] = [];
  const values: number[] = [];
  for (const piece of pieces as readonly unknown[]) {
    if (!Array.isArray(piece) || piece.length !== 2)
      throw badOption("piecewise", `${shown(piece)} is not a time and a value`, `write ${example}`);
    const time = checkCount("piecewise", `a time in ${unit}`, piece[0], unit, 0);
    const before = times.at(-1);
    if (before !== undefined && time <= before)
      throw badOption(
        "piecewise",
        `${time} does not come after ${before}`,
        "give the times in order, each once",
      );
    times.push(time);
    values.push(checkNumber("piecewise", `the value from ${time} ${unit} on`, piece[1]));
  }
  return { times, values };
}

const oneCycleOptions = {
  /** The greatest value. */
  peak: option.number(required),
  /** Duration of the whole cycle, from 0. */
  over: duration,
  /** Share of the cycle at which the peak is. Default: 0.3. */
  peakAt: option.number({ above: 0, below: 1, default: 0.3 }),
  /** The value at 0. Default: a 25th of the peak. */
  from: option.number({}),
  /** The value at the end and after it. Default: a 10,000th of `from`. */
  to: option.number({}),
};

/** Up to a peak, and down again. */
export interface OneCycleOptions extends Options<typeof oneCycleOptions> {}

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
  const {
    peak,
    over,
    peakAt,
    from = peak / 25,
    to = from / 1e4,
  } = resolveOptions("oneCycle", options, oneCycleOptions);
  const { unit, length, count, words } = checkDuration("oneCycle", "over", over);
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
