import { EspalierError, isPlainObject } from "../core/index.ts";
import { advanceCounters, type Counters } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { EpochMeans } from "./epoch-means.ts";
import { trainerEvents } from "./events.ts";
import type { NewestMetrics } from "./newest-metrics.ts";
import { type Occasion, type Place, type Step, steps } from "./place.ts";

type Saved = {
  readonly counters: Counters;
  readonly since: Readonly<Record<string, Counters>>;
  readonly place: Place;
  readonly validation: Readonly<Record<string, number>> | null;
  readonly means: StateTree;
  /** Missing in states from before there were any. */
  readonly metrics?: StateTree;
  /** Why `stop` ended the run, where it did. */
  readonly stopped?: string;
};

/**
 * How far the run is: counters, place in the epoch, when each event last occurred. It is the component `trainer`, but
 * for seconds, which no two runs share: they are the component `time`.
 */
export class Progress {
  counters: Counters;
  next: Step = "onEpochStart";
  segment = 0;
  repeat = 0;
  done = 0;
  exhausted = false;
  epochAt: Counters;
  validation: Readonly<Record<string, number>> | undefined;
  /** Why `stop` ended the run, where it did: started again from here it stays ended. */
  stopped: string | undefined;
  readonly since: Record<string, Counters | undefined>;
  /** Told when a state was set: the run is somewhere else now. */
  moved: () => void = () => {};
  /** Counters before the first batch. */
  readonly start: Counters;
  readonly #means: EpochMeans;
  readonly #metrics: NewestMetrics;
  readonly #now: () => number;
  /** Milliseconds on the clock at which the run's seconds were 0. */
  #origin = 0;
  #sinceSeconds: Readonly<Record<string, number>> = {};

  constructor(start: Counters, means: EpochMeans, metrics: NewestMetrics, now: () => number) {
    this.start = start;
    this.#means = means;
    this.#metrics = metrics;
    this.#now = now;
    this.#origin = now();
    this.counters = start;
    this.epochAt = start;
    this.since = Object.fromEntries([...trainerEvents, "validation"].map((name) => [name, undefined]));
  }

  /** Time counts from here; seconds restored before stay. */
  startClock(): void {
    this.#origin = this.#now() - this.counters.seconds * 1000;
  }

  /** Seconds of the run at a reading of the clock. */
  secondsAt(now: number): number {
    return (now - this.#origin) / 1000;
  }

  /** Counts repeats that are done. */
  advance(adds: Readonly<Record<string, number>>, repeats: number, now: number): void {
    this.counters = advanceCounters(this.counters, adds, repeats, this.secondsAt(now));
  }

  /** Counts what was found out only afterwards. */
  count(adds: Readonly<Record<string, number>>): void {
    this.counters = advanceCounters(this.counters, adds, 1);
  }

  /** Moves the trainer's own counters. */
  set(changes: Partial<Pick<Counters, "epoch" | "epochs" | "seconds">>): void {
    this.counters = { ...this.counters, ...changes };
  }

  /** When something last occurred. What never did: an End at the run's beginning, a Start not at all. */
  before(occasion: Occasion): Counters | undefined {
    return this.since[occasion] ?? (occasion.endsWith("Start") ? undefined : this.start);
  }

  /** Notes that something occurs now, and tells when it did before. */
  occurs(occasion: Occasion): Counters | undefined {
    const before = this.before(occasion);
    this.since[occasion] = this.counters;
    return before;
  }

  readonly trainer: Stateful = {
    getState: () => {
      const means = this.#means.getState();
      const metrics = this.#metrics.getState();
      const { next, segment, repeat, done, exhausted, epochAt, validation = null } = this;
      const since = lasting(this.since).map(([name, at]) => [name, timeless(at)]);
      const saved = {
        counters: timeless(this.counters),
        since: Object.fromEntries(since),
        place: { next, segment, repeat, done, exhausted, epochAt: timeless(epochAt) },
        validation: validation && { ...validation },
        ...(this.stopped !== undefined && { stopped: this.stopped }),
      };
      if (means instanceof Promise || metrics instanceof Promise)
        return Promise.all([means, metrics]).then(([means, metrics]) => ({ ...saved, means, metrics }));
      return { ...saved, means, metrics };
    },
    setState: (state) => {
      const { counters, since, place, validation, means, metrics, stopped } = savedIn(state);
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
      this.#means.setState(means);
      this.#metrics.setState(metrics);
      this.stopped = stopped;
      this.moved();
    },
  };

  readonly time: Stateful = {
    getState: () => ({
      seconds: this.secondsAt(this.#now()),
      since: Object.fromEntries(lasting(this.since).map(([name, at]) => [name, at.seconds])),
    }),
    setState: (state) => {
      const { seconds, since } = state as unknown as {
        readonly seconds: number;
        readonly since: Readonly<Record<string, number>>;
      };
      if (typeof seconds !== "number" || typeof since !== "object") throw invalid("time");
      this.#origin = this.#now() - seconds * 1000;
      this.#sinceSeconds = since;
      this.set({ seconds });
      for (const [name, at] of Object.entries(this.since))
        if (at) this.since[name] = { ...at, seconds: since[name] ?? 0 };
      this.moved();
    },
  };
}

/** Why the run of this state of the component `trainer` was stopped, where it was. */
export function stoppedIn(state: StateTree): string | undefined {
  return isPlainObject(state) && typeof state.stopped === "string" ? state.stopped : undefined;
}

/** A state of the component `trainer` as if the run had not been stopped, so that it goes on. */
export function withoutStop(state: StateTree): StateTree {
  if (stoppedIn(state) === undefined) return state;
  const { stopped: _, ...rest } = state as Readonly<Record<string, StateTree>>;
  return rest;
}

/** Events that every process has by itself: a resumed run begins and ends where the other did not. */
const perProcess: readonly string[] = ["onTrainingStart", "onError", "onTrainingEnd"];

/** What belongs to the run of all that was noted. */
const lasting = (
  since: Readonly<Record<string, Counters | undefined>>,
): readonly (readonly [string, Counters])[] =>
  Object.entries(since).flatMap(([name, at]) =>
    at && !perProcess.includes(name) ? [[name, at] as const] : [],
  );

/** Counters without the one that no two runs share. */
function timeless(counters: Counters): { readonly [name: string]: number } {
  const { seconds: _, ...rest } = counters;
  return rest;
}

function savedIn(state: StateTree): Saved {
  const { counters, since, place } = (state ?? {}) as Partial<Saved>;
  if (typeof counters?.epochs === "number" && since && place && steps.includes(place.next))
    return state as unknown as Saved;
  throw invalid("trainer");
}

const invalid = (component: string): EspalierError =>
  new EspalierError("STATE_INVALID", `this is not a state of the component "${component}"`, {
    fix: "restore what getState of the same component of a trainer gave",
  });
