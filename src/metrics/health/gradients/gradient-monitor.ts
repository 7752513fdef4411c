import { didYouMean, EspalierError } from "../../../core/index.ts";
import { gradientHealth, type TrainerContext, type TrainerHook } from "../../../trainer/index.ts";
import { lastWords } from "../last-words.ts";
import { RowWatch } from "../row-watch.ts";
import { watchState } from "../watch-state.ts";
import { GradientRecord } from "./health.ts";
import { type GradientMonitorOptions, planOf } from "./options.ts";

/**
 * Looks at the gradient norm of every update and says where gradients vanish, explode, are not a number or infinite:
 * the 1st, 10th, 100th time of each. Three updates in a row that are not finite fail the run with
 * GRADIENTS_NOT_FINITE, so that a checkpoint hook leaves the last good state alone; `halt` says after how many of which.
 *
 * It never prevents fusing and never keeps the device waiting: values are judged when they are there, while later calls
 * are under way. Counts and streaks go on over calls and resumed runs, and do not depend on how batches were cut. Every
 * 32 batches and at the end it logs the counts so far under `health` (`gradients.nan`, ...).
 *
 * It provides the slot `gradientHealth`: the newest norm, the greatest finite one of the last 100 updates, and how many
 * updates the optimizer left out. Where a hook reads the slot, each call's values are waited for, so that it sees all
 * batches up to its own, however they were cut; otherwise the slot is filled at the end of the run.
 *
 * @example
 * ```ts
 * const task = supervisedTask({ ...options, monitor: { gradients: true } });
 * const hooks = [gradientMonitor({ exploding: 100, halt: { notFinite: 5, exploding: 50 } })];
 * await new Trainer({ task, config, hooks }).train();
 * ```
 */
export function gradientMonitor(options: GradientMonitorOptions = {}): TrainerHook {
  const plan = planOf(options);
  const { name } = plan;
  let warn: (text: string) => void = () => undefined;
  const record = new GradientRecord(plan, (text) => warn(text));
  const watch = new RowWatch({ names: plan.values, judge: (row) => record.judge(row), missing });
  /** In its own name also where a child of it asks. */
  let context: TrainerContext | undefined;
  const tell = (): void => {
    const { health, counts } = record;
    if (!context || !health) return;
    const named = Object.entries(counts).map(([symptom, count]) => [`${name}.${symptom}`, count]);
    context.log(Object.fromEntries(named), "health");
  };
  const provide = (): void => {
    const { health } = record;
    if (context && health) context.slots.set(gradientHealth, health);
  };
  return {
    name,
    provides: [gradientHealth],
    state: watchState(watch, record),
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      context = undefined;
      watch.clear();
      record.clear();
    },
    onBatchesEnd: (given) => {
      context = given;
      const told = watch.look(given, tell);
      if (!given.slots.isWanted(gradientHealth)) return told;
      // A failure of the judge is raised at the next event, as it is where nothing waits.
      return Promise.all([told, watch.settle().catch(() => undefined)]).then(provide);
    },
    children: [
      lastWords(name, watch, () => {
        provide();
        tell();
      }),
    ],
  };
}

function missing(name: string, reported: readonly string[]): EspalierError {
  const known = reported.join(", ") || "nothing";
  return new EspalierError(
    "METRIC_MISSING",
    `the gradient monitor looks at "${name}", which the task does not report${didYouMean(name, reported)}; it reports ${known}`,
    {
      fix: "have gradient norms reported: supervisedTask({ ..., monitor: { gradients: true } }); or name in `values` what the task reports",
    },
  );
}
