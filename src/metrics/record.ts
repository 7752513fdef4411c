import type { Counters } from "../schedule/index.ts";

/**
 * The way in which the values of a window become one. `rate` is their sum by the seconds of the window. With `none` they do not:
 * every value is a record of its own, at its own step.
 */
export type Reduction = "mean" | "last" | "sum" | "min" | "max" | "histogram" | "rate" | "none";

/** The counter of the run that a metric is counted on. `steps` is the task's own axis. */
export type Axis = string;

/** Many numbers in little room: `counts[i]` of them lie from `edges[i]` on and below `edges[i + 1]`, the last also on it. */
export interface Histogram {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  /** Numbers in all, those that are not finite left out. */
  readonly count: number;
}

/** A record for sinks: one metric over one window, or one value of a metric that is not reduced. */
export interface MetricRecord {
  readonly category: string;
  /** As it was logged. */
  readonly name: string;
  /** `category/name`, with nothing in it that any sink could stumble over. One key is one metric, always. */
  readonly key: string;
  readonly unit: string | undefined;
  /** Its position on the axis: the last step of the window with a value; for a late value the step it belongs to. */
  readonly step: number;
  readonly axis: Axis;
  /** The counters at that step, where they are known. */
  readonly counters: Counters;
  /** Milliseconds since 1970 at which the window was closed. */
  readonly wall: number;
  readonly value: number | string | Histogram;
  readonly reduction: Reduction;
  /** Values in the window, and how many of them were not finite. */
  readonly count: number;
  readonly notFinite: number;
}

/** True for a record of a number, which may be NaN or infinite. */
export const isScalar = (record: MetricRecord): record is MetricRecord & { readonly value: number } =>
  typeof record.value === "number";

/** True for a record of a text. */
export const isText = (record: MetricRecord): record is MetricRecord & { readonly value: string } =>
  typeof record.value === "string";

/** True for a record of a histogram. */
export const isHistogram = (record: MetricRecord): record is MetricRecord & { readonly value: Histogram } =>
  typeof record.value === "object";
