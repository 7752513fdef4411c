import { type Clock, EspalierError } from "../../core/index.ts";
import type { HookDecision, HookTiming, Slot } from "../../hooks/index.ts";
import type { StateTree } from "../../state/index.ts";
import {
  type CheckpointRecord,
  type EvaluationScores,
  evaluationScores,
  type InterventionRecord,
  latestCheckpoint,
  latestIntervention,
  latestReplay,
  type ReplayRecord,
  type TrainerContext,
} from "../../trainer/index.ts";
import type { HeartbeatOptions } from "../health/heartbeat.ts";
import type { Logger } from "../logger/logger.ts";
import type { Sink } from "../sinks/sink.ts";
import { rejected, statsStoreSink } from "../sinks/stats-store.ts";
import type { DecisionRow, RunEventKind, RunEvents, StatsStore } from "../store/stats-store.ts";

/**
 * Records in the stats store what happens in a run beside its metrics: evaluations, checkpoints, replays, heartbeats,
 * interventions, timings of hooks and decisions about them. The rows are queued and inserted behind the metrics of each
 * window, so that a store that fails or hangs is treated the same way for both.
 */
export class StoreRecorder {
  readonly #store: StatsStore;
  readonly #clock: Clock;
  readonly #events: EventQueue;
  /** A resumed run goes on with those that are not complete. */
  readonly decisions = new DecisionLog();

  constructor(store: StatsStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#events = new EventQueue(store);
  }

