import type { Schedule } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";

/** What all sinks can be told. */
export interface SinkChoice {
  /** Unique within a logger. Default: the kind of sink. */
  readonly name?: string;
  /** When its windows end. Default: consoles every 1000 steps, all others every 100. */
  readonly schedule?: Schedule;
  /** Categories it gets. Default all. */
  readonly categories?: readonly string[];
  /** Metrics it gets: `train/loss`, `validation/*`; `*` stands for any characters. Default all. */
  readonly metrics?: readonly string[];
}

/**
 * A place where metrics go. Calls come one after the other, never two at a time; a call may be asynchronous. A call
 * that throws is made again with the same records, so that what it filed before must not be filed twice; how often,
 * when, and what happens meanwhile is the business of `delivery/`, not the sink's. An EspalierError with the code
 * `SINK_REFUSED` says that these records will never do, one with `SINK_UNUSABLE` that no call will.
 *
 * @example
 * ```ts
 * const lines: string[] = [];
 * const mine: Sink = { name: "mine", write: (records) => void lines.push(...records.map(({ key }) => key)) };
 * const logger = new Logger({ sinks: [mine] });
 * ```
 */
export interface Sink extends SinkChoice {
  readonly name: string;
  /** The file that it writes, where it is one: no two sinks of a logger may have the same. */
  readonly path?: string;
  /** Before all else, once a process; again where it failed. */
  open?(run: RunInfo): void | Promise<void>;
  /** Files the records of a closed window, in order; of several, where they had to wait. */
  write(records: readonly MetricRecord[]): void | Promise<void>;
  /** Shows how far the run is, for sinks that show it. Called often; must not fail. */
  progress?(progress: RunProgress): void;
  /** Says something to whoever watches: warnings, the end of the run. For sinks that people read. */
  message?(text: string): void;
  /** After all else. What it buffered is out when it returns. */
  close?(ending: RunEnding): void | Promise<void>;
}
