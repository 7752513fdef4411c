import type { Kysely } from "kysely";
import { type Clock, EspalierError } from "../../core/index.ts";
import { type Database, patiently, type Tables } from "./database.ts";
import { addEvents, countEvents, listEvents, listTimings, setTimings } from "./events.ts";
import { newMemory, type RunMemory } from "./insert-metrics.ts";
import { buckets, countMetrics, latest, series, since } from "./queries.ts";
import {
  deleteRun,
  endRun,
  findRun,
  listRuns,
  markRun,
  numberOf,
  placeOf,
  removeOrphans,
  startRun,
} from "./runs.ts";
import type { StatsStore } from "./stats-store.ts";

/** The store on a database that has its tables. */
export function storeOn(database: Database, clock: Clock): StatsStore {
  const { location, tables } = database;
  const memories = new Map<string, RunMemory>();
  let closing: Promise<void> | undefined;

  const check = (what: string): void => {
    if (closing) throw new EspalierError("STATS_CLOSED", `${what}: ${location} is closed`);
  };
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    check(what);
    try {
      return await patiently(database.isBusy, work);
    } catch (error) {
      throw database.failure(what, error);
    }
  };
  /** Changes of one run, all or none. */
  const change = (what: string, work: (tables: Kysely<Tables>) => Promise<void>): Promise<void> =>
    attempt(what, () => tables.transaction().execute(work));
  const changeRun = (
    what: string,
    run: string,
    work: (tables: Kysely<Tables>, run: number) => Promise<void>,
  ): Promise<void> => change(what, async (db) => work(db, await numberOf(db, run)));
  const query = <T>(what: string, run: string, work: (run: number) => Promise<T>): Promise<T> =>
    attempt(what, async () => work(await numberOf(tables, run)));
  const memoryOf = (run: string): RunMemory => {
    const memory = memories.get(run) ?? newMemory();
    memories.set(run, memory);
    return memory;
  };

  return {
    location,
    async startRun(run) {
      await change("filing a run", (db) => startRun(db, run));
      memories.delete(run.id);
    },
    endRun: (run, ending) => change("filing the end of a run", (db) => endRun(db, run, ending, clock.wall())),
    mark: (run, marks) => changeRun("marking a run", run, (db, number) => markRun(db, number, marks)),
    async deleteRun(run) {
      await changeRun("removing a run", run, (db, number) => deleteRun(db, number));
      memories.delete(run);
      // A few at a time: other processes write meanwhile, and what a crash leaves behind goes the next time.
      while (await attempt("removing metrics", () => tables.transaction().execute(removeOrphans)));
    },
    addMetrics(run, records) {
      const failed = (error: unknown) => Promise.reject(database.failure("filing metrics", error));
      try {
        check("filing metrics");
        if (records.length === 0) return undefined;
        return database.insertMetrics(run, records, memoryOf(run))?.catch(failed);
      } catch (error) {
        return failed(error);
      }
    },
    add: (run, kind, rows) =>
      changeRun(`filing ${kind}s`, run, (db, number) => addEvents(db, number, kind, rows)),
    setHookTimings: (run, rows) =>
      changeRun("filing hook timings", run, (db, number) => setTimings(db, number, rows)),
    runs: ({ limit } = {}) => attempt("listing runs", () => listRuns(tables, limit)),
    run: (idOrName) => attempt("finding a run", () => findRun(tables, idOrName)),
    metrics: (run) => query("listing metrics", run, (number) => countMetrics(tables, number)),
    series: (run, key, choice = {}) =>
      query("reading a metric", run, (number) => series(tables, number, key, choice)),
    buckets: (run, key, choice) =>
      query("reading a metric", run, (number) => buckets(tables, number, key, choice)),
    latest: (run) => query("reading metrics", run, (number) => latest(tables, number)),
    place: (run) => query("reading metrics", run, (number) => placeOf(tables, number)),
    since: (run, place, limit) =>
      query("reading metrics", run, (number) => since(tables, number, place, limit)),
    list: (run, kind) => query(`listing ${kind}s`, run, (number) => listEvents(tables, number, kind)),
    counts: (run) => query("counting events", run, (number) => countEvents(tables, number)),
    hookTimings: (run) => query("listing hook timings", run, (number) => listTimings(tables, number)),
    close() {
      closing ??= database.close().catch((error: unknown) => {
        throw database.failure("closing", error);
      });
      return closing;
    },
  };
}
