import { EspalierError } from "../../core/index.ts";
import type { HookHost, SlotAccess } from "../../hooks/index.ts";
import {
  type CheckpointRecord,
  type EvaluationScores,
  latestCheckpoint,
  type ReplayRecord,
  type TrainerContext,
} from "../../trainer/index.ts";
import type { HeartbeatOptions } from "../health/heartbeat/index.ts";
import type { Logger } from "../logger/index.ts";
import { statsStoreSink } from "../sinks/stats-store.ts";
import type { RunEventKind, RunEvents, StatsStore } from "../store/stats-store.ts";
import { type DecidingHost, DecisionLog } from "./decisions.ts";
import { RunEventQueue } from "./run-events.ts";

/** What of a run goes to its stats store beside metrics. */
export class StorePart {
  readonly #store: StatsStore;
  readonly #events: RunEventQueue;
  /** About hooks, as far as they have not been filed. */
  readonly decisions = new DecisionLog();
  #wall: () => number = () => 0;
  /** Slots of the hook that may look at checkpoints. */
  #slots: SlotAccess | undefined;
  #checkpoint: CheckpointRecord | undefined;

  constructor(store: StatsStore) {
    this.#store = store;
    this.#events = new RunEventQueue(store);
  }

  /** Gives the logger the store as a sink, and hears of decisions about hooks, where the host tells of them. */
  begin(logger: Logger, host: HookHost): void {
    this.#wall = () => host.clock.wall();
    const sink = statsStoreSink(this.#store);
    if (logger.sinks.includes(sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `the logger has a sink named "${sink.name}" already`, {
        fix: "give the stats store to metricsHook alone: it adds the sink",
      });
    logger.add(this.#events.behind(sink));
    (host as DecidingHost).observe?.((decision) => this.decisions.note(decision));
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

  /** The checkpoint that the run goes on from is known already. */
  start({ slots }: TrainerContext): void {
    this.#slots = slots;
    this.#checkpoint = slots.get(latestCheckpoint);
  }

  look(): void {
    const newest = this.#slots?.get(latestCheckpoint);
    if (!newest || newest === this.#checkpoint) return;
    this.#checkpoint = newest;
    const { path, uri, counters } = newest;
    this.add("checkpoint", { step: counters.steps, path, uri: uri ?? undefined, wall: this.#wall() });
  }

  evaluated({ scores, counters }: EvaluationScores): void {
    this.add("evaluation", { step: counters.steps, name: "evaluation", scores, wall: this.#wall() });
  }

  replayed({ path, uri, counters }: ReplayRecord): void {
    this.add("replay", { step: counters.steps, path, uri: uri ?? undefined, wall: this.#wall() });
  }

  timed({ hookTimings }: TrainerContext): void {
    this.#events.setTimings(hookTimings);
    this.#events.add("decision", ...this.decisions.take());
  }

  add<K extends RunEventKind>(kind: K, row: RunEvents[K]): void {
    this.#events.add(kind, row);
  }

  /** What is left is filed when the logger is closed. Gives what was lost. */
  end(context: TrainerContext): number {
    this.look();
    this.timed(context);
    this.#events.add("decision", ...this.decisions.takeAll());
    const { outcome, reason, counters } = context;
    if (outcome !== undefined && outcome !== "completed")
      this.add("intervention", {
        step: counters.steps,
        wall: this.#wall(),
        who: outcome === "interrupted" ? "signal" : "run",
        what: outcome,
        ...(reason !== undefined && { details: { reason } }),
      });
    return this.#events.lost;
  }
}
