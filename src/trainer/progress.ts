import { EspalierError, isPlainObject } from "../core/index.ts";
import { type Adds, advanceCounters, type Counters, timeless } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { type TrainerEvent, trainerEvents } from "./events.ts";
import type { EpochMeans, NewestMetrics } from "./metrics.ts";
import type { Segment } from "./task.ts";

/** The steps of the loop, in the order in which it takes them: see `training-loop.ts`. Stored in checkpoints. */
const steps = [
  "onEpochStart",
  "segment",
  "onRolloutStart",
  "onBatchStart",
  "work",
  "onBatchEnd",
  "onRolloutEnd",
  "onTrainPhaseEnd",
  "validation",
  "validate",
  "onValidationEnd",
  "ramps",
  "onEpochEnd",
] as const;

type Step = (typeof steps)[number];

/** Moments that schedules are asked at: the events, and the question whether to validate. */
type Occasion = TrainerEvent | "validation";

interface ProgressParts {
  readonly means: EpochMeans;
  readonly metrics: NewestMetrics;
  readonly now: () => number;
  /** Called when a state was set: the run is somewhere else now. */
  readonly restored: () => void;
}

/**
 * How far the run is: counters, position in the epoch, when each event last occurred. It is the component `trainer`, but
 * for seconds, which no two runs share: they are the component `time`. Only its own methods write its fields, but for
 * `next`, which is the loop's.
 */
export class Progress {
  counters: Counters;
  /** The step that the loop takes next, so that a state taken in any event goes on after it. */
  next: Step = "onEpochStart";
  /** The segment of the epoch under way. */
  segment = 0;
  /** Repeats of that segment that are done. */
  repeat = 0;
  /** Repeats of the epoch that are done. */
  done = 0;
  /** True where the epoch's data ended early. */
  exhausted = false;
  /** Counters at the epoch's beginning. */
  epochAt: Counters;
  /** Metrics of the last validation. */
  validation: Readonly<Record<string, number>> | undefined;
  /** The reason for which `stop` ended the run: started again from here it stays ended. */
  stopped: string | undefined;
  /** How often states were put back: see `TrainerContext.putBack`. */
  putBack = 0;
  /** The model is one that was measured earlier: scores at these counters are not its own. */
  earlierModel = false;
  /** Counters at the last occurrence of each event. */
  readonly since: Record<string, Counters | undefined>;
  /** Counters before the first batch. */
  readonly start: Counters;
  readonly #parts: ProgressParts;
  /** Milliseconds on the clock at which the run's seconds were 0. */
  #origin: number;
  #sinceSeconds: Readonly<Record<string, number>> = {};

  constructor(start: Counters, parts: ProgressParts) {
    this.start = start;
    this.#parts = parts;
    this.#origin = parts.now();
    this.counters = start;
    this.epochAt = start;
    this.since = Object.fromEntries([...trainerEvents, "validation"].map((name) => [name, undefined]));
  }

  /** Time counts from here; restored seconds stay. */
  startClock(): void {
    this.#origin = this.#parts.now() - this.counters.seconds * 1000;
  }

  /** Time that has passed, in milliseconds, does not count. */
  leaveOut(milliseconds: number): void {
    this.#origin += milliseconds;
  }

