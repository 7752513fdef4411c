import type { Counters } from "../../schedule/index.ts";
import type { SuiteResult } from "./scores.ts";
import type { Suites } from "./suites.ts";

/** A checkpoint to be evaluated somewhere else. Plain data. */
export interface EvaluationJob {
  /** Unique within its run. */
  readonly id: string;
  /** The address of the checkpoint: all that an evaluator gets of the run. */
  readonly checkpoint: string;
  readonly suites: Suites;
  readonly episodes: number;
  readonly seed: number;
  readonly deterministic: boolean;
  /** The run's id or name in the stats store that results are filed in. */
  readonly run: string;
  /** The step that results are filed under, and the counters of the checkpoint. */
  readonly step: number;
  readonly counters: Counters;
}

/** What became of a job: scores of its suites, or why there are none. */
export interface EvaluationOutcome {
  readonly job: EvaluationJob;
  readonly results?: readonly Pick<SuiteResult, "suite" | "scores">[];
  readonly failure?: Error;
}

/**
 * Takes checkpoints to be evaluated by somebody else: a process of its own, a cluster. What they find comes back
 * through the stats store, as rows that name the checkpoint.
 *
 * @example
 * ```ts
 * const queue = processQueue({ store: "runs/stats.db" });
 * evaluationHook({ player, suites, schedule: every({ epochs: 10 }), mode: "remote", queue });
 * ```
 */
export interface EvaluationQueue {
  /**
   * Whether its evaluators can open a checkpoint at this address. A published one that they cannot open is evaluated
   * from where the run saved it. Default: they can open all.
   */
  opens?(address: string): boolean;
  /** Takes a job. Resolves once it is safe with the queue, not when it is done. */
  submit(job: EvaluationJob): Promise<void>;
  /**
   * What became of jobs of a run since it was last asked, in the order in which they were submitted. With `wait`, once
   * all of them are done or the signal says so.
   */
  results(
    run: string,
    options?: { readonly wait?: boolean; readonly signal?: AbortSignal },
  ): Promise<readonly EvaluationOutcome[]>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}
