import { EspalierError } from "../../core/index.ts";
import type { HookTiming } from "../../hooks/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo } from "../run-info.ts";
import type { RunEventKind, RunEvents, StatsStore } from "../store/stats-store.ts";

/** What of a stats store a run writes to, in memory. As real ones do, it refuses what belongs to no run it knows. */
export class MemoryStore {
  readonly runs = new Map<string, RunInfo>();
  readonly endings: RunEnding[] = [];
  readonly records: MetricRecord[] = [];
  readonly events: { readonly kind: RunEventKind; readonly row: RunEvents[RunEventKind] }[] = [];
  timings: readonly HookTiming[] = [];
  /** Calls of `add` that fail. */
  failing = 0;

  readonly store = {
    location: "memory",
    startRun: async (run: RunInfo) => void this.runs.set(run.id, run),
    endRun: async (run: string, ending: RunEnding) => {
      this.#check(run);
      this.endings.push(ending);
    },
    addMetrics: async (run: string, records: readonly MetricRecord[]) => {
      this.#check(run);
      this.records.push(...records);
    },
    add: async <K extends RunEventKind>(run: string, kind: K, rows: readonly RunEvents[K][]) => {
      this.#check(run);
      if (this.endings.length > 0) throw new Error("the run has ended");
      if (this.failing-- > 0) throw new Error("not now");
      this.events.push(...rows.map((row) => ({ kind, row })));
    },
    setHookTimings: async (run: string, rows: readonly HookTiming[]) => {
      this.#check(run);
      this.timings = rows;
    },
  } as unknown as StatsStore;

  of<K extends RunEventKind>(kind: K): readonly RunEvents[K][] {
    return this.events.filter((event) => event.kind === kind).map(({ row }) => row as RunEvents[K]);
  }

  #check(run: string): void {
    if (!this.runs.has(run)) throw new EspalierError("STATS_UNKNOWN_RUN", `there is no run "${run}"`);
  }
}
