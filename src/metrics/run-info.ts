import type { Json } from "../checkpoint/index.ts";
import type { Counters } from "../schedule/index.ts";

/** A run, as its sinks see it. */
export interface RunInfo {
  /** Unique over all runs, and the same after a resume. Letters, digits, `-` and `_` only. */
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  /** Milliseconds since 1970 at which this process began it or went on with it. */
  readonly startedAt: number;
  /** Settings of the run: hyperparameters for those who file them. */
  readonly config: Json;
  /** Counters at which it ends, whichever comes first: `{ epochs: 20 }`. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Counters at which a resumed run goes on. What happened after them comes again. */
  readonly resumedAt?: Counters;
  /** True where the run of this id goes on, even from its beginning: then all that is filed of it comes again. */
  readonly continues?: boolean;
  /**
   * Of a run that goes on: up to where the metrics of this sink are filed for good. That is before `resumedAt` where a
   * window was open there: what was filed of it comes again too. Default `resumedAt`.
   */
  readonly filedUpTo?: Counters;
}

/** The progress of a run. */
export interface RunProgress {
  readonly counters: Counters;
  /** The unit of the goal that is nearest: epochs, or a limit of the configuration. */
  readonly unit: string;
  readonly done: number;
  /** Undefined where the run has no end of its own. */
  readonly total: number | undefined;
  /** Steps a second over the last stretch. */
  readonly rate: number | undefined;
  /** Seconds left by that rate. */
  readonly left: number | undefined;
}

/** The end of a run. */
export interface RunEnding {
  readonly outcome: "completed" | "stopped" | "interrupted" | "failed";
  readonly reason?: string;
  readonly counters: Counters;
}
