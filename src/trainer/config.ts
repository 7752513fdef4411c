import { didYouMean, EspalierError, shown } from "../core/index.ts";
import { every, type Schedule } from "../schedule/index.ts";

/** How a run goes, whatever it trains. Every field has a default; `trainingConfig` completes what is left out. */
export interface TrainingConfig {
  /** How many epochs the run has in all, those before a resume included. Default 1. */
  readonly epochs: number;
  /** What all random streams of the run are split from. Default 0. */
  readonly seed: number;
  /** The run's name. Default "run". */
  readonly name: string;
  /**
   * When to validate: at the end of epochs, or at exactly the counts it names (`every({ updates: 500 })`), between
   * batches. `never()` means not at all. Default every epoch.
   */
  readonly validate: Schedule;
  /**
   * Whether a run that was completed or stopped validates once more at its end, where the newest validation is not
   * from its last update. Default true.
   */
  readonly validateAtEnd: boolean;
  /** Whether batches that nobody watches run in one call, and at most how many. Default true: as many as the task can. */
  readonly fuse: boolean | number;
  /** What an epoch without batches is: an error, or the end of a completed run. Default "error". */
  readonly onEmpty: "error" | "finish";
  /**
   * What happens at the first update whose loss or parameters are NaN or infinite: the run fails with NON_FINITE, a
   * warning says so once, or nothing. Updates that `skipNonFinite` leaves out count as finite. Default "stop".
   */
  readonly onNonFinite: "stop" | "warn" | "ignore";
  /** The run is completed when one of these is reached, between batches. Default Infinity. */
  readonly maxUpdates: number;
  readonly maxSamples: number;
  readonly maxSeconds: number;
  /** Which of how many processes this is; 0 is the main one. Default 0 of 1. */
  readonly rank: number;
  readonly ranks: number;
  /** Whether SIGINT, SIGTERM and SIGHUP end the run in good order while it trains. Default true. */
  readonly handleSignals: boolean;
  /** Asks tasks for kernels that give the same bits each time, where the device has a choice. Default false. */
  readonly deterministic: boolean;
  /** Prints every decision about hooks, to standard error or to whoever is given. Default false. */
  readonly trace: boolean | ((line: string) => void);
}

interface Field {
  readonly default: unknown;
  readonly is: string;
  readonly holds: (value: unknown) => boolean;
}

const whole = (least: number) => (value: unknown) => Number.isInteger(value) && (value as number) >= least;
const flag = (value: unknown) => typeof value === "boolean";
const limit: Field = {
  default: Number.POSITIVE_INFINITY,
  is: "a number above 0",
  holds: (value) => typeof value === "number" && value > 0,
};

/** When runs validate that say nothing of it. */
export const defaultValidate: Schedule = every({ epochs: 1 });

const fields: Readonly<Record<keyof TrainingConfig, Field>> = {
  epochs: { default: 1, is: "a whole number from 0 on", holds: (v) => whole(0)(v) || v === Infinity },
  seed: {
    default: 0,
    is: "a whole number from 0 to 2^32 - 1",
    holds: (v) => whole(0)(v) && Number(v) < 2 ** 32,
  },
  name: { default: "run", is: "a text", holds: (v) => typeof v === "string" && v !== "" },
  validate: {
    default: defaultValidate,
    is: "a schedule such as every({ epochs: 5 }) or never()",
    holds: (v) => typeof (v as Schedule | null)?.due === "function",
  },
  validateAtEnd: { default: true, is: "true or false", holds: flag },
  fuse: {
    default: true,
    is: "true, false or a whole number from 1 on",
    holds: (v) => flag(v) || whole(1)(v),
  },
  onEmpty: { default: "error", is: '"error" or "finish"', holds: (v) => v === "error" || v === "finish" },
  onNonFinite: {
    default: "stop",
    is: '"stop", "warn" or "ignore"',
    holds: (v) => v === "stop" || v === "warn" || v === "ignore",
  },
  maxUpdates: limit,
  maxSamples: limit,
  maxSeconds: limit,
  rank: { default: 0, is: "a whole number from 0 on", holds: whole(0) },
  ranks: { default: 1, is: "a whole number from 1 on", holds: whole(1) },
  handleSignals: { default: true, is: "true or false", holds: flag },
  deterministic: { default: false, is: "true or false", holds: flag },
  trace: {
    default: false,
    is: "true, false or a function",
    holds: (v) => flag(v) || typeof v === "function",
  },
};

const complete = new WeakSet<object>();

/**
 * Completes and checks a configuration. What comes out is frozen.
 *
 * @example
 * ```ts
 * const config = trainingConfig({ epochs: 10, validate: every({ epochs: 2 }) });
 * config.seed; // 0
 * ```
 */
export function trainingConfig(given: Partial<TrainingConfig> = {}): TrainingConfig {
  if (typeof given !== "object" || given === null)
    throw new EspalierError("CONFIG_INVALID", `the training config is ${String(given)}`, {
      fix: "give an object such as { epochs: 10 }",
    });
  if (complete.has(given)) return given as TrainingConfig;
  const names = Object.keys(fields);
  for (const name of Object.keys(given))
    if (!names.includes(name))
      throw new EspalierError(
        "CONFIG_UNKNOWN",
        `the training config has no field "${name}"${didYouMean(name, names)}`,
        { fix: `the fields are ${names.join(", ")}` },
      );
  const config = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value = given[name as keyof TrainingConfig] ?? field.default;
      if (!field.holds(value))
        throw invalid(`${name} is ${shown(value)}, which is not ${field.is}`, field.is);
      return [name, value];
    }),
  ) as unknown as TrainingConfig;
  if (config.rank >= config.ranks)
    throw invalid(
      `rank is ${config.rank} and ranks is ${config.ranks}: ranks count from 0`,
      `a rank below ${config.ranks}`,
    );
  complete.add(config);
  return Object.freeze(config);
}

const invalid = (what: string, give: string): EspalierError =>
  new EspalierError("CONFIG_INVALID", `the training config's ${what}`, { fix: `give ${give}` });
