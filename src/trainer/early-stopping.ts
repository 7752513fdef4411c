import {
  amountText,
  badOption,
  checkMetricName,
  didYouMean,
  EspalierError,
  type MetricName,
  numberText,
  type OptionTable,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import type { Counters } from "../schedule/index.ts";
import { copyState, type Stateful, type StateTree } from "../state/index.ts";
import type { TrainerContext, TrainerHook } from "./events.ts";
import { EpochMeans } from "./metrics.ts";
import { evaluationScores } from "./slots.ts";

/** Options of {@link earlyStopping}. */
export interface EarlyStoppingOptions {
  /** Default: `earlyStopping`. */
  readonly name?: string;
  /**
   * The metric in full: `validation/loss`, `train/loss`, `rollout/episode.return`, `evaluation/return`. Default:
   * "validation/loss".
   */
  readonly metric?: string;
  /** The better direction. Default: "min" for a metric whose name ends with "loss"; required for others. */
  readonly direction?: "min" | "max";
  /** Measurements in a row that may pass without a better one. Default: 5. */
  readonly patience?: number;
  /** A value is better where it is better than the best by more than this. Default: 0. */
  readonly minDelta?: number;
  /** The run is not stopped before this many epochs. Default: 0. */
  readonly minEpochs?: number;
  /** Puts the best parameters back at the end of a run that was completed or stopped. Default: false. */
  readonly restoreBest?: boolean;
}

/**
 * Stops a run whose metric gets no better.
 *
 * ```
 * a measurement    each validation; of train/ and rollout/ each epoch's mean; of evaluation/ each new evaluation
 *   better         by more than minDelta: it is the best from now on; restoreBest copies the model
 *   otherwise      one more has passed; `patience` of them, from `minEpochs` on, stop the run
 * the run's end    completed or stopped: restoreBest puts the best model back, and the last checkpoint holds it
 * ```
 *
 * The best value, the count and the best model are state: an interrupted run counts on exactly, and a run that was
 * stopped and is started again stays stopped, even where it was killed right after the decision. NaN is never better.
 *
 * @example
 * ```ts
 * const stop = earlyStopping({ metric: "validation/accuracy", direction: "max", patience: 3, restoreBest: true });
 * await new Trainer({ task, config: { epochs: 100 }, hooks: [stop, checkpointHook({ directory })] }).train();
 * ```
 */
export function earlyStopping(options: EarlyStoppingOptions = {}): TrainerHook {
  const settings = settingsOf(options);
  const { name, metric, category } = settings;
  const record = new BestRecord(settings);
  let warn: (text: string) => void = () => undefined;
  let warned = false;
  let measured: Promise<void> | undefined;
  const missing = (reported: readonly string[], more = ""): void => {
    if (!warned)
      warn(
        `${name}: there is no metric "${metric}"${didYouMean(metric, reported)}, so that the run is not stopped early` +
          `${more}; there are ${reported.join(", ") || "none"}`,
      );
    warned = true;
  };

  /** The epoch's mean of a metric of batches or rollouts. */
  const means = new EpochMeans(
    category === "train" || category === "rollout"
      ? {
          [name]: {
            follows: [metric],
            observe: (metrics) => {
              const value = metrics[metric];
              // A rollout in which no episode ended has nothing to measure.
              const none = value === undefined || (category === "rollout" && Number.isNaN(value));
              measured = none || !now ? undefined : record.measure(now, value);
            },
          },
        }
      : {},
    "hook",
  );
  let now: TrainerContext | undefined;

  const onEpochEnd = async (context: TrainerContext): Promise<void> => {
    if (means.followed) {
      now = context;
      await means.observe(undefined, (text) => {
        warn(text);
        warned = true;
      });
      await measured;
    } else if (category === "evaluation") {
      const evaluated = context.slots.get(evaluationScores);
      if (!evaluated || !record.isNew(evaluated.counters)) return;
      const value = evaluated.scores[settings.short];
      if (value === undefined)
        return missing(Object.keys(evaluated.scores).map((each) => `evaluation/${each}`));
      if (settings.restoreBest && evaluated.counters.updates !== context.counters.updates)
        throw late(name, evaluated.counters, context.counters);
      await record.measure(context, value);
    }
  };

  const atTheEnd: TrainerHook = {
    name: `${name}.end`,
    // Before a checkpoint hook looks for what is to be saved.
    priority: Number.POSITIVE_INFINITY,
    onTrainingEnd: async (context) => {
      if (!record.begun && context.outcome !== "failed" && context.counters.epochs > 0) missing([]);
      const text = await record.end(context);
      if (text !== undefined) warn(`${name}: ${text}`);
    },
  };
  return {
    name,
    wants: [evaluationScores],
    state: stateOf(record, means),
    onRegister: (host) => {
      warn = host.warn;
      warned = false;
      record.clear();
      means.setState({});
    },
    onTrainingStart: (context) => {
      if (category === "validation" && context.settings.validate === undefined)
        missing([], ": the run has no validation data");
      const { stopped } = record;
      if (stopped === undefined) return;
      warn(`this run was stopped before (${stopped}) and stays stopped`);
      context.stop(stopped);
    },
    ...(means.followed && { onBatchesEnd: ({ values }: TrainerContext) => values && means.add(values) }),
    ...(category === "validation" && {
      onValidationEnd: (context: TrainerContext) => {
        const { validation = {} } = context.state;
        const value = validation[settings.short];
        if (value !== undefined) return record.measure(context, value);
        return missing(Object.keys(validation).map((each) => `validation/${each}`));
      },
    }),
    ...(category !== "validation" && { onEpochEnd }),
    children: [atTheEnd],
  };
}

const kind = "earlyStopping";
const table = {
  name: option.text({ default: kind }),
  metric: option.text({ default: "validation/loss" }),
  direction: option.oneOf(["min", "max"], {}),
  patience: option.integer({ min: 1, default: 5 }),
  minDelta: option.number({ min: 0, default: 0 }),
  minEpochs: option.integer({ min: 0, default: 0 }),
  restoreBest: option.flag({ default: false }),
} satisfies OptionTable<EarlyStoppingOptions>;

type EarlyStopping = Settings<typeof table> & {
  readonly direction: "min" | "max";
  readonly category: MetricName["category"];
  /** The metric's name within its category. */
  readonly short: string;
};

const categories = ["validation", "train", "rollout", "evaluation"];

function settingsOf(options: EarlyStoppingOptions): EarlyStopping {
  const settings = resolveOptions(kind, options, table);
  const { category, name } = checkMetricName(`${kind}: metric`, settings.metric, categories);
  const direction = settings.direction ?? (/loss$/i.test(name) ? "min" : undefined);
  if (direction === undefined)
    throw badOption(
      kind,
      `it is not said whether a greater ${settings.metric} is better`,
      'give direction: "max" or "min"',
    );
  return { ...settings, direction, category, short: name };
}

const late = (name: string, measured: Counters, now: Counters): EspalierError =>
  new EspalierError(
    "EVALUATION_LATE",
    `${name}: restoreBest cannot keep the model of update ${measured.updates}, whose evaluation came at update ${now.updates}`,
    { fix: 'evaluate while training waits (evaluationHook({ mode: "inline" })), or leave restoreBest out' },
  );

/** The best model, and where the run was. */
type Kept = {
  readonly states: { readonly [component: string]: StateTree };
  readonly validation: { readonly [name: string]: number } | null;
  readonly epochs: number;
  readonly updates: number;
};

type Saved = {
  readonly best: number | null;
  readonly passed: number;
  readonly stopped: string | null;
  /** Updates at the last measurement. */
  readonly measuredAt: number;
  readonly kept: Kept | null;
};

/** The best measurement so far, and how many have passed since. */
class BestRecord implements Stateful {
  readonly #settings: EarlyStopping;
  #best: number | undefined;
  #passed = 0;
  #stopped: string | undefined;
  #measuredAt = -1;
  #kept: Kept | undefined;

  constructor(settings: EarlyStopping) {
    this.#settings = settings;
  }

  get begun(): boolean {
    return this.#measuredAt >= 0;
  }

  /** The reason for which the run was stopped, until it has ended. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** True for an evaluation that has not been looked at. */
  isNew({ updates }: Counters): boolean {
    return updates > this.#measuredAt;
  }

  async measure(context: TrainerContext, value: number): Promise<void> {
    const { restoreBest, patience, minEpochs, metric } = this.#settings;
    const { counters, state, atEnd, interventions } = context;
    const better = this.#isBetter(value);
    // A run that goes further has no validation here: it changes the best model and no count.
    if (!atEnd) {
      this.#measuredAt = counters.updates;
      this.#passed = better ? 0 : this.#passed + 1;
    }
    if (better) {
      this.#best = value;
      if (restoreBest) {
        const { components } = await context.snapshot(interventions.model);
        this.#kept = {
          states: (await copyState(components)) as Kept["states"],
          validation: state.validation ? { ...state.validation } : null,
          epochs: counters.epochs,
          updates: counters.updates,
        };
      }
    }
    if (atEnd || this.#passed < patience || counters.epochs < minEpochs) return;
    const best = this.#best === undefined ? "there was none" : `the best is ${numberText(this.#best)}`;
    this.#stopped = `${metric} got no better in ${amountText(this.#passed, "measurements")}, ${best}`;
    // A run that is made to go on all the same has its patience again.
    this.#passed = 0;
    context.stop(this.#stopped);
  }

  /** Puts the best model back. Gives what there is to say. From here on the trainer knows that the run was stopped. */
  async end({ outcome, counters, interventions }: TrainerContext): Promise<string | undefined> {
    if (outcome !== "completed" && outcome !== "stopped") return undefined;
    this.#stopped = undefined;
    const kept = this.#kept;
    if (!kept || kept.updates === counters.updates) return undefined;
    // Once: a run that is started again from its end has it already, and one that goes on looks for a better one.
    this.#kept = { ...kept, updates: counters.updates };
    await interventions.putBack(kept.states, { validation: kept.validation ?? undefined });
    const { metric } = this.#settings;
    return `the model of update ${kept.updates} is back, ${metric} ${numberText(this.#best ?? Number.NaN)}`;
  }

  #isBetter(value: number): boolean {
    const { direction, minDelta } = this.#settings;
    if (Number.isNaN(value)) return false;
    if (this.#best === undefined) return true;
    return direction === "min" ? value < this.#best - minDelta : value > this.#best + minDelta;
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.#best = undefined;
    this.#passed = 0;
    this.#stopped = undefined;
    this.#measuredAt = -1;
    this.#kept = undefined;
  }

  getState(): StateTree {
    const saved: Saved = {
      best: this.#best ?? null,
      passed: this.#passed,
      stopped: this.#stopped ?? null,
      measuredAt: this.#measuredAt,
      kept: this.#kept ?? null,
    };
    return saved;
  }

  setState(state: StateTree): void {
    const { best, passed, stopped, measuredAt, kept } = (state ?? {}) as Partial<Saved>;
    if (best === undefined || passed === undefined || measuredAt === undefined)
      throw new EspalierError("STATE_INVALID", "this is not the state of earlyStopping", {
        fix: "restore what earlyStopping gave",
      });
    this.#best = best ?? undefined;
    this.#passed = passed;
    this.#stopped = stopped ?? undefined;
    this.#measuredAt = measuredAt;
    this.#kept = kept ?? undefined;
  }
}

/** The record, and the means of the epoch under way. */
function stateOf(record: BestRecord, means: EpochMeans): Stateful {
  return {
    varies: true,
    getState: async () => ({ record: record.getState(), means: await means.getState() }),
    setState: (state) => {
      const { record: saved = null, means: sums = {} } = (state ?? {}) as Readonly<Record<string, StateTree>>;
      record.setState(saved);
      means.setState(sums);
    },
  };
}
