import type { Counters } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";

/**
 * Whether a resumed run files this record once more: it lies after the point where the run goes on, on its own axis.
 * What is counted on something that the run does not know is kept: a value twice is better than none.
 */
export const comesAgain = (
  { step, axis }: Pick<MetricRecord, "step" | "axis">,
  resumedAt: Counters | undefined,
): boolean => step > (resumedAt?.[axis] ?? Number.POSITIVE_INFINITY);
