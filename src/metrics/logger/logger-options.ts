import type { Clock } from "../../core/index.ts";
import type { Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { MetricDeclaration } from "../metric.ts";
import type { Reduction } from "../record.ts";
import type { DeliveryLimits, SinkSummary } from "../sinks/delivery/delivery.ts";
import type { Sink } from "../sinks/sink.ts";
import type { LoggedValue } from "./logged-value.ts";

/** What a {@link Logger} is made with. */
export interface LoggerOptions {
  readonly sinks: readonly Sink[];
  /** What is known of metrics beforehand: see `declareMetric`. */
  readonly metrics?: readonly MetricDeclaration[];
  /** Where values that a failing sink cannot take wait for it. Without it they wait in memory, as many as fit. */
  readonly spill?: string;
  /** How many seconds a sink is waited for, when it is tried again, how much waits: what differs from the defaults. */
  readonly delivery?: Partial<DeliveryLimits>;
  readonly clock?: Clock;
  /** Told once of each sink that fails, and of values that are lost. Default: standard error. */
  readonly warn?: (text: string) => void;
}

/** Values as they come stacked from the device, or as numbers: the first axis of each is the row. */
export interface LoggedRows {
  readonly values: Readonly<Record<string, Tensor | Float32Array>>;
  readonly rows: number;
  /** The first of them. Default 0. */
  readonly from?: number;
  /** Where a row belongs, the first that counts being 0. */
  readonly at: (row: number) => Counters;
  /** Whether NaN says that there was nothing to report: such rows are left out. Default false: it is a value. */
  readonly nanIsNone?: boolean;
  /** By name, how the values of a window become one where that is not declared. Default: what fits them. */
  readonly reductions?: Readonly<Record<string, Reduction>>;
}

/** Logs in one owner's name. */
export interface OwnedLogger {
  log(values: LoggedValues, at: number | Counters, category?: string): void;
  logRows(stack: LoggedRows, category?: string): void;
}

/** Values to log, by name. */
export type LoggedValues = Readonly<Record<string, LoggedValue | unknown>>;

/** What became of what was logged. */
export interface LoggerSummary {
  readonly sinks: readonly SinkSummary[];
  /** Values that were undefined or null, and those that could not be read from the device. */
  readonly missing: number;
  readonly unreadable: number;
}
