import { EspalierError, option, resolveOptions, type Settings } from "../core/index.ts";
import { every, type Schedule } from "../schedule/index.ts";

/** When runs validate by default. */
export const defaultValidate: Schedule = every({ epochs: 1 });

const unlimited = Number.POSITIVE_INFINITY;
const most = (what: string) =>
  option.number({ above: 0, infinite: true, default: unlimited, doc: `The most ${what} of the run.` });

/** The fields of {@link TrainingConfig}. */
export const trainingConfigTable = {
  /** Epochs of the run in all, those before a resume included. Default: 1. */
  epochs: option.either(
    option.integer({ min: 0 }),
    option.made<number>("Infinity", (value) => value === unlimited, {}),
    {
      default: 1,
      doc: "Epochs of the run in all, those before a resume included.",
    },
  ),
  /** The seed of all random streams of the run. Default: 0. */
  seed: option.integer({
    min: 0,
    max: 2 ** 32 - 1,
    default: 0,
    doc: "The seed of all random streams of the run.",
  }),
  /** The run's name. Default: "run". */
  name: option.text({ default: "run", doc: "The run's name." }),
  /**
   * When to validate: at the end of epochs, or at exactly the counts it names (`every({ updates: 500 })`), between
   * batches. `never()` means not at all. Default: every epoch.
   */
  validate: option.object<Schedule, { readonly default: Schedule; readonly doc: string }>(
    "a schedule such as every({ epochs: 5 }) or never()",
    ["due"],
    { default: defaultValidate, doc: "When to validate." },
  ),
  /**
   * Validates once more at the end of a run that was completed or stopped, where the newest validation is not from its
   * last update. Default: true.
   */
  validateAtEnd: option.flag({
    default: true,
    doc: "Validates at the end of a run where the newest validation is not from its last update.",
  }),
  /** Runs batches that no hook watches in one call; a number is the most of them. Default: true, as many as the task can. */
  fuse: option.either(option.flag({}), option.integer({ min: 1 }), {
    default: true,
    doc: "Runs batches that no hook watches in one call; a number is the most of them.",
  }),
  /** The meaning of an epoch without batches: an error, or the end of a completed run. Default: "error". */
  onEmpty: option.oneOf(["error", "finish"], {
    default: "error",
    doc: "What an epoch without batches is: an error, or the end of a completed run.",
  }),
  /**
   * The reaction to the first update whose loss or parameters are NaN or infinite: the run fails with NON_FINITE, a
   * warning says so once, or nothing. Updates that `skipNonFinite` leaves out count as finite. Default: "stop".
   */
  onNonFinite: option.oneOf(["stop", "warn", "ignore"], {
    default: "stop",
    doc: "What happens at the first update whose loss or parameters are NaN or infinite.",
  }),
  /** The run is completed when one of these is reached, between batches. Default: Infinity. */
  maxUpdates: most("updates"),
  maxSamples: most("samples"),
  maxSeconds: most("seconds"),
  /** The index of this process among `ranks`; 0 is the main one. Default: 0 of 1. */
  rank: option.integer({ min: 0, default: 0, doc: "The index of this process among `ranks`." }),
  ranks: option.integer({ min: 1, default: 1, doc: "The number of processes of the run." }),
  /** SIGINT, SIGTERM and SIGHUP end the run in good order while it trains. Default: true. */
  handleSignals: option.flag({
    default: true,
    doc: "SIGINT, SIGTERM and SIGHUP end the run in good order while it trains.",
  }),
  /** Asks tasks for kernels that give the same bits each time, where the device has a choice. Default: false. */
  deterministic: option.flag({
    default: false,
    doc: "Asks tasks for kernels that give the same bits each time, where the device has a choice.",
  }),
  /** Prints every decision about hooks, to standard error or to a function. Default: false. */
  trace: option.either(option.flag({}), option.function<(line: string) => void>("a function", {}), {
    default: false,
    doc: "Prints every decision about hooks, to standard error or to a function.",
  }),
};

/** How a run goes, independent of its task. Every field has a default; `trainingConfig` fills it in. */
export interface TrainingConfig extends Settings<typeof trainingConfigTable> {}

const complete = new WeakSet<object>();

/**
 * Completes and checks a configuration. The result is frozen.
 *
 * @example
 * ```ts
 * const config = trainingConfig({ epochs: 10, validate: every({ epochs: 2 }) });
 * config.seed; // 0
 * ```
 */
export function trainingConfig(given: Partial<TrainingConfig> = {}): TrainingConfig {
  if (complete.has(given)) return given as TrainingConfig;
  const config: TrainingConfig = resolveOptions("the training config", given, trainingConfigTable, {
    unknown: "CONFIG_UNKNOWN",
    invalid: "CONFIG_INVALID",
  });
  if (config.rank >= config.ranks)
    throw new EspalierError(
      "CONFIG_INVALID",
      `the training config: rank is ${config.rank} and ranks is ${config.ranks}: ranks count from 0`,
      { fix: `give a rank below ${config.ranks}` },
    );
  complete.add(config);
  return Object.freeze(config);
}
