import { type Clock, EspalierError } from "../../core/index.ts";
import type { Slot } from "../../hooks/index.ts";
import {
  type CheckpointRecord,
  type EvaluationScores,
  evaluationScores,
  latestCheckpoint,
  latestReplay,
  type ReplayRecord,
  type TrainerContext,
} from "../../trainer/index.ts";
import type { HeartbeatOptions } from "../health/heartbeat.ts";
import type { Logger } from "../logger/index.ts";
import { statsStoreSink } from "../sinks/stats-store.ts";
import type { StatsStore } from "../store/stats-store.ts";
import { DecisionLog } from "./decisions.ts";
import { RunEventQueue } from "./run-events.ts";

/** What of a run goes to its stats store beside metrics. */
export class StorePart {
  readonly #store: StatsStore;
  readonly #events: RunEventQueue;
  /** About hooks, as far as they have not been filed. */
  readonly decisions = new DecisionLog();
  readonly #clock: Clock;

  constructor(store: StatsStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#events = new RunEventQueue(store);
  }

  /** Gives the logger the store as a sink. */
  joinTo(logger: Logger): void {
    const sink = statsStoreSink(this.#store);
    if (logger.sinks.includes(sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `the logger has a sink named "${sink.name}" already`, {
        fix: "give the stats store to metricsHook alone: it adds the sink",
      });
    logger.add(this.#events.behind(sink));
  }

  /** As a heartbeat sees a store: its beats go the way of all events, at once. */
  get pulse(): NonNullable<HeartbeatOptions["statsStore"]> {
    return {
      location: this.#store.location,
      add: (_run, kind, rows) => {
        this.#events.add(kind, ...rows);
        return this.#events.file();
      },
    };
  }

  /** A hook provided something. */
  provided(slot: Slot, value: unknown): void {
    const wall = this.#clock.wall();
    if (slot.name === evaluationScores.name) {
      const { scores, counters, checkpoint } = value as EvaluationScores;
      const of = checkpoint !== undefined && { checkpoint };
      this.#events.add("evaluation", { step: counters.steps, name: "evaluation", scores, wall, ...of });
    } else if (slot.name === latestCheckpoint.name || slot.name === latestReplay.name) {
      const { path, uri, counters } = value as CheckpointRecord | ReplayRecord;
      const row = { step: counters.steps, path, uri: uri ?? undefined, wall };
      this.#events.add(slot.name === latestReplay.name ? "replay" : "checkpoint", row);
      // At once: a run that is killed goes on from it. What the store does not take waits on, as all events do.
      if (slot.name === latestCheckpoint.name) this.#events.file().catch(() => undefined);
    }
  }

  /** Somebody or something interfered with the run. */
  intervened({ counters }: TrainerContext, who: string, what: string, reason?: string): void {
    const details = reason !== undefined && { details: { reason } };
    this.#events.add("intervention", {
      ...{ step: counters.steps, wall: this.#clock.wall(), who, what },
      ...details,
    });
  }

  timed({ hookTimings }: TrainerContext): void {
    this.#events.setTimings(hookTimings);
    this.#events.add("decision", ...this.decisions.take());
  }

  /** What is left is filed when the logger is closed. Gives what was lost. */
  end(context: TrainerContext): number {
    this.timed(context);
    this.#events.add("decision", ...this.decisions.takeAll());
    const { outcome, reason } = context;
    if (outcome !== undefined && outcome !== "completed")
      this.intervened(context, outcome === "interrupted" ? "signal" : "run", outcome, reason);
    return this.#events.lost;
  }
}
