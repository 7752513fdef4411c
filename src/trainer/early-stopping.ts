import {
  amountText,
  badOption,
  checkMetricName,
  didYouMean,
  EspalierError,
  type MetricName,
  numberText,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import type { Counters } from "../schedule/index.ts";
import { copyState, type StateTree } from "../state/index.ts";
import type { TrainerContext, TrainerHook } from "./events.ts";
import { EpochMeans } from "./metrics.ts";
import { evaluationScores } from "./slots.ts";

const kind = "earlyStopping";
const table = {
  /** Default: `earlyStopping`. */
  name: option.text({ default: kind }),
  /**
   * The metric in full: `validation/loss`, `train/loss`, `rollout/episode.return`, `evaluation/return`. Default:
   * "validation/loss".
   */
  metric: option.text({ default: "validation/loss" }),
  /** The better direction. Default: "min" for a metric whose name ends with "loss"; required for others. */
  direction: option.oneOf(["min", "max"], {}),
  /** Measurements in a row that may pass without a better one. Default: 5. */
  patience: option.integer({ min: 1, default: 5 }),
  /** A value is better where it is better than the best by more than this. Default: 0. */
  minDelta: option.number({ min: 0, default: 0 }),
  /** The run is not stopped before this many epochs. Default: 0. */
  minEpochs: option.integer({ min: 0, default: 0 }),
  /** Puts the best parameters back at the end of a run that was completed or stopped. Default: false. */
  restoreBest: option.flag({ default: false }),
};

/** Options of {@link earlyStopping}. */
export interface EarlyStoppingOptions extends Options<typeof table> {}

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
  const { name, metric, category, short, restoreBest } = settings;
  const record = newRecord();
  let warn: (text: string) => void = () => undefined;
  let warned = false;
  const missing = (reported: readonly string[], why = ""): void => {
    if (!warned)
      warn(
        `${name}: there is no metric "${metric}"${didYouMean(metric, reported)}, so that the run is not stopped early` +
          `${why}; there are ${reported.join(", ") || "none"}`,
      );
    warned = true;
  };
  const take = (context: TrainerContext, found: Readonly<Record<string, number>>): void | Promise<void> => {
    const value = found[short];
    if (value === undefined) return missing(Object.keys(found).map((each) => `${category}/${each}`));
    return measure(settings, record, context, value);
  };
  const byCategory: Readonly<Record<string, () => Partial<TrainerHook>>> = {
    validation: () => ({ onValidationEnd: (context) => take(context, context.state.validation ?? {}) }),
    evaluation: () => ({
      onEpochEnd: (context) => {
        const evaluated = context.slots.get(evaluationScores);
        if (!evaluated || evaluated.counters.updates <= record.measuredAt) return undefined;
        if (restoreBest && evaluated.counters.updates !== context.counters.updates)
          throw late(name, evaluated.counters, context.counters);
        return take(context, evaluated.scores);
      },
    }),
  };
  const atTheEnd: TrainerHook = {
    name: `${name}.end`,
    // Before a checkpoint hook looks for what is to be saved.
    priority: Number.POSITIVE_INFINITY,
    onTrainingEnd: async (context) => {
      if (record.measuredAt < 0 && context.outcome !== "failed" && context.counters.epochs > 0) missing([]);
      const text = await putBestBack(settings, record, context);
      if (text !== undefined) warn(`${name}: ${text}`);
    },
  };
  const warnOnce = (text: string): void => {
    warn(text);
    warned = true;
  };
  const measuring = category in byCategory ? [] : [meanHook(settings, record, warnOnce)];
  return {
    name,
    wants: [evaluationScores],
    state: record,
    onRegister: (host) => {
      warn = host.warn;
      warned = false;
      Object.assign(record, newRecord());
    },
    onTrainingStart: (context) => {
      if (category === "validation" && context.settings.validate === undefined)
        missing([], ": the run has no validation data");
      const { stopped } = record;
      if (stopped === null) return;
      warn(`this run was stopped before (${stopped}) and stays stopped`);
      context.stop(stopped);
    },
    ...byCategory[category]?.(),
    children: [...measuring, atTheEnd],
  };
}

