import type { Json } from "../../checkpoint/index.ts";
import { type Clock, EspalierError, node, systemClock } from "../../core/index.ts";
import type { HookTiming } from "../../hooks/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunEnding, RunInfo } from "../run-info.ts";
import type { Database } from "./database.ts";

// The stats store: what runs did, in a SQLite file or a Postgres database.
//
//   openStatsStore(location)     opens the database (sqlite.ts, postgres.ts) and migrates its tables (database.ts)
//   startRun, endRun             a row in runs; a resumed run removes what comes again        runs.ts
//   mark, deleteRun              tags, whether it is archived; away with all of it            runs.ts
//   addMetrics                   rows in metrics, in blocks, each record once                 insert-metrics.ts
//   add, setHookTimings          events and decisions, each once                              events.ts
//   series, latest, since, ...   queries                                                      queries.ts, runs.ts
//
// store.ts puts them together: transactions, attempts while another process writes, errors with what to do.

/** Options of {@link openStatsStore}. */
export interface StatsStoreOptions {
  /** Makes a file that is not there. Default: true; readers say false. */
  readonly create?: boolean;
  readonly clock?: Clock;
}

/**
 * Opens a stats store: a SQLite file by its path, or a Postgres database by its URL, whose tables are then in
 * the schema `espalier`. What is missing is made; what is of an older version is brought to the newest.
 *
 * @example
 * ```ts
 * const store = await openStatsStore("runs/stats.db"); // or "postgres://me@localhost/training"
 * const [newest] = await store.runs({ limit: 1 });
 * if (newest) console.log(await store.series(newest.id, "train/loss", { points: 100 }));
 * await store.close();
 * ```
 */
export async function openStatsStore(
  location = "runs/stats.db",
  { create = true, clock = systemClock }: StatsStoreOptions = {},
): Promise<StatsStore> {
  const database = await openDatabase(location, create);
  const [{ migrate }, { storeOn }] = await Promise.all([import("./database.ts"), import("./store.ts")]);
  try {
    await migrate(database);
  } catch (error) {
    await database.close().catch(() => undefined);
    throw database.failure("opening", error);
  }
  return storeOn(database, clock);
}

/** Each library is loaded where it is used. */
async function openDatabase(location: string, create: boolean): Promise<Database> {
  if (/^postgres(ql)?:/i.test(location)) return (await import("./postgres.ts")).openPostgres(location);
  // SQLite takes an empty path for a file that goes with its connection.
  if (typeof location !== "string" || location === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(location))
    throw new EspalierError("STATS_LOCATION_INVALID", "a stats store is a file or a Postgres database", {
      fix: 'give a path such as "runs/stats.db" or a URL that begins with postgres://',
    });
  if (!create && !node.fs.existsSync(location))
    throw new EspalierError("STATS_MISSING", `there is no stats store ${location}`, {
      fix: "name the file that the runs were filed in",
    });
  return (await import("./sqlite.ts")).openSqlite(location);
}

/** A run as the store has it. */
export interface RunRow {
  readonly id: string;
  readonly name: string;
  /** Milliseconds since 1970 at which it began, however often it was resumed. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** `running` until it has ended. A run whose process is gone stays so: see its newest heartbeat. */
  readonly outcome: "running" | RunEnding["outcome"];
  readonly reason: string | undefined;
  readonly config: Json;
  /** How often it was gone on with. */
  readonly resumes: number;
  readonly counters: Readonly<Record<string, number>>;
  /** The newest heartbeat, if there is one. */
  readonly heartbeat: number | undefined;
  /** Counters at which it ends, where they are known. */
  readonly limits: Readonly<Record<string, number>>;
  readonly tags: readonly string[];
  readonly archived: boolean;
}

/** Marks that a person gives a run. What is left out stays as it is. */
export interface RunMarks {
  readonly tags?: readonly string[];
  readonly archived?: boolean;
}

/** A value of a metric at a step. */
export interface MetricRow {
  readonly key: string;
  readonly category: string;
  readonly name: string;
  readonly unit: string | undefined;
  readonly step: number;
  readonly axis: string;
  readonly wall: number;
  /** NaN and infinity included. Undefined where it is a text or a histogram. */
  readonly value: number | undefined;
  readonly text: string | undefined;
  readonly histogram: MetricRecord["value"] | undefined;
  readonly reduction: string;
  readonly count: number;
  readonly notFinite: number;
}

/** Something that happened in a run. */
interface EventRow {
  readonly step: number;
  /** Milliseconds since 1970. */
  readonly wall: number;
}
/** Scores of an evaluation. */
export interface EvaluationRow extends EventRow {
  readonly name: string;
  readonly scores: Readonly<Record<string, number>>;
  /** The address of the checkpoint that was evaluated, where it was one and not the run itself. */
  readonly checkpoint?: string;
}
/** An episode that was evaluated. */
export interface EpisodeRow extends EventRow {
  readonly return: number;
  readonly length: number;
  readonly info?: Json;
}
/** A recorded episode. */
export interface ReplayRow extends EventRow {
  readonly path: string;
  readonly uri: string | undefined;
}
/** A checkpoint that was saved. */
export interface CheckpointRow extends ReplayRow {}
/** A sign of life. */
export interface HeartbeatRow extends EventRow {
  readonly pid: number;
  readonly host: string;
  readonly phase: string;
}
/** A decision whether a hook runs at an event, over all occurrences in a row at which it was the same, for the same reason. */
export interface DecisionRow {
  readonly hook: string;
  readonly event: string;
  readonly ran: boolean;
  readonly why: string;
  readonly fromStep: number;
  readonly toStep: number;
  readonly times: number;
}
/** A change of the run from outside: a hook was disabled, the run was stopped, a monitor halted it. */
export interface InterventionRow extends EventRow {
  readonly who: string;
  readonly what: string;
  readonly details?: Json;
}

