import type { Counters } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunInfo } from "../run-info.ts";

/** The point after which metrics come again, where a run goes on. */
export const filedUpTo = (run: Pick<RunInfo, "resumedAt" | "filedUpTo">): Counters | undefined =>
  run.filedUpTo ?? run.resumedAt;

/**
 * Whether a resumed run files this record once more: it lies after the point where the run goes on, on its own axis.
 * What is counted on something that the run does not know is kept: a value twice is better than none.
 */
export const comesAgain = (
  { step, axis }: Pick<MetricRecord, "step" | "axis">,
  filed: Counters | undefined,
): boolean => step > (filed?.[axis] ?? Number.POSITIVE_INFINITY);
