import { type Counters, noCounters } from "../../../schedule/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunInfo, RunProgress } from "../../run-info.ts";

/** A record of `category/name`. */
export function recordOf(
  key: string,
  value: MetricRecord["value"],
  step: number,
  others: Partial<MetricRecord> = {},
): MetricRecord {
  const [category = "", ...name] = key.split("/");
  return {
    category,
    name: name.join("/"),
    key,
    unit: undefined,
    step,
    axis: "steps",
    counters: countersAt(step),
    wall: Date.UTC(2026, 0, 31) + step,
    value,
    reduction: "mean",
    count: 1,
    notFinite: 0,
    ...others,
  };
}

/** The records of one window at `step`. */
export const windowOf = (step: number, values: Readonly<Record<string, number>>): readonly MetricRecord[] =>
  Object.entries(values).map(([key, value]) => recordOf(key, value, step));

export const countersAt = (steps: number, others: Partial<Counters> = {}): Counters => ({
  ...noCounters,
  batches: steps,
  updates: steps,
  samples: 32 * steps,
  steps,
  seconds: steps / 1000,
  ...others,
});

export const progressAt = (done: number, others: Partial<RunProgress> = {}): RunProgress => ({
  counters: countersAt(done),
  unit: "steps",
  done,
  total: 4000,
  rate: 1234.5,
  left: (4000 - done) / 1234.5,
  ...others,
});

export const runInfo: RunInfo = {
  id: "mnist-7f3a",
  name: "mnist",
  startedAt: Date.UTC(2026, 0, 31),
  config: {},
};
