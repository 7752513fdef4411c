import type { Tensor } from "../engine/index.ts";
import type { Hook, HookContext, HookManager, HookTiming } from "../hooks/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { RampValue } from "./dispatch.ts";
import type { Agree, EndingReason } from "./ending.ts";
import type { Frozen, Phase, Settings, Task } from "./task.ts";

/** How a run ended. */
export type Outcome = "completed" | "stopped" | "interrupted" | "failed";

/** Rows of a phase that follow each other without a row of the other between. */
export interface RowSpan {
  readonly phase: Phase;
  /** The first row, among those of the phase. */
  readonly from: number;
  readonly rows: number;
}

/** Metrics that a call of the task reported: on the device until they are read. */
export interface Values {
  /** Repeats that reported them. */
  readonly count: number;
  readonly names: readonly string[];
  /** Rows of a metric that count: one per batch, or one per rollout where rollouts reported it. */
  rows(name: string): number;
  /** The rows in the order of the work: rows of one phase, then of the other. One span where the call had one phase. */
  readonly spans: readonly RowSpan[];
  /** The phase that reported a metric. */
  phase(name: string): Phase;
  /** The counters when a row of a metric was done. Seconds are spread evenly over the call; all else is exact. */
  at(name: string, row: number): Counters;
  /** A metric as reported: its first axis is the repeat, and may be longer than the rows that count. */
  tensor(name: string): Tensor | undefined;
  /** One row per batch: updates that took effect, where the task may leave some out. */
  readonly applied: Tensor | undefined;
  /** The task's ramps (learning rate, loss weights): one number per batch, as the program was given them. */
  readonly ramps: Readonly<Record<string, Float32Array>>;
  /** All rows of every metric that count, read in one go and kept. */
  read(): Promise<Readonly<Record<string, Float32Array>>>;
  /** The scalars of the last row: those of the last batch. */
  last(): Promise<Readonly<Record<string, number>>>;
}

/** The name that time is counted under: `fused` is rollouts and batches in one call. */
export type TimedPhase = Phase | "fused" | "validation";

/** How often a phase ran, and how long it took. */
export interface PhaseTiming {
  /** Calls of the task. */
  readonly calls: number;
  /** Of the host: a device that works on its own may still be busy with what was handed to it. */
  readonly seconds: number;
}

/** How long each phase took so far in this process. Hooks have timings of their own. */
export type PhaseTimings = Readonly<Record<TimedPhase, PhaseTiming>>;

/** Where the run is. A new object each time it is asked for; safe to keep. */
export interface TrainerState {
  readonly counters: Counters;
  readonly phase: Phase | "validation" | "none";
  /** The share of the epoch under way that is done, from 0 to 1; 0 between epochs. */
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

/** The ways in which a hook can change the model under training. */
export interface Interventions {
  /** The components that predictions need, and those that updates change. */
  readonly model: readonly string[];
  readonly learned: readonly string[];
  /**
   * Gives components states that they had before, such as the best parameters, while counters and data go on. A model that is put back for good, at the end of a run, is given with
   * the metrics of its validation, if there was one; a checkpoint hook saves it then.
   */
  putBack(
    states: Frozen["components"],
    measured?: { readonly validation?: Readonly<Record<string, number>> | undefined },
  ): Promise<void>;
  /** A model was put back for good after the last update: scores measured at these counters are not its own. */
  readonly earlierModel: boolean;
  /** From the next update on a ramp of the task has this many times its value. The hook's state has to remember it. */
  scaleRamp(name: string, factor: number): void;
  /**
   * From the next update on a ramp of the task has this value; undefined: its own again. The hook's state has to
   * remember it, with the factor that the ramp was scaled by then: scaled later, it is this value that is scaled.
   * Default: the factor of now.
   */
  setRamp(name: string, value: number | undefined, factor?: number): void;
  /** The task's ramps at the counters of now: the value in use, the one that was set, the factor. */
  ramps(): Readonly<Record<string, RampValue>>;
  /** The manager of the run's hooks. */
  readonly hooks: HookManager<TrainerEvents>;
  /**
   * Calls a hook now, whatever its schedule says: its handler of the event under way, or else of the first event after
   * work that it handles. False where it handles none of them, is disabled, or runs on other ranks.
   */
  runHook(name: string): Promise<boolean>;
  /** Waits for work while the run stands still: that time does not count as the run's. */
  standStill(work: () => Promise<void>): Promise<void>;
  /**
   * Leaves updates that are not finite to this hook, whatever `onNonFinite` says. Returns a function that waits for the
   * device and tells the counters of the first since it was asked before; undefined where all were finite.
   */
  watchNonFinite(): () => Promise<Counters | undefined>;
}

/** The context that handlers of the trainer's events get. */
export interface TrainerContext extends HookContext {
  readonly state: TrainerState;
  readonly config: TrainingConfig;
  /** Settings that a run that resumes this one must share with it. */
  readonly settings: Settings;
  /** Stored with checkpoints, and not compared. */
  readonly about: Settings | undefined;
  /** The meaning of the task's samples. */
  readonly sampleUnit: Task["sampleUnit"];
  /** In `onBatchesEnd` alone: the rows of the call that has ended, stacked. Undefined in all other events. */
  readonly values: Values | undefined;
  /** Everything that belongs to the run's state, by name: the task's, the trainer's, the hooks'. */
  readonly components: Readonly<Record<string, Stateful>>;
  /** Components frozen at this step. */
  snapshot(components?: readonly string[]): Frozen | Promise<Frozen>;
  /** The ways in which a hook can change the model under training. */
  readonly interventions: Interventions;
  /** In events of validation: it is the one at the end of the run, which a run that goes further does not have. */
  readonly atEnd: boolean;
  /** Random streams of the run. Draw from one of your own name: it moves no other. */
  readonly random: RandomStreams;
  /** How long each phase took so far. */
  readonly timings: PhaseTimings;
  /** How long each hook's calls took so far. */
  readonly hookTimings: readonly HookTiming[];
  /** True where several ranks hold the same state, which the main one saves for all. */
  readonly sharesState: boolean;
  /** In `onError` and after it: the failure. */
  readonly error: unknown;
  /** In `onTrainingEnd`: how the run ended, and why. */
  readonly outcome: Outcome | undefined;
  readonly reason: string | undefined;
  /** @internal How and why the run is to end; undefined while it goes on. */
  readonly endAsked: EndingReason | undefined;
  /** @internal Lets ranks end at the same position. Returns a function that ends this rank because another one does. */
  endTogether(agree: Agree): (why: EndingReason) => void;
}

/** The trainer's events, in the order in which the loop runs them: see `training-loop.ts`. */
export const trainerEvents = [
  "onTrainingStart",
  "onEpochStart",
  "onRolloutStart",
  "onRolloutEnd",
  "onBatchStart",
  "onBatchesEnd",
  "onBatchEnd",
  "onTrainPhaseEnd",
  "onValidationStart",
  "onValidationEnd",
  "onEpochEnd",
  "onError",
  "onTrainingEnd",
] as const;

/** The name of an event of the trainer. */
export type TrainerEvent = (typeof trainerEvents)[number];

/** The context that handlers of each event get. */
export type TrainerEvents = { readonly [Event in TrainerEvent]: TrainerContext };

/** A hook of the trainer. */
export type TrainerHook = Hook<TrainerEvents> & {
  /** Changes the task when the hook is registered, before it compiles its programs: see `emaHook`. */
  readonly prepareTask?: (task: Task) => void;
};