  /** Adds the store to a logger as a sink. */
  addTo(logger: Logger): void {
    const sink = statsStoreSink(this.#store);
    if (logger.sinks.includes(sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `the logger has a sink named "${sink.name}" already`, {
        fix: "give the stats store to metricsHook alone: it adds the sink",
      });
    logger.add(this.#events.behind(sink));
  }

  /** The store as a heartbeat sees it: beats are queued as all events, and inserted at once. */
  get heartbeats(): NonNullable<HeartbeatOptions["statsStore"]> {
    return {
      location: this.#store.location,
      add: (_run, kind, rows) => {
        this.#events.add(kind, ...rows);
        return this.#events.insert();
      },
    };
  }

  /** Records what a hook provided by a slot. */
  provided(slot: Slot, value: unknown): void {
    const wall = this.#clock.wall();
    if (slot.name === latestIntervention.name) {
      const { who, what, reason, counters, details, ...given } = value as InterventionRecord;
      const row = { step: counters.steps, wall, ...given, who, what, details: { reason, ...details } };
      this.#events.add("intervention", row);
      // At once, with what it led to: a run that is paused closes no windows.
      this.#events.insert().catch(() => undefined);
    } else if (slot.name === evaluationScores.name) {
      const { scores, counters, checkpoint } = value as EvaluationScores;
      const row = { step: counters.steps, name: "evaluation", scores, wall };
      this.#events.add("evaluation", checkpoint === undefined ? row : { ...row, checkpoint });
    } else if (slot.name === latestCheckpoint.name || slot.name === latestReplay.name) {
      const { path, uri, counters } = value as CheckpointRecord | ReplayRecord;
      const row = { step: counters.steps, path, uri: uri ?? undefined, wall };
      this.#events.add(slot.name === latestReplay.name ? "replay" : "checkpoint", row);
      // At once: a run that is killed resumes from it. On failure the row stays in the queue.
      if (slot.name === latestCheckpoint.name) this.#events.insert().catch(() => undefined);
    }
  }

  /** Records that a user, a hook or a signal interfered with the run. */
  intervened({ counters }: TrainerContext, who: string, what: string, reason?: string): void {
    const row = { step: counters.steps, wall: this.#clock.wall(), who, what };
    this.#events.add("intervention", reason === undefined ? row : { ...row, details: { reason } });
  }

  /** Records the timings of hooks, and decisions so far. */
  timed({ hookTimings }: TrainerContext): void {
    this.#events.setTimings(hookTimings);
    this.#events.add("decision", ...this.decisions.take(), ...this.decisions.takeGrown());
  }

  /** Queues what is left; closing the logger inserts it. Returns how many rows were lost. */
  end(context: TrainerContext): number {
    this.#events.setTimings(context.hookTimings);
    this.#events.add("decision", ...this.decisions.takeAll());
    const { outcome, reason } = context;
    if (outcome !== undefined && outcome !== "completed")
      this.intervened(context, outcome === "interrupted" ? "signal" : "run", outcome, reason);
    return this.#events.lost;
  }
}

/** Rows of a kind that wait for a store that fails; beyond it the oldest are lost. */
const most = 10_000;

/** Rows that wait for the store. */
class EventQueue {
  readonly #store: StatsStore;
  readonly #rows = new Map<RunEventKind, readonly RunEvents[RunEventKind][]>();
  #timings: readonly HookTiming[] | undefined;
  /** The id of the run, once the store knows the run. */
  #run: string | undefined;
  #inserting: Promise<void> = Promise.resolve();
  #lost = 0;

  constructor(store: StatsStore) {
    this.#store = store;
  }

  /** Rows that did not fit. */
  get lost(): number {
    return this.#lost;
  }

  add<K extends RunEventKind>(kind: K, ...rows: readonly RunEvents[K][]): void {
    const queued = [...(this.#rows.get(kind) ?? []), ...rows];
    this.#lost += Math.max(0, queued.length - most);
    this.#rows.set(kind, queued.slice(-most));
  }

  /** Replaces the timings of hooks that were known before. */
  setTimings(timings: readonly HookTiming[]): void {
    this.#timings = timings;
  }

  /** Inserts all rows, once the store knows the run. Rejects where the store fails; its rows stay in the queue. */
  insert(): Promise<void> {
    const next = (): Promise<void> => this.#insert();
    this.#inserting = this.#inserting.then(next, next);
    return this.#inserting;
  }

  /** The sink of the store, which also inserts events: after every window, and before the run is ended. */
  behind(sink: Sink): Sink {
    return {
      ...sink,
      open: async (run) => {
        await sink.open?.(run);
        this.#run = run.id;
        // The first heartbeat came before. On failure the rows stay in the queue.
        await this.insert().catch(() => undefined);
      },
      // Synchronous where both can be, as where the store is a file and there is nothing but metrics.
      write: (records) => {
        const written = sink.write(records);
        if (!written) return this.#isEmpty ? undefined : this.insert().catch(rejected);
        return written.then(() => this.insert().catch(rejected));
      },
      close: async (ending) => {
        await this.insert().catch(rejected);
        await sink.close?.(ending);
      },
    };
  }

  get #isEmpty(): boolean {
    return this.#timings === undefined && [...this.#rows.values()].every(({ length }) => length === 0);
  }

  async #insert(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    for (const [kind, rows] of this.#rows) {
      if (rows.length === 0) continue;
      await this.#store.add(run, kind, rows);
      // More may have come meanwhile, and the oldest may have been lost.
      const inserted = new Set<unknown>(rows);
      const left = this.#rows.get(kind)?.filter((row) => !inserted.has(row));
      this.#rows.set(kind, left ?? []);
    }
    const timings = this.#timings;
    if (!timings) return;
    await this.#store.setHookTimings(run, timings);
    if (this.#timings === timings) this.#timings = undefined;
  }
}

type OpenDecision = { -readonly [K in keyof DecisionRow]: DecisionRow[K] };

/** Decisions about hooks, as intervals of the same answer. */
export class DecisionLog {
  readonly #open = new Map<string, OpenDecision>();
  /** How many occurrences of an open one were told. */
  readonly #told = new WeakMap<OpenDecision, number>();
  #complete: DecisionRow[] = [];

  note({ hook, event, ran, why, counters: { steps } }: HookDecision): void {
    const key = `${hook} ${event}`;
    const open = this.#open.get(key);
    if (open && open.ran === ran && open.why === why) {
      open.toStep = steps;
      open.times++;
      return;
    }
    if (open) this.#complete.push(open);
    this.#open.set(key, { hook, event, ran, why, fromStep: steps, toStep: steps, times: 1 });
  }

  /** The intervals that are complete, each once. */
  take(): readonly DecisionRow[] {
    const complete = this.#complete;
    this.#complete = [];
    return complete;
  }

  /** The open ones that have grown since they were told, as they are now: the store extends what it has of each. */
  takeGrown(): readonly DecisionRow[] {
    const grown = [...this.#open.values()].filter((row) => this.#told.get(row) !== row.times);
    for (const row of grown) this.#told.set(row, row.times);
    return grown.map((row) => ({ ...row }));
  }

  /** All that are left, at the end of the run. */
  takeAll(): readonly DecisionRow[] {
    this.#complete.push(...this.#open.values());
    this.#open.clear();
    return this.take();
  }

  getState(): StateTree {
    return [...this.#open.values()].map((row) => ({ ...row }));
  }

  setState(state: StateTree): void {
    this.#complete = [];
    this.#open.clear();
    for (const row of state as readonly OpenDecision[])
      this.#open.set(`${row.hook} ${row.event}`, { ...row });
  }
}