/** Measures the epoch's mean of a metric of batches or rollouts. */
function meanHook(settings: EarlyStopping, record: BestRecord, warn: (text: string) => void): TrainerHook {
  const { name, metric, category } = settings;
  let value: number | undefined;
  const observe = (metrics: Readonly<Record<string, number>>): void => {
    value = metrics[metric];
  };
  const means = new EpochMeans({ [name]: { follows: [metric], observe } }, "hook");
  return {
    name: `${name}.mean`,
    state: means,
    onRegister: () => means.setState({}),
    onBatchesEnd: ({ values }) => values && means.add(values),
    onEpochEnd: async (context) => {
      value = undefined;
      await means.observe(undefined, warn);
      // A rollout in which no episode ended has nothing to measure.
      if (value === undefined || (category === "rollout" && Number.isNaN(value))) return;
      await measure(settings, record, context, value);
    },
  };
}

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

/** The best measurement so far and how many have passed since: the hook's state. */
type BestRecord = {
  best: number | null;
  passed: number;
  /** The reason for which the run was stopped, until it has ended. */
  stopped: string | null;
  /** Updates at the last measurement. */
  measuredAt: number;
  /** The best model, with the metrics of its validation, and the update it is of. */
  kept: {
    readonly states: { readonly [component: string]: StateTree };
    readonly validation: { readonly [name: string]: number } | null;
    readonly update: number;
  } | null;
};

const newRecord = (): BestRecord => ({ best: null, passed: 0, stopped: null, measuredAt: -1, kept: null });

async function measure(
  { restoreBest, patience, minEpochs, metric, direction, minDelta }: EarlyStopping,
  record: BestRecord,
  context: TrainerContext,
  value: number,
): Promise<void> {
  const { counters, state, atEnd, interventions } = context;
  const gain = (direction === "min" ? -1 : 1) * (value - (record.best ?? value));
  const better = !Number.isNaN(value) && (record.best === null || gain > minDelta);
  // A run that goes further has no validation here: it changes the best model and no count.
  if (!atEnd) {
    record.measuredAt = counters.updates;
    record.passed = better ? 0 : record.passed + 1;
  }
  if (better) record.best = value;
  if (better && restoreBest) {
    const { components } = await context.snapshot(interventions.model);
    const validation = state.validation ? { ...state.validation } : null;
    const states = Object.entries(components).map(async ([name, part]) => [name, await copyState(part)]);
    record.kept = {
      states: Object.fromEntries(await Promise.all(states)),
      validation,
      update: counters.updates,
    };
  }
  if (atEnd || record.passed < patience || counters.epochs < minEpochs) return;
  const best = record.best === null ? "there was none" : `the best is ${numberText(record.best)}`;
  record.stopped = `${metric} got no better in ${amountText(record.passed, "measurements")}, ${best}`;
  // A run that is made to go on all the same has its patience again.
  record.passed = 0;
  context.stop(record.stopped);
}

/** Puts the best model back at the end, and gives what there is to say. */
async function putBestBack(
  { metric }: EarlyStopping,
  record: BestRecord,
  { outcome, counters, interventions }: TrainerContext,
): Promise<string | undefined> {
  if (outcome !== "completed" && outcome !== "stopped") return undefined;
  // From here on the trainer knows.
  record.stopped = null;
  const { kept } = record;
  if (!kept || kept.update === counters.updates) return undefined;
  // Once: a run that is started again from its end has it already, and one that goes on looks for a better one.
  record.kept = { ...kept, update: counters.updates };
  await interventions.putBack(kept.states, { validation: kept.validation ?? undefined });
  return `the model of update ${kept.update} is back, ${metric} ${numberText(record.best ?? Number.NaN)}`;
}
