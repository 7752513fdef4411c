import { codeOf, EspalierError, messageOf } from "../../core/index.ts";
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
      await store.startRun(info).catch(rejected);
      run = info;
    },
    // Synchronous where that is possible, so that nothing piles up during a long call of the task.
    write: (records) => store.addMetrics(id(), records)?.catch(rejected),
    close: (ending) => store.endRun(id(), ending).catch(rejected),
  };
}

/** Throws the error of a store's call as delivery takes it: of some, repeating the call would not help. */
export function rejected(cause: unknown): never {
  if (!["STATS_RUN_EXISTS", "STATS_CLOSED"].includes(codeOf(cause) ?? "")) throw cause;
  throw new EspalierError("SINK_UNUSABLE", messageOf(cause), { cause });
}
