import type { Tensor } from "../engine/index.ts";
import type { EventName, Hook, HookContext, HookTiming } from "../hooks/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { Agree, EndingReason } from "./ending.ts";
import type { Settings } from "./settings.ts";
import type { Frozen, Phase, Task } from "./task.ts";
import type { PhaseTimings } from "./timing.ts";

/** How a run ended. */
export type Outcome = "completed" | "stopped" | "interrupted" | "failed";

/** Rows of a phase that follow each other without a row of the other between. */
export interface RowStretch {
  readonly phase: Phase;
  /** The first row, of those that the phase reported. */
  readonly from: number;
  readonly rows: number;
}

/** Values a stretch of work reported: on the device until somebody reads them. */
export interface Values {
  /** Repeats that reported them. */
  readonly count: number;
  readonly names: readonly string[];
  /** Rows of a value that count: one a batch, or one a rollout where rollouts reported it. */
  rows(name: string): number;
  /** What was done, in order: rows of one phase, then of the other. One where the call had one phase. */
  readonly stretches: readonly RowStretch[];
  /** Which phase reported a value. */
  phase(name: string): Phase;
  /** The counters when a row of a value was done. Seconds are spread evenly over the stretch; all else is exact. */
  at(name: string, row: number): Counters;
  /** A value as reported: its first axis is the repeat, and may be longer than the rows that count. */
  tensor(name: string): Tensor | undefined;
  /** One row a batch: updates that took effect, where the task may leave some out. */
  readonly applied: Tensor | undefined;
  /** What the task's ramps (learning rate, loss weights) were: one number a batch, as the program was given them. */
  readonly ramps: Readonly<Record<string, Float32Array>>;
  /** All rows of every value, read in one go and kept: an array a name, the rows that count. */
  read(): Promise<Readonly<Record<string, Float32Array>>>;
  /** The scalars of the last row: those of the last batch. */
  last(): Promise<Readonly<Record<string, number>>>;
}

/** Where the run is. A new object each time it is asked for; safe to keep. */
export interface TrainerState {
  readonly counters: Counters;
  readonly phase: Phase | "validation" | "none";
  /** How much of the epoch under way is done, from 0 to 1; 0 between epochs. */
  readonly epochShare: number;
  /**
   * Reads the newest value of every scalar metric that batches and rollouts have reported so far in the run: empty
   * before the first. How the work was cut into calls makes no difference. A rollout without an ended episode reports
   * no `episode.return`, so that the one before it stays.
   *
   * @example
   * ```ts
   * onEpochEnd: async ({ state }) => console.log((await state.metrics()).loss),
   * ```
   */
  metrics(): Promise<Readonly<Record<string, number>>>;
  /** In `onBatchesEnd` alone: the rows of the call that has ended, stacked. Undefined in all other events. */
  readonly values: Values | undefined;
  /** Metrics of the last validation. */
  readonly validation: Readonly<Record<string, number>> | undefined;
  readonly rank: number;
  readonly seed: number;
  /** The run's name. */
  readonly run: string;
}

/** What every handler of the trainer's events gets. */
export interface TrainerContext extends HookContext {
  readonly state: TrainerState;
  readonly config: TrainingConfig;
  /** What a run that resumes this one must share with it. */
  readonly settings: Settings;
  /** What the task's samples are. */
  readonly sampleUnit: Task["sampleUnit"];
  /** In `onBatchesEnd` alone: the rows of the call that has ended, stacked. Undefined in all other events. */
  readonly values: Values | undefined;
  /** Everything that belongs to the run's state, by name: the task's, the trainer's, the hooks'. */
  readonly components: Readonly<Record<string, Stateful>>;
  /** Components frozen at this step. */
  snapshot(components?: readonly string[]): Frozen | Promise<Frozen>;
  /** Random streams of the run. Draw from one of your own name: it moves no other. */
  readonly random: RandomStreams;
  /** How long each phase took so far. */
  readonly timings: PhaseTimings;
  /** How long each hook's calls took so far. */
  readonly hookTimings: readonly HookTiming[];
  /** In `onError` and after it: what failed. */
  readonly error: unknown;
  /** In `onTrainingEnd`: how the run ended, and why. */
  readonly outcome: Outcome | undefined;
  readonly reason: string | undefined;
  /** @internal Lets ranks end at the same place. Gives what ends this rank because another one does. */
  endTogether(agree: Agree): (why: EndingReason) => void;
}

/** The trainer's events, in the order in which the loop runs them: see `training-loop.ts`. */
export type TrainerEvents = {
  readonly onTrainingStart: TrainerContext;
  readonly onEpochStart: TrainerContext;
  readonly onRolloutStart: TrainerContext;
  readonly onRolloutEnd: TrainerContext;
  readonly onBatchStart: TrainerContext;
  readonly onBatchesEnd: TrainerContext;
  readonly onBatchEnd: TrainerContext;
  readonly onTrainPhaseEnd: TrainerContext;
  readonly onValidationStart: TrainerContext;
  readonly onValidationEnd: TrainerContext;
  readonly onEpochEnd: TrainerContext;
  readonly onError: TrainerContext;
  readonly onTrainingEnd: TrainerContext;
};

/** The name of an event of the trainer. */
export type TrainerEvent = EventName<TrainerEvents>;

/** Their names, in the same order. */
export const trainerEvents: readonly TrainerEvent[] = Object.keys({
  onTrainingStart: true,
  onEpochStart: true,
  onRolloutStart: true,
  onRolloutEnd: true,
  onBatchStart: true,
  onBatchesEnd: true,
  onBatchEnd: true,
  onTrainPhaseEnd: true,
  onValidationStart: true,
  onValidationEnd: true,
  onEpochEnd: true,
  onError: true,
  onTrainingEnd: true,
} satisfies Record<TrainerEvent, true>) as TrainerEvent[];

/** A hook of the trainer. */
export type TrainerHook = Hook<TrainerEvents>;
