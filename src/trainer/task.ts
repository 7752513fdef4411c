import type { Tensor } from "../engine/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { Counters, Ramp } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerHook } from "./events.ts";
import type { Settings } from "./settings.ts";

/** The phases of an epoch. */
export type Phase = "rollout" | "train";

/** A stretch of an epoch: the same work so many times over. */
export interface Segment {
  readonly phase: Phase;
  readonly repeats: number;
  /**
   * What each repeat adds to the counters, in whole numbers. A train repeat is one batch:
   * `batches: 1` is understood, and so are the steps.
   */
  readonly adds: Readonly<Record<string, number>>;
  /** Whether the task can run its end and the start of what follows (another segment, the next epoch) in one call. */
  readonly fusesWithNext: boolean;
  /** The most repeats a call that contains it can take, those of other segments included: 1 where fusing does not pay. */
  readonly maxFuse: number;
  /** For the task's own use. */
  readonly data?: unknown;
}

/** Some repeats of a segment. */
export interface Span {
  readonly segment: Segment;
  /** The index of the segment within its epoch, and of the first repeat within the segment. */
  readonly index: number;
  readonly from: number;
  readonly count: number;
  /** Counters before its first repeat. */
  readonly at: Counters;
}

/** A stretch of work in one call: nobody watches what lies between. */
export interface Request {
  readonly at: Counters;
  /** In order; more than one only where segments say that they fuse. */
  readonly spans: readonly Span[];
  /** Repeats in all spans together. */
  readonly count: number;
  /** The value of each ramp at every repeat: `count` numbers, in order. The arrays are the trainer's: read them during the call. */
  readonly ramps: Readonly<Record<string, Float32Array>>;
  readonly signal: AbortSignal;
}

/** What a stretch of work gave, left on the device. */
export interface Report {
  /**
   * By name, one row a train repeat: the leading axis is the repeat. It may be longer than what was asked for; the
   * first rows count. Where rollouts alone were asked for, one row a rollout repeat.
   */
  readonly metrics: Readonly<Record<string, Tensor>>;
  /** In a call with rollouts and batches: what the rollouts gave, one row a rollout repeat. */
  readonly rollout?: Readonly<Record<string, Tensor>>;
  /** One row a train repeat: updates that took effect (0 or 1 where a repeat is one update), as `skipNonFinite` counts them. */
  readonly applied?: Tensor;
  /**
   * Whether the numbers are still finite, for `onNonFinite`: without it nothing is checked. `first` is one i32 on the
   * device: the index of the first train repeat whose loss or parameters were not finite, -1 while all were. It is
   * carried from call to call, so that the newest tells of all. `from` is the index of this call's first train repeat.
   */
  readonly nonFinite?: { readonly first: Tensor; readonly from: number };
  /**
   * What rollouts added to counters of the task's own that no segment could name beforehand (`episodes`): by name, one
   * whole number a rollout repeat. What is scheduled in such a unit is looked at after each rollout.
   */
  readonly counted?: Readonly<Record<string, ArrayLike<number>>>;
  /** Repeats done where the source ended early; what follows in the epoch is left out. Metrics have that many rows. */
  readonly exhausted?: number;
}

/** What evaluation and checkpoints read: states frozen at one step. */
export interface Frozen {
  readonly components: Readonly<Record<string, StateTree>>;
}

/**
 * What differs between kinds of training. The trainer asks what an epoch consists of and has it done, stretch by
 * stretch; the task keeps its numbers on the device and knows nothing of hooks, files or logs.
 */
export interface Task {
  /** Parameters, optimizer, data position, environments, buffers: everything that decides how it goes on. */
  readonly components: Readonly<Record<string, Stateful>>;
  readonly sampleUnit: "examples" | "tokens" | "agentSteps";
  /** The counter that "steps" means for this task. */
  readonly stepUnit: "updates" | "samples" | "batches";
  /** Learning rate, loss weights, clip range: inputs of the compiled program. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  /**
   * What of its set-up must stay the same for a resumed run to go on with the same bits, in plain values: the batch
   * size, how many examples there are. Filed with checkpoints and compared.
   */
  readonly settings?: Settings;
  /**
   * Counters of its own (`episodes`), from 0: schedules understand them as units. Segments' `adds` name them, or
   * reports say afterwards what was `counted`.
   */
  readonly counters?: readonly string[];
  /** Hooks that come with it, its losses' among them. */
  readonly hooks?: readonly TrainerHook[];
  /** Called once, before `onTrainingStart`: the run it is part of. `warn` is told what does not stop it. */
  begin?(run: {
    readonly config: TrainingConfig;
    readonly random: RandomStreams;
    readonly warn: (text: string) => void;
  }): void | Promise<void>;
  /** Called once, when all work is done and before `onTrainingEnd`; not where the run has failed. */
  end?(): void | Promise<void>;
  /** What this epoch consists of, from its beginning: the same answer each time it is asked for one epoch. */
  epoch(at: Counters): readonly Segment[];
  /** Does a stretch of it. */
  run(request: Request): Report | Promise<Report>;
  /** Metrics on held-out data. */
  validate?(context: {
    readonly counters: Counters;
    readonly signal: AbortSignal;
  }): Promise<Readonly<Record<string, number>>>;
  /** The states of these components (all where none are named), frozen at this step. */
  snapshot(components?: readonly string[]): Frozen | Promise<Frozen>;
}
