import type { HookTiming } from "../../hooks/index.ts";
import type { Sink } from "../sinks/sink.ts";
import type { RunEventKind, RunEvents, StatsStore } from "../store/stats-store.ts";

/** So many rows of a kind wait for a store that does not take them; then the oldest are lost. */
const most = 10_000;

type Rows = { [K in RunEventKind]?: RunEvents[K][] };

/**
 * What is filed of a run beside its metrics. It waits here and goes to the store with them, so that whatever is done
 * for a store that fails or hangs is done for both.
 */
export class RunEventQueue {
  readonly #store: StatsStore;
  readonly #waiting: Rows = {};
  #timings: readonly HookTiming[] | undefined;
  /** The run's id, once the store knows the run. */
  #run: string | undefined;
  #filing: Promise<void> = Promise.resolve();
  #lost = 0;

  constructor(store: StatsStore) {
    this.#store = store;
  }

  /** Rows that did not fit. */
  get lost(): number {
    return this.#lost;
  }

  add<K extends RunEventKind>(kind: K, ...rows: readonly RunEvents[K][]): void {
    const waiting = this.#rows(kind);
    waiting.push(...rows);
    if (waiting.length > most) this.#lost += waiting.splice(0, waiting.length - most).length;
  }

  /** Replaces what is known of the hooks. */
  setTimings(timings: readonly HookTiming[]): void {
    this.#timings = timings;
  }

  /** Files what waits, once the store knows the run. What it does not take waits on, and whoever asked is told. */
  file(): Promise<void> {
    this.#filing = this.#filing.then(
      () => this.#file(),
      () => this.#file(),
    );
    return this.#filing;
  }

  /**
   * The store's sink, with the run's events behind its metrics: after every window, and before the run is ended.
   */
  behind(sink: Sink): Sink {
    return {
      ...sink,
      open: async (run) => {
        await sink.open?.(run);
        this.#run = run.id;
      },
      // At once where both can be, as where the store is a file and there is nothing but metrics.
      write: (records) => {
        const filed = sink.write(records);
        if (!filed) return this.#isEmpty ? undefined : this.file();
        return filed.then(() => this.file());
      },
      close: async (ending) => {
        await this.file();
        await sink.close?.(ending);
      },
    };
  }

  get #isEmpty(): boolean {
    return this.#timings === undefined && Object.values(this.#waiting).every(({ length }) => length === 0);
  }

  async #file(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    for (const kind of Object.keys(this.#waiting) as RunEventKind[]) {
      const rows = this.#rows(kind).slice();
      if (rows.length === 0) continue;
      await this.#store.add(run, kind, rows);
      // More may have come meanwhile, and the oldest may have been given up.
      const filed = new Set<unknown>(rows);
      this.#waiting[kind] = this.#rows(kind).filter((row) => !filed.has(row)) as never;
    }
    const timings = this.#timings;
    if (!timings) return;
    await this.#store.setHookTimings(run, timings);
    if (this.#timings === timings) this.#timings = undefined;
  }

  #rows<K extends RunEventKind>(kind: K): RunEvents[K][] {
    this.#waiting[kind] ??= [] as Rows[K];
    return this.#waiting[kind] as RunEvents[K][];
  }
}