  /** Seconds of the run at a reading of the clock. */
  secondsAt(now: number): number {
    return (now - this.#origin) / 1000;
  }

  /** Begins the epoch that follows the completed ones. */
  beginEpoch(): void {
    this.counters = { ...this.counters, epoch: this.counters.epochs };
    this.epochAt = this.counters;
    this.segment = 0;
    this.repeat = 0;
    this.done = 0;
    this.exhausted = false;
  }

  completeEpoch(): void {
    this.counters = { ...this.counters, epochs: this.counters.epochs + 1 };
  }

  /** Begins a segment, those before it being done. */
  enterSegment(index: number): void {
    this.segment = index;
  }

  leaveSegment(): void {
    this.segment++;
    this.repeat = 0;
  }

  /** Moves past repeats of the segment under way. Events between its batches occurred, though no hook was due. */
  advance({ phase, adds }: Segment, count: number, now: number): void {
    if (count === 0) return;
    this.earlierModel = false;
    if (count > 1 && phase === "train") {
      const before = advanceCounters(this.counters, adds, count - 1);
      this.since.onBatchStart = before;
      this.since.onBatchEnd = before;
    }
    this.counters = advanceCounters(this.counters, adds, count, this.secondsAt(now));
    this.repeat += count;
    this.done += count;
  }

  /** Adds amounts that were known only after the work. */
  count(adds: Adds): void {
    this.counters = advanceCounters(this.counters, adds, 1);
  }

  /** The epoch's data has ended: what follows in the epoch is left out. */
  exhaust(): void {
    this.exhausted = true;
  }

  /** Takes the metrics of a validation that ended at a reading of the clock. */
  validated(metrics: Readonly<Record<string, number>> | undefined, now: number): void {
    this.validation = metrics;
    this.counters = { ...this.counters, seconds: this.secondsAt(now) };
  }

  /** States were put back. With `measured` the model is one that was measured then, and not one to go on from. */
  statesPutBack(measured?: { readonly validation?: Readonly<Record<string, number>> | undefined }): void {
    this.putBack++;
    if (!measured) return;
    this.earlierModel = true;
    this.validation = measured.validation;
  }

  /** Sets the counters back to those of an update that failed the run. */
  setBack(counters: Counters): void {
    this.counters = counters;
  }

  stop(reason: string | undefined): void {
    this.stopped = reason;
  }

  /** Counters at the last occurrence. Before the first: the run's beginning for an End, undefined for a Start. */
  before(occasion: Occasion): Counters | undefined {
    return this.since[occasion] ?? (occasion.endsWith("Start") ? undefined : this.start);
  }

  /** Notes that something occurs now, and returns the counters at its occurrence before. */
  occurs(occasion: Occasion): Counters | undefined {
    const before = this.before(occasion);
    this.since[occasion] = this.counters;
    return before;
  }

  readonly trainer: Stateful = {
    getState: () => {
      const means = this.#parts.means.getState();
      const metrics = this.#parts.metrics.getState();
      const { next, segment, repeat, done, exhausted, epochAt, validation = null } = this;
      const since = lasting(this.since).map(([name, at]) => [name, timeless(at)]);
      const saved = {
        counters: timeless(this.counters),
        since: Object.fromEntries(since),
        place: { next, segment, repeat, done, exhausted, epochAt: timeless(epochAt) },
        validation: validation && { ...validation },
        ...(this.stopped !== undefined && { stopped: this.stopped }),
        ...(this.putBack > 0 && { putBack: this.putBack }),
      };
      if (means instanceof Promise || metrics instanceof Promise)
        return Promise.all([means, metrics]).then(([means, metrics]) => ({ ...saved, means, metrics }));
      return { ...saved, means, metrics };
    },
    setState: (state) => {
      const { counters, since, place, validation, means, metrics, stopped, putBack = 0 } = checkSaved(state);
      const timed = (at: Counters, seconds = 0): Counters => ({ ...this.start, ...at, seconds });
      this.counters = timed(counters, this.counters.seconds);
      for (const name of Object.keys(this.since)) {
        if (perProcess.includes(name)) continue;
        const at = since[name];
        this.since[name] = at && timed(at, this.#sinceSeconds[name]);
      }
      this.next = place.next;
      this.segment = place.segment;
      this.repeat = place.repeat;
      this.done = place.done;
      this.exhausted = place.exhausted;
      this.epochAt = timed(place.epochAt);
      this.validation = validation ?? undefined;
      this.#parts.means.setState(means);
      this.#parts.metrics.setState(metrics);
      this.stopped = stopped;
      this.putBack = putBack;
      this.#parts.restored();
    },
  };

  readonly time: Stateful = {
    getState: () => ({
      seconds: this.secondsAt(this.#parts.now()),
      since: Object.fromEntries(lasting(this.since).map(([name, at]) => [name, at.seconds])),
    }),
    setState: (state) => {
      const { seconds, since } = checkTime(state);
      this.#origin = this.#parts.now() - seconds * 1000;
      this.#sinceSeconds = since;
      this.counters = { ...this.counters, seconds };
      for (const [name, at] of Object.entries(this.since))
        if (at) this.since[name] = { ...at, seconds: since[name] ?? 0 };
      this.#parts.restored();
    },
  };
}

/** The state of the component `trainer`. */
type Saved = {
  readonly counters: Counters;
  readonly since: Readonly<Record<string, Counters>>;
  readonly place: Pick<Progress, "next" | "segment" | "repeat" | "done" | "exhausted" | "epochAt">;
  readonly validation: Readonly<Record<string, number>> | null;
  readonly means: StateTree;
  /** Missing in states from before there were any. */
  readonly metrics?: StateTree;
  readonly stopped?: string;
  readonly putBack?: number;
};

function checkSaved(state: StateTree): Saved {
  const saved = (state ?? {}) as Partial<Saved>;
  const { counters, since, place } = saved;
  if (typeof counters?.epochs === "number" && since && place && steps.includes(place.next))
    return saved as Saved;
  throw invalidState("trainer");
}

function checkTime(state: StateTree) {
  const { seconds, since } = (state ?? {}) as { seconds?: StateTree; since?: StateTree };
  if (typeof seconds !== "number" || typeof since !== "object") throw invalidState("time");
  return { seconds, since: since as Readonly<Record<string, number>> };
}

const invalidState = (component: string): EspalierError =>
  new EspalierError("STATE_INVALID", `this is not a state of the component "${component}"`, {
    fix: "restore what getState of the same component of a trainer gave",
  });

/** Events that every process has by itself: a resumed run begins and ends where the other did not. */
const perProcess: readonly string[] = ["onTrainingStart", "onError", "onTrainingEnd"];

/** Occurrences that belong to the run, and not to one process. */
const lasting = (
  since: Readonly<Record<string, Counters | undefined>>,
): readonly (readonly [string, Counters])[] =>
  Object.entries(since).flatMap(([name, at]) =>
    at && !perProcess.includes(name) ? [[name, at] as const] : [],
  );

/** The reason for which the run of this state of the component `trainer` was stopped. */
export function stoppedIn(state: StateTree): string | undefined {
  return isPlainObject(state) && typeof state.stopped === "string" ? state.stopped : undefined;
}

/** A state of the component `trainer` as if the run had not been stopped, so that it goes on. */
export function withoutStop(state: StateTree): StateTree {
  if (stoppedIn(state) === undefined) return state;
  const { stopped: _, ...rest } = state as Readonly<Record<string, StateTree>>;
  return rest;
}
