import { type Clock, EspalierError, printableText, systemClock, toStandardError } from "../core/index.ts";
import { HookManager, type HookResults } from "../hooks/index.ts";
import { RandomStreams } from "../random/index.ts";
import { type TrainingConfig, trainingConfig } from "./config.ts";
import { contextOf, type RunContext } from "./context.ts";
import { RampInputs } from "./dispatch.ts";
import { Ending } from "./ending.ts";
import {
  type PhaseTiming,
  type PhaseTimings,
  type TimedPhase,
  type TrainerEvent,
  type TrainerEvents,
  type TrainerHook,
  type TrainerState,
  trainerEvents,
} from "./events.ts";
import { FiniteWatch } from "./finite.ts";
import { EpochMeans, NewestMetrics, type ReportValues } from "./metrics.ts";
import { Progress } from "./progress.ts";
import { checkRanks, type RankGroup } from "./ranks.ts";
import { checkTask, firstCounters, type Segment, segmentsOf, type Task, taskFailed } from "./task.ts";
import type { TrainerOptions } from "./trainer.ts";

/**
 * One run: its parts, each made from those before it, and the little that moves beside `progress`.
 *
 * 1. config: completed, checked, frozen
 * 2. task: its contract checked
 * 3. random: streams split from the seed
 * 4. progress: counters, position in the epoch, means that ramps follow, newest metrics
 * 5. hooks: the manager, then the task's hooks, then the given ones
 * 6. context: what hooks see of all this
 */
export class Run {
  readonly config: TrainingConfig;
  /** Ranks that train together and hold the same state; undefined for one process, or ranks with states of their own. */
  readonly ranks: RankGroup | undefined;
  readonly task: Task;
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly random: RandomStreams;
  readonly means: EpochMeans;
  readonly metrics = new NewestMetrics();
  readonly progress: Progress;
  readonly ending: Ending;
  readonly ramps: RampInputs;
  readonly finite: FiniteWatch;
  readonly timings = new PhaseClock();
  readonly hooks: HookManager<TrainerEvents>;
  readonly context: RunContext;
  /** True in the validation at the end of the run. */
  atEnd = false;
  #phase: TrainerState["phase"] = "none";
  #reported: ReportValues | undefined;
  #ahead = 0;
  #segments: readonly Segment[] = [];
  /** The beginning of the epoch whose segments these are. */
  #segmentsAt: object | undefined;
  #epochRepeats = 0;

  constructor(options: TrainerOptions) {
    const { clock = systemClock, logger, warn = toStandardError } = options;
    this.clock = clock;
    this.warn = (text) => warn(printableText(text));
    this.ending = new Ending(this.warn);
    this.ranks = options.ranks;
    this.config = trainingConfig(withRanks(options));
    this.task = checkTask(options.task);
    checkRanks(this.task, this.ranks);
    this.random = new RandomStreams(this.config.seed);
    this.means = new EpochMeans(this.task.ramps);
    this.ramps = new RampInputs(this.task.ramps);
    this.finite = new FiniteWatch(this.config.onNonFinite, this.warn);
    this.progress = new Progress(firstCounters(this.task), {
      means: this.means,
      metrics: this.metrics,
      now: () => clock.now(),
      // Hooks that come after the one that restores see where the run is.
      restored: () => {
        this.context.counters = this.progress.counters;
      },
    });
    this.hooks = new HookManager<TrainerEvents>({
      events: trainerEvents,
      clock,
      warn: this.warn,
      trace: this.config.trace,
      ...(logger && { logger }),
    });
    try {
      const given = [...(this.task.hooks ?? []), ...(options.hooks ?? []), ...(this.ranks?.hooks ?? [])];
      for (const hook of given) this.register(hook);
    } catch (error) {
      this.hooks.clear(); // Those before it have been set up.
      throw error;
    }
    this.context = contextOf(this);
  }

  register(hook: TrainerHook): void {
    const prepare = (each: TrainerHook): void => {
      each?.prepareTask?.(this.task); // What is no hook is refused by the manager.
      for (const child of each?.children ?? []) prepare(child);
    };
    prepare(hook);
    this.hooks.register(hook);
  }

  /** The phase that hooks see. */
  get phase(): TrainerState["phase"] {
    return this.#phase;
  }

  enter(phase: TrainerState["phase"]): void {
    this.#phase = phase;
  }

  /**
   * Repeats that the last call has done and that the loop has not passed yet. Meanwhile events are only noted: `fuse.ts`
   * has made sure that no hook is due for them.
   */
  get ahead(): number {
    return this.#ahead;
  }

