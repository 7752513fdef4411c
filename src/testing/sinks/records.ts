import type { MetricRecord, RunEnding, RunInfo } from "../../metrics/index.ts";
import { noCounters } from "../../schedule/index.ts";

/** A record as a logger would make it, with what a check cares about. */
export function metricRecord(
  given: Partial<MetricRecord> & Pick<MetricRecord, "step" | "value">,
): MetricRecord {
  const { category = "train", name = "loss", step, value } = given;
  const axis = given.axis ?? "steps";
  return {
    category,
    name,
    key: `${category}/${name}`,
    unit: undefined,
    axis,
    counters: { ...noCounters, [axis]: step },
    wall: 1_700_000_000_000 + step * 1000,
    reduction: "mean",
    count: 1,
    notFinite: typeof value === "number" && !Number.isFinite(value) ? 1 : 0,
    ...given,
  };
}

/** The values 1, 1/2, 1/3, ... of one metric at these steps. */
export const series = (from: number, to: number, given: Partial<MetricRecord> = {}): MetricRecord[] =>
  Array.from({ length: to - from + 1 }, (_, i) =>
    metricRecord({ ...given, step: from + i, value: 1 / (from + i) }),
  );

/** A run, new or gone on with at a step. */
export const runInfo = (id: string, resumedAt?: number): RunInfo => ({
  id,
  name: `the ${id}`,
  startedAt: 1_700_000_000_000,
  config: { seed: 7, model: { width: 64, name: "small" }, rates: [0.1, 0.01] },
  ...(resumedAt === undefined
    ? {}
    : { resumedAt: { ...noCounters, steps: resumedAt, updates: resumedAt, batches: resumedAt } }),
});

export const completed: RunEnding = { outcome: "completed", counters: { ...noCounters, steps: 10 } };
