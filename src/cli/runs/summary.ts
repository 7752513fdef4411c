import type { MetricRow, RunRow } from "../../metrics/index.ts";
import { fitsPattern, mainLoss } from "./choose-metrics.ts";
import { isSilent } from "./outcome.ts";
import type { LastSigns } from "./signs.ts";

/** A run with what follows from its row and its newest metrics. */
export interface RunSummary extends RunRow {
  /** Milliseconds since 1970 of the newest thing heard of it: a heartbeat, a checkpoint, a metric, its start, its end. */
  readonly lastSign: number;
  /** It has not ended, and nothing was heard of it for minutes, or its process is gone. */
  readonly silent: boolean;
  /** Milliseconds it was at work; of one that has not ended, up to its last sign. */
  readonly duration: number;
  /** The newest value of the metric asked for, or of its loss. */
  readonly metric: Pick<MetricRow, "key" | "name" | "value" | "step" | "axis"> | undefined;
}

/** Makes the summary of a run. */
export function summarize(
  run: RunRow,
  latest: readonly MetricRow[],
  { now, metric, signs }: { readonly now: number; readonly metric?: string; readonly signs?: LastSigns },
): RunSummary {
  const walls = latest.map(({ wall }) => wall);
  const lastSign = Math.max(signs?.wall ?? 0, run.startedAt, run.heartbeat ?? 0, run.endedAt ?? 0, ...walls);
  const numbers = latest.filter(({ value }) => value !== undefined);
  const chosen = metric === undefined ? mainLoss(numbers) : numbers.find(fitsPattern(metric));
  return {
    ...run,
    counters: signs?.counters ?? run.counters,
    lastSign,
    silent: isSilent({ outcome: run.outcome, lastSign, ...signs }, now),
    duration: duration(run, lastSign, signs?.began),
    metric: chosen && {
      key: chosen.key,
      name: chosen.name,
      value: chosen.value,
      step: chosen.step,
      axis: chosen.axis,
    },
  };
}

/** A run that was gone on with did not work in between: then its own count of seconds is what there is. */
function duration(
  { counters, resumes, startedAt, endedAt }: RunRow,
  lastSign: number,
  began = lastSign,
): number {
  const counted = (counters.seconds ?? 0) * 1000;
  if (resumes === 0 || counted === 0) return (endedAt ?? lastSign) - startedAt;
  return endedAt === undefined ? counted + lastSign - began : counted;
}