  /** The report of the last call. */
  get reported(): ReportValues | undefined {
    return this.#reported;
  }

  /** Takes over what a call has done, for the loop to pass. */
  callDone(repeats: number, reported: ReportValues | undefined): void {
    this.#ahead = repeats;
    this.#reported = reported ?? this.#reported;
  }

  /** The loop has passed some of the repeats that were done. */
  pass(repeats: number): void {
    this.#ahead -= repeats;
  }

  /**
   * Runs an event's hooks at the counters of now. Returns a promise only where a hook did.
   */
  emit(event: TrainerEvent): HookResults | undefined | Promise<HookResults | undefined> {
    const { progress, context } = this;
    const since = progress.occurs(event);
    if (this.#ahead > 0) return undefined;
    this.#phase = phases[event] ?? this.#phase;
    context.counters = progress.counters;
    context.since = since;
    context.values = event === "onBatchesEnd" ? this.#reported : undefined;
    return this.hooks.run(event, context);
  }

  /** The segments of the epoch under way. The task is asked once an epoch, and again after a restored state. */
  get segments(): readonly Segment[] {
    const { task, progress } = this;
    if (this.#segmentsAt !== progress.epochAt) {
      try {
        this.#segments = segmentsOf(task, progress.epochAt);
      } catch (cause) {
        throw taskFailed("epoch", progress.epochAt, cause);
      }
      this.#epochRepeats = this.#segments.reduce((sum, { repeats }) => sum + repeats, 0);
      checkPosition(progress, this.#segments);
      this.#segmentsAt = progress.epochAt;
    }
    return this.#segments;
  }

  /** The share of the epoch under way that is done, from 0 to 1; 0 between epochs. */
  get epochShare(): number {
    const { counters, done } = this.progress;
    return counters.epochs > counters.epoch || this.#epochRepeats === 0 ? 0 : done / this.#epochRepeats;
  }
}

/** The configuration with the group's numbers. The main rank's clock decides for all when a run has taken its seconds. */
function withRanks({ config, ranks }: TrainerOptions): Partial<TrainingConfig> | undefined {
  if (!ranks) return config;
  const main = ranks.rank === 0 ? {} : { maxSeconds: Number.POSITIVE_INFINITY };
  return { ...config, rank: ranks.rank, ranks: ranks.ranks, ...main };
}

/** The phase an event belongs to: by itself, so that a resumed run says the same. `onBatchesEnd` is in that of its call. */
const phases: Readonly<Record<TrainerEvent, TrainerState["phase"] | undefined>> = {
  onTrainingStart: "none",
  onEpochStart: "none",
  onRolloutStart: "rollout",
  onRolloutEnd: "rollout",
  onBatchStart: "train",
  onBatchesEnd: undefined,
  onBatchEnd: "train",
  onTrainPhaseEnd: "train",
  onValidationStart: "validation",
  onValidationEnd: "validation",
  onEpochEnd: "none",
  onError: undefined,
  onTrainingEnd: "none",
};

/** Refuses a restored position that the epoch does not have: its state may come from an epoch of another shape. */
function checkPosition({ segment, repeat, next, epochAt }: Progress, segments: readonly Segment[]): void {
  const begins = next === "onBatchStart" || next === "work";
  const repeats = segments[segment]?.repeats;
  let fits: boolean;
  if (repeats === undefined) fits = segment === segments.length && !begins;
  else fits = begins ? repeat < repeats : repeat <= repeats;
  if (fits) return;
  throw new EspalierError(
    "STATE_INVALID",
    `the restored state is in epoch ${epochAt.epoch}, segment ${segment}, after ${repeat} repeats, where the task's epoch has nothing to do`,
    { fix: "restore it with the data and batch size it was taken with, or restore the parameters alone" },
  );
}

/** Adds up the time of each phase: two readings of the clock a call. */
class PhaseClock {
  readonly #calls: Record<TimedPhase, number> = { rollout: 0, train: 0, fused: 0, validation: 0 };
  readonly #milliseconds: Record<TimedPhase, number> = { rollout: 0, train: 0, fused: 0, validation: 0 };

  add(phase: TimedPhase, milliseconds: number): void {
    this.#calls[phase]++;
    this.#milliseconds[phase] += milliseconds;
  }

  read(): PhaseTimings {
    const timing = (phase: TimedPhase): PhaseTiming => ({
      calls: this.#calls[phase],
      seconds: this.#milliseconds[phase] / 1000,
    });
    return {
      rollout: timing("rollout"),
      train: timing("train"),
      fused: timing("fused"),
      validation: timing("validation"),
    };
  }
}
