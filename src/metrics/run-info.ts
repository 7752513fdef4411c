import type { Counters } from "../schedule/index.ts";
import type { Json } from "./json.ts";

/** What sinks are told of the run whose metrics they get. */
export interface RunInfo {
  /** Unique over all runs, and the same after a resume. Letters, digits, `-` and `_` only. */
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  /** Milliseconds since 1970 at which this process began it or went on with it. */
  readonly startedAt: number;
  /** Settings of the run: hyperparameters for those who file them. */
  readonly config: Json;
  /** Where the run goes on, if it is not new. Whatever happened after this point comes again. */
  readonly resumedAt?: Counters;
  /**
   * Of a run that goes on: up to where the metrics of this sink are filed for good. That is before `resumedAt` where a
   * window was open there: what was filed of it comes again too. Default `resumedAt`.
   */
  readonly filedUpTo?: Counters;
}

/** How far a run is, for those who show it. */
export interface RunProgress {
  readonly counters: Counters;
  /** What the run counts towards: its epochs or the limit that is nearest. */
  readonly unit: string;
  readonly done: number;
  /** Undefined where the run has no end of its own. */
  readonly total: number | undefined;
  /** Steps a second over the last stretch. */
  readonly rate: number | undefined;
  /** Seconds left by that rate. */
  readonly left: number | undefined;
}

/** How a run ended, for those who file it. */
export interface RunEnding {
  readonly outcome: "completed" | "stopped" | "interrupted" | "failed";
  readonly reason?: string;
  readonly counters: Counters;
}
