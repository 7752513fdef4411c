import type { MetricRecord } from "../../record.ts";
import { mlflowName } from "./names.ts";

/** A value as MLflow's interface has it. Numbers that JSON does not have are `"NaN"`, `"Infinity"`, `"-Infinity"`. */
export interface Metric {
  readonly key: string;
  readonly value: number | string;
  /** Milliseconds since 1970, whole. */
  readonly timestamp: number;
  /** Whole. */
  readonly step: number;
}

export const metricOf = ({ key, step, wall }: MetricRecord, value: number): Metric => ({
  key: mlflowName(key),
  value: Number.isFinite(value) ? value : String(value),
  timestamp: Math.round(wall),
  step: Math.round(step),
});

/** Of one request: 1000 metrics and 1 MB, some of which is the rest of it. */
const MOST_METRICS = 1000;
const MOST_BYTES = 900_000;

/** Cuts metrics into what one request takes. */
export function* requestsOf(metrics: readonly Metric[]): Generator<readonly Metric[], void, undefined> {
  let from = 0;
  let bytes = 0;
  for (const [i, metric] of metrics.entries()) {
    const size = Buffer.byteLength(JSON.stringify(metric)) + 1;
    if (i > from && (i - from === MOST_METRICS || bytes + size > MOST_BYTES)) {
      yield metrics.slice(from, i);
      from = i;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < metrics.length) yield metrics.slice(from);
}
