import { slot } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";

/** Scores of an evaluation by name, and the counters of the state it looked at. */
export type EvaluationScores = {
  readonly scores: Readonly<Record<string, number>>;
  readonly counters: Counters;
  /** The address of the checkpoint that was evaluated, where it was one and not the run itself. */
  readonly checkpoint?: string;
};

/** Metrics by name, and the counters they belong to. */
export type LatestMetrics = {
  readonly metrics: Readonly<Record<string, number>>;
  readonly counters: Counters;
};

/** A checkpoint that is whole. */
export type CheckpointRecord = {
  readonly path: string;
  /** The address it was published at, if it was. */
  readonly uri: string | null;
  readonly counters: Counters;
  /** The newest that was published, if any was: this one, or one before it. */
  readonly published?: { readonly uri: string; readonly counters: Counters };
  /** Keeps it from being pruned until the function that is returned is called. Missing where it is never pruned. */
  readonly use?: () => () => void;
};

/** Figures of gradients. */
export type GradientHealth = {
  /** The newest norm, and the greatest finite one of the last hundred updates. */
  readonly norm: number;
  readonly maxNorm: number;
  /** Updates that did not take effect because a number was not finite. */
  readonly skipped: number;
};

/**
 * Figures of the last rollout: `samples`, `episodes` that ended in it, their means `episode.return` and
 * `episode.length` where some did, and means of what steps had in their info, `info.NAME`.
 */
export type RolloutStats = { readonly [name: string]: number };

/** Recorded episodes to look at: where they lie. */
export type ReplayRecord = {
  readonly path: string;
  readonly uri: string | null;
  readonly counters: Counters;
};

/** An interference with the run. */
export type InterventionRecord = {
  /** The hook, or the person who asked for it. */
  readonly who: string;
  readonly what: string;
  readonly reason: string;
  readonly counters: Counters;
  /** Milliseconds since 1970 at which it took place: told again with the same, it is stored once. Default: now. */
  readonly wall?: number;
  /** Stored beside the reason. */
  readonly details?: Readonly<Record<string, string | number | null>>;
};

/** The run stands still, or goes on again. */
export type PauseRecord = {
  readonly paused: boolean;
  readonly counters: Counters;
};

/**
 * The shared values that the trainer's own kinds of hooks agree on. A hook that provides scores runs before those
 * that want them: "evaluation, then metrics, then checkpoint" follows from that.
 *
 * @example
 * ```ts
 * const announce: TrainerHook = {
 *   name: "announce",
 *   wants: [evaluationScores],
 *   onEpochEnd: ({ slots, log }) => log({ reward: slots.get(evaluationScores)?.scores.reward }),
 * };
 * ```
 */
export const evaluationScores = slot<EvaluationScores>("evaluation.scores", {
  // Where a checkpoint lies, and how long the run took, no two runs share.
  save: ({ scores, counters }) => ({ scores, counters: { ...counters, seconds: 0 } }),
});
/**
 * Metrics as they were last gathered: provided by metrics, wanted by checkpoints, which file them. Not part of the
 * run's state: which metrics have come from the device at a moment is a matter of time.
 */
export const latestMetrics = slot<LatestMetrics>("metrics.latest", { saved: false });
/** The newest whole checkpoint. Not part of the run's state: a resumed run knows what it resumed from. */
export const latestCheckpoint = slot<CheckpointRecord>("checkpoint.latest", {
  saved: false,
  conflict: "make one of them the primary checkpoint hook, and give the others primary: false",
});
/** Figures of gradients, up to the batch at which a hook reads the slot. Filled at the run's end where no hook reads it. */
export const gradientHealth = slot<GradientHealth>("gradients.health");
/** The last rollout's figures: tasks of reinforcement learning provide them. */
export const rolloutStats = slot<RolloutStats>("rollout.stats");
/** The newest interference with the run, for the stats store. Not part of the run's state. */
export const latestIntervention = slot<InterventionRecord>("intervention.latest", {
  saved: false,
  shared: true,
});
/**
 * The pause of a run: provided when it begins and when it ends, and every few seconds between, so that those who
 * say that a run is alive, or that it hangs, know. Not part of the run's state.
 */
export const latestPause = slot<PauseRecord>("run.paused", { saved: false });
/** The newest recorded episode. Not part of the run's state: it lies somewhere else in each run. */
export const latestReplay = slot<ReplayRecord>("replay.latest", { saved: false });