/** Events of a run, by kind. */
export interface RunEvents {
  readonly evaluation: EvaluationRow;
  readonly episode: EpisodeRow;
  readonly replay: ReplayRow;
  readonly checkpoint: CheckpointRow;
  readonly heartbeat: HeartbeatRow;
  readonly decision: DecisionRow;
  readonly intervention: InterventionRow;
}
/** Kinds of events. */
export type RunEventKind = keyof RunEvents;

/** Which part of a series is read, and how many points of it. */
export interface SeriesChoice {
  readonly from?: number;
  readonly to?: number;
  /** The most points, evenly chosen: the first and the last among them, from 4 on also the lowest and the highest. */
  readonly points?: number;
}

/** Which part of a series is summarized, in how many buckets. */
export interface BucketChoice {
  /** The first and the last place on the axis. Default: those of the series. */
  readonly from?: number;
  readonly to?: number;
  /** The most buckets, of equal width. */
  readonly points: number;
  /** Steps, or milliseconds since 1970. Default: "step". */
  readonly axis?: "step" | "time";
}

/** Values of a metric that lie near each other. */
export interface Bucket {
  /** The place of the last of them on the axis. */
  readonly x: number;
  /** Of those that are finite. Null where none is. */
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly count: number;
  readonly notFinite: number;
}

/**
 * Where what runs did is kept and asked for: a SQLite file or a Postgres database, with one schema. Many processes may
 * write at once. All of its functions reject with an EspalierError whose code begins with STATS_.
 */
export interface StatsStore {
  /** Its path or URL, without passwords. */
  readonly location: string;
  /**
   * Files a run, or that it goes on: metrics and events after `resumedAt` are removed, because they come again.
   * Interventions stay: they are not made a second time. A run that begins again loses all; one
   * that was ended may only do so where it `continues`, and is refused otherwise (STATS_RUN_EXISTS). The same call again, with the same `startedAt` and `resumedAt`, changes
   * nothing.
   */
  startRun(run: RunInfo): Promise<void>;
  endRun(run: string, ending: RunEnding): Promise<void>;
  /** Changes what a person has marked a run with. */
  mark(run: string, marks: RunMarks): Promise<void>;
  /** Removes a run and all that is filed of it. */
  deleteRun(run: string): Promise<void>;
  /**
   * Files records. The same record twice is filed once, whatever other records come with it, so that a call
   * that may have failed can be made again. Records are the same where all of them is: metric, step, value, count
   * and the moment at which the window was closed. So two late values of one metric at one step are both kept. Undefined
   * where they are filed already, as mostly in a SQLite file.
   */
  addMetrics(run: string, records: readonly MetricRecord[]): undefined | Promise<void>;
  /**
   * Files events. One that an earlier call filed is not filed again; of events that are equal within a call, each is.
   * A decision that says the same as the newest of its hook and event extends that one, and changes nothing where that
   * one covers it already.
   */
  add<K extends RunEventKind>(run: string, kind: K, rows: readonly RunEvents[K][]): Promise<void>;
  /** Replaces what was known of these hooks. */
  setHookTimings(run: string, rows: readonly HookTiming[]): Promise<void>;

  /** Newest first. */
  runs(choice?: { readonly limit?: number }): Promise<readonly RunRow[]>;
  /** By id, by name (the newest of that name), or by the beginning of an id that no other begins with. */
  run(idOrName: string): Promise<RunRow>;
  /** Keys of its metrics, with how many points each has. */
  metrics(run: string): Promise<readonly { readonly key: string; readonly points: number }[]>;
  /** By step, then as they came. */
  series(run: string, key: string, choice?: SeriesChoice): Promise<readonly MetricRow[]>;
  /**
   * The numbers of a metric in buckets of equal width, computed by the database. Buckets without values are left out,
   * and so are texts and histograms.
   */
  buckets(run: string, key: string, choice: BucketChoice): Promise<readonly Bucket[]>;
  /** The newest of every metric: the furthest on its axis, of several there the one that came last. */
  latest(run: string): Promise<readonly MetricRow[]>;
  /** The place of what came last: `since` goes on from there. */
  place(run: string): Promise<number>;
  /** Everything after a place in the order in which it came; `next` is the place to ask from again. */
  since(
    run: string,
    place: number,
    limit?: number,
  ): Promise<{ readonly rows: readonly MetricRow[]; readonly next: number }>;
  /** As they came. */
  list<K extends RunEventKind>(run: string, kind: K): Promise<readonly RunEvents[K][]>;
  /** How many there are of each kind. */
  counts(run: string): Promise<Readonly<Record<RunEventKind, number>>>;
  hookTimings(run: string): Promise<readonly HookTiming[]>;
  close(): Promise<void>;
}
