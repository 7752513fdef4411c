import { EspalierError } from "../../core/index.ts";
import type { RunInfo } from "../run-info.ts";
import type { StatsStore } from "../store/stats-store.ts";
import type { Sink, SinkOptions } from "./sink.ts";

/**
 * Files metrics in a stats store, which it does not close. While the database is away its calls reject; repeated, they
 * file what is missing and nothing twice.
 *
 * @example
 * ```ts
 * const store = await openStatsStore("runs/stats.db");
 * const logger = new Logger({ sinks: [statsStoreSink(store)] });
 * ```
 */
export function statsStoreSink(store: StatsStore, choice: SinkOptions = {}): Sink {
  let run: RunInfo | undefined;
  const id = (): string => run?.id ?? "";
  return {
    ...choice,
    name: choice.name ?? "stats-store",
    async open(info) {
      await store.startRun(info).catch((error: unknown) => {
        throw isTaken(error) ? unusable(error) : error;
      });
      run = info;
    },
    // Synchronous where that is possible, so that nothing piles up during a long call of the task.
    write: (records) => store.addMetrics(id(), records),
    close: (ending) => store.endRun(id(), ending),
  };
}

const isTaken = (error: unknown): error is EspalierError =>
  error instanceof EspalierError && error.code === "STATS_RUN_EXISTS";

/** The error for delivery: repeating the call would not help. */
const unusable = (cause: EspalierError): EspalierError =>
  new EspalierError("SINK_UNUSABLE", cause.message, { cause });
