import {
  badOption,
  countInWords,
  EspalierError,
  isWorthSaying,
  numberText,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { type JudgedRow, metricMissing, monitorHook, newest } from "./monitor.ts";

/** A loss that stands out. */
export type LossSpike = {
  /** Updates attempted up to and with this one, and batches. */
  readonly update: number;
  readonly batch: number;
  readonly loss: number;
  /** The median of the losses before it, and the limit that it exceeds. */
  readonly median: number;
  readonly limit: number;
  /** Spikes of the run up to and with this one. */
  readonly count: number;
};

const kind = "lossSpikeDetector";
const table = {
  /** Default: `lossSpikes`. */
  name: option.text({ default: "lossSpikes" }),
  /** The metric of each batch that is looked at. Default: `loss`. */
  value: option.text({ default: "loss" }),
  /** How many finite losses before it a loss is compared with. Nothing is judged before that many. Default: 10. */
  window: option.integer({ min: 1, default: 10 }),
  /** A loss above this many times their median is a spike. Default: 2. */
  factor: option.number({ above: 1, default: 2 }),
  /**
   * Called for each spike, in order, when the call of the task after it is under way or the run ends. A resumed run
   * calls it again for those that the saved one had not been able to yet.
   */
  onSpike: option.function<(context: TrainerContext, spike: LossSpike) => unknown>(
    "a function of context and spike",
    {},
  ),
  /** After how many spikes in a row the run fails; at most half the window. Default: never. */
  halt: option.integer({ min: 1 }),
};

/** Options of {@link lossSpikeDetector}. */
export interface LossSpikeOptions extends Options<typeof table> {}

/**
 * Looks at the loss of every batch and says which stand out: above `factor` times the median of the last `window`
 * finite losses, or, where some of these are 0 or negative, far from their median. The 1st, 10th, 100th spike is warned
 * of, each is shown to `onSpike`, and `halt` of them in a row fail the run with LOSS_SPIKES. Losses that are not finite
 * are counted by themselves: they are neither spikes nor part of the window.
 *
 * Like {@link gradientMonitor} it never prevents fusing, and goes on in a resumed run with
 * the window it had. It logs its counts under `health` (`lossSpikes.spikes`, `lossSpikes.notFinite`).
 *
 * @example
 * ```ts
 * const spikes = lossSpikeDetector({
 *   factor: 3,
 *   onSpike: (_context, { update, loss }) => void suspicious.push({ update, loss }),
 *   halt: 5,
 * });
 * ```
 */
export function lossSpikeDetector(options: LossSpikeOptions = {}): TrainerHook {
  const settings = settingsOf(options);
  const { name, value, onSpike } = settings;
  return monitorHook({
    name,
    names: [value],
    missing: metricMissing("loss-spike detector", "name in `value` what the task reports"),
    begin: newRecord,
    judge: (record, row, warn) => judge(settings, record, row, warn),
    tell: async ({ losses, spikes, notFinite, untold }, context) => {
      // No loss was judged yet.
      if (losses.length === 0 && notFinite === 0) return;
      context.log({ [`${name}.spikes`]: spikes, [`${name}.notFinite`]: notFinite }, "health");
      if (onSpike) for (const spike of untold.splice(0)) await onSpike(context, spike);
    },
    prompt: onSpike !== undefined,
  });
}

function settingsOf(options: LossSpikeOptions): Settings<typeof table> {
  const settings = resolveOptions(kind, options, table);
  const { halt, window } = settings;
  // Once half of the window is spikes, they are what is usual.
  const most = Math.max(1, Math.floor(window / 2));
  if (halt !== undefined && halt > most)
    throw badOption(
      kind,
      `halt is ${halt}, and of a window of ${window} no more than half can be spikes`,
      `give at most ${most}, or a wider window`,
    );
  return settings;
}

/** The last losses of a run, and the spikes among all of them. */
const newRecord = () => ({
  /** Finite ones, oldest first. */
  losses: new Float64Array(),
  spikes: 0,
  notFinite: 0,
  inRow: 0,
  /** Spikes that `onSpike` has not been called for. */
  untold: [] as LossSpike[],
});

function judge(
  { window, factor, halt = Number.POSITIVE_INFINITY, onSpike, value, name }: Settings<typeof table>,
  record: ReturnType<typeof newRecord>,
  { update, batch, numbers }: JudgedRow,
  warn: (text: string) => void,
): void {
  const loss = numbers[0] as number;
  if (!Number.isFinite(loss)) {
    const count = ++record.notFinite;
    if (isWorthSaying(count)) warn(`${value} is ${loss} in update ${update} (${countInWords(count)})`);
    return;
  }
  // A narrower window than that of the run before takes the newest.
  const before = record.losses.slice(-window);
  const { median, limit } =
    before.length === window
      ? limitOf(before, factor)
      : { median: Number.NaN, limit: Number.POSITIVE_INFINITY };
  record.losses = newest(before, loss, window);
  if (!(loss > limit)) {
    record.inRow = 0;
    return;
  }
  const count = ++record.spikes;
  const inRow = ++record.inRow;
  if (onSpike) record.untold.push({ update, batch, loss, median, limit, count });
  const what =
    `${value} ${numberText(loss)} in update ${update} is above ${numberText(limit)}: ` +
    `the median of the last ${window} is ${numberText(median)}`;
  if (isWorthSaying(count)) warn(`${what} (${countInWords(count)})`);
  if (inRow < halt) return;
  record.inRow = 0;
  throw new EspalierError("LOSS_SPIKES", `${inRow === 1 ? "" : `${inRow} spikes in a row; `}${what}`, {
    fix:
      "lower the learning rate, clip gradients by optim.clipByGlobalNorm, look at the batches that came then, and go " +
      `on from the last checkpoint; \`halt\` of ${name} says how many are borne`,
    update,
  });
}

/** Differences from the median that are too small to be anything. */
const smallest = 1e-6;

/**
 * The loss above which one is a spike, after these. Where all of them are positive: `factor` times their median. The
 * median and not the mean, because the spike before would raise the mean for as long as it is in the window and hide
 * the next; and a loss that has moved for good becomes the usual one when half of the window is past the move.
 *
 * Where some are 0 or negative, a multiple says nothing (twice -5 lies below it). Then it is the median and `factor - 1`
 * times a size: that of the median itself, or six times the median distance from it where that is more, which of
 * noise around 0 is four standard deviations.
 */
export function limitOf(
  losses: Float64Array,
  factor: number,
): { readonly median: number; readonly limit: number } {
  const median = medianOf(losses);
  if (losses.every((loss) => loss > 0)) return { median, limit: factor * median };
  const spread = 6 * medianOf(losses.map((loss) => Math.abs(loss - median)));
  return { median, limit: median + (factor - 1) * Math.max(Math.abs(median), spread, smallest) };
}

function medianOf(numbers: Float64Array): number {
  const sorted = numbers.toSorted();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}
