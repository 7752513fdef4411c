import { didYouMean, EspalierError } from "../../../core/index.ts";
import type { TrainerContext, TrainerHook } from "../../../trainer/index.ts";
import { lastWords } from "../last-words.ts";
import { RowWatch } from "../row-watch.ts";
import { watchState } from "../watch-state.ts";
import { type LossSpikeOptions, planOf } from "./options.ts";
import { SpikeRecord } from "./record.ts";

/**
 * Looks at the loss of every batch and says which stand out: above `factor` times the median of the last `window`
 * finite losses (see `limit.ts` for losses that may be 0 or negative). The 1st, 10th, 100th spike is warned of, each is
 * shown to `onSpike`, and `halt` of them in a row fail the run with LOSS_SPIKES. Losses that are not finite are counted
 * by themselves: they are neither spikes nor part of the window.
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
  const plan = planOf(options);
  const { name, value, onSpike } = plan;
  let warn: (text: string) => void = () => undefined;
  const record = new SpikeRecord(plan, (text) => warn(text));
  const watch = new RowWatch({ names: [value], judge: (row) => record.judge(row), missing });
  /** In its own name also where a child of it asks. */
  let context: TrainerContext | undefined;
  const tell = async (): Promise<void> => {
    const { begun, spikes, notFinite } = record;
    if (!context || !begun) return;
    context.log({ [`${name}.spikes`]: spikes, [`${name}.notFinite`]: notFinite }, "health");
    if (onSpike) for (const spike of record.take()) await onSpike(context, spike);
  };
  return {
    name,
    state: watchState(watch, record),
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      context = undefined;
      watch.clear();
      record.clear();
    },
    onBatchesEnd: (given) => {
      context = given;
      return watch.look(given, tell, onSpike !== undefined);
    },
    children: [lastWords(name, watch, tell)],
  };
}

function missing(name: string, reported: readonly string[]): EspalierError {
  const known = reported.join(", ") || "nothing";
  return new EspalierError(
    "METRIC_MISSING",
    `the loss-spike detector looks at "${name}", which the task does not report${didYouMean(name, reported)}; it reports ${known}`,
    { fix: "name in `value` what the task reports" },
  );
}
