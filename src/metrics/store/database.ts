import { type Generated, type Kysely, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { RunMemory } from "./insert-metrics.ts";

// What a database is to the store, its tables, and how tables of an older version become the newest.

/** A database of a stats store: all that the two do each in its own way. The rest is written once, for both. */
export interface Database {
  readonly kind: "sqlite" | "postgres";
  /** Its path or URL, without passwords. */
  readonly location: string;
  readonly tables: Kysely<Tables>;
  readonly words: Words;
  /** Names of the tables that are there, also where they are not a stats store's. */
  tableNames(): Promise<readonly string[]>;
  /** Within a transaction: no other process migrates until it ends, and names without a schema mean the store's. */
  beginMigration(transaction: Kysely<Tables>): Promise<void>;
  /** Inserts records of a run in a transaction of its own, without waiting where that can be done now. */
  insertMetrics(run: string, records: readonly MetricRecord[], memory: RunMemory): undefined | Promise<void>;
  /** True where an error means that another process is writing, so that it may be tried again. */
  isBusy(error: unknown): boolean;
  /** A failed operation in words that say what to do. */
  failure(what: string, error: unknown): EspalierError;
  close(): Promise<void>;
}

/** What a failure means: its code, what is said of the database, what to do. */
export type Meaning = readonly [code: string, words: string, fix?: string];

/** A failed operation in words that say what to do. */
export function failureOf(
  location: string,
  what: string,
  error: unknown,
  [code, words, fix]: Meaning,
): EspalierError {
  if (error instanceof EspalierError) return error;
  return new EspalierError(code, `${what}: ${location} ${words}`, { cause: error, ...(fix && { fix }) });
}

/** Milliseconds that others may keep a database for themselves. */
const patience = 30_000;
const [first, longest] = [1, 50];

/**
 * Does something that fails while another process writes, again and again until it is done. Between two attempts
 * other work of this process goes on.
 */
export async function patiently<T>(
  isBusy: (error: unknown) => boolean,
  work: () => T | Promise<T>,
): Promise<T> {
  const start = performance.now();
  for (let wait = first; ; wait = Math.min(2 * wait, longest))
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - start > patience) throw error;
      // Not all at the same moment again.
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    }
}

/** SQL words of a database for what both have. */
export interface Words {
  /** A column that numbers rows, upwards and never twice. */
  readonly counted: string;
  readonly integer: string;
  readonly real: string;
  /** After a table whose rows lie in the order of its primary key. */
  readonly clustered: string;
  /** NaN, where the database can say it. */
  readonly nan: string;
}

/** One step from a version of the schema to the next. Committed ones never change: files of their version exist. */
export interface Migration {
  readonly name: string;
  statements(words: Words): readonly string[];
}

/**
 * Brings a database to a version of the schema, the newest by default. Many processes may do so at once:
 * one does it, the others wait.
 */
export async function migrate(database: Database, to = migrations.length): Promise<void> {
  const { isBusy, tables } = database;
  if ((await patiently(isBusy, () => versionOf(database))) >= to) return;
  await patiently(isBusy, () =>
    tables.transaction().execute(async (transaction) => {
      await database.beginMigration(transaction);
      await sql`create table if not exists migrations (
        version integer primary key, name text not null, applied_at ${sql.raw(database.words.real)} not null
      )`.execute(transaction);
      const version = newest(await transaction.selectFrom("migrations").select("version").execute());
      for (const [index, { name, statements }] of migrations.slice(version, to).entries()) {
        for (const statement of statements(database.words)) await sql.raw(statement).execute(transaction);
        const row = { version: version + index + 1, name, applied_at: Date.now() };
        await transaction.insertInto("migrations").values(row).execute();
      }
    }),
  );
}

/** The version of the schema that is there, 0 where nothing is. Refuses what it does not know. */
async function versionOf(database: Database): Promise<number> {
  const names = await database.tableNames();
  if (names.length === 0) return 0;
  if (!names.includes("migrations") || !names.includes("metric_keys"))
    throw new EspalierError("STATS_INVALID", `${database.location} is a database, but not a stats store`, {
      fix: "name another file or database; this one is left as it is",
    });
  const version = newest(await database.tables.selectFrom("migrations").select("version").execute());
  if (version <= migrations.length) return version;
  throw new EspalierError(
    "STATS_NEWER",
    `${database.location} has version ${version} of the schema; this Espalier knows versions up to ${migrations.length}`,
    { fix: "update espalier, or name another file or database" },
  );
}

const newest = (rows: readonly { readonly version: number }[]): number =>
  Math.max(0, ...rows.map(({ version }) => version));

/** Runs and their metrics. The view is for people with a database client; SQLite keeps to the order of its cross joins. */
const runsAndMetrics: Migration = {
  name: "runs and metrics",
  statements: ({ counted, integer, real, clustered, nan }) => [
    `create table runs (
      number ${counted}, id text not null unique, name text not null, started_at ${real} not null,
      process text not null, ended_at ${real}, outcome text not null, reason text,
      config text not null, resumes ${integer} not null)`,
    "create index runs_by_name on runs (name)",
    `create table run_heads (
      run ${integer} primary key, counters text not null, places ${integer} not null, sealed_wall ${real},
      block ${integer}, block_rows ${integer} not null, first_wall ${real}, last_wall ${real})`,
    `create table metric_keys (
      id ${counted}, run ${integer} not null, key text not null, category text not null, name text not null,
      unit text not null, axis text not null, reduction text not null,
      unique (run, key, category, name, unit, axis, reduction))`,
    `create table metric_blocks (
      id ${counted}, run ${integer} not null, sealed ${integer} not null, first_wall ${real}, last_wall ${real},
      last_place ${integer})`,
    "create index metric_blocks_by_run on metric_blocks (run, id)",
    `create table metrics (
      block ${integer} not null, key ${integer} not null, step ${real} not null, identity ${integer} not null,
      place ${integer} not null, wall ${real} not null, value ${real}, form ${integer} not null, body text,
      count ${integer} not null, not_finite ${integer} not null,
      primary key (block, key, step, identity))${clustered}`,
    `create table metric_sums (
      block ${integer} not null, key ${integer} not null, points ${integer} not null, last_step ${real} not null,
      primary key (block, key))${clustered}`,
    `create view metric_values as
      select r.id as run, k.key, k.category, k.name, k.unit, k.axis, k.reduction, m.step, m.wall,
        case when m.form = 1 then ${nan} else m.value end as value, m.body, m.count, m.not_finite, m.place
      from runs r cross join metric_keys k cross join metric_blocks b cross join metrics m
      where k.run = r.number and b.run = r.number and m.block = b.id and m.key = k.id`,
  ],
};

/** Events of a run, and its hooks. */
const eventsAndHooks: Migration = {
  name: "events and hooks",
  statements({ counted, integer, real }) {
    const events = (table: string, own: string): readonly string[] => [
      `create table ${table} (
        number ${counted}, run ${integer} not null, step ${real} not null, wall ${real} not null,
        identity ${integer} not null, ${own}, unique (run, identity))`,
    ];
    return [
      ...events("evaluations", "name text not null, scores text not null"),
      ...events("episodes", `"return" ${real}, length ${real}, info text`),
      ...events("replays", "path text not null, uri text"),
      ...events("checkpoints", "path text not null, uri text"),
      ...events("heartbeats", `pid ${integer} not null, host text not null, phase text not null`),
      "create index heartbeats_by_wall on heartbeats (run, wall)",
      ...events("interventions", "who text not null, what text not null, details text"),
      `create table hook_decisions (
        number ${counted}, run ${integer} not null, hook text not null, event text not null,
        ran ${integer} not null, why text not null, from_step ${real} not null, to_step ${real} not null,
        times ${integer} not null)`,
      "create index hook_decisions_by_hook on hook_decisions (run, hook, event, number)",
      `create table hook_timings (
        run ${integer} not null, hook text not null, count ${integer} not null, mean ${real}, p99 ${real},
        max ${real}, total ${real}, primary key (run, hook))`,
    ];
  },
};

/** Which checkpoint an evaluation looked at. */
const evaluatedCheckpoints: Migration = {
  name: "checkpoints of evaluations",
  statements: () => ["alter table evaluations add column checkpoint text"],
};

/** Marks that people give runs, and how long a run is meant to be. */
const marksAndLimits: Migration = {
  name: "marks and limits of runs",
  statements: ({ integer }) => [
    "alter table runs add column tags text",
    `alter table runs add column archived ${integer}`,
    "alter table runs add column limits text",
  ],
};

/**
 * Summaries of metrics: see `MetricSpansTable`. Blocks that are there are summarized here, in parts of 64 blocks of about
 * 500 rows, as `metricInserter` does with those that come.
 */
const summaries: Migration = {
  name: "summaries of metrics",
  statements: ({ integer, real, clustered }) => [
    `create table metric_parts (
      run ${integer} not null, part ${integer} not null, primary key (run, part))${clustered}`,
    `create table metric_spans (
      part ${integer} not null, key ${integer} not null, block ${integer} not null,
      first_block ${integer} not null, points ${integer} not null, numbers ${integer} not null,
      finite ${integer} not null, low ${real}, high ${real}, total ${real}, first_step ${real} not null,
      last_step ${real} not null, first_wall ${real} not null, last_wall ${real} not null,
      primary key (part, key, block))${clustered}`,
    `alter table run_heads add column spanned ${integer} not null default 0`,
    `alter table run_heads add column unspanned ${integer} not null default 0`,
    `insert into metric_spans
      select p.part, m.key, max(m.block), min(m.block), count(*), sum(case when m.form <= 2 then 1 else 0 end),
        count(case when m.value between -1e290 and 1e290 then 1 end),
        min(case when m.value between -1e290 and 1e290 then m.value end),
        max(case when m.value between -1e290 and 1e290 then m.value end),
        sum(case when m.value between -1e290 and 1e290 then m.value end),
        min(m.step), max(m.step), min(m.wall), max(m.wall)
      from (
        select b.id, max(b.id) over (partition by b.run, b.nth / 64) as part, (b.nth % 64) / k.size as span
        from (select id, run, row_number() over (partition by run order by id) - 1 as nth
          from metric_blocks where sealed = 1) b
        join (select run, 1 + 64 * count(*) / 500 as size from metric_keys group by run) k on k.run = b.run
      ) p cross join metrics m where m.block = p.id group by p.part, p.span, m.key`,
    `insert into metric_parts
      select distinct b.run, s.part from metric_spans s join metric_blocks b on b.id = s.part`,
    `update run_heads set spanned = coalesce(
      (select max(b.id) from metric_blocks b where b.run = run_heads.run and b.sealed = 1), 0)`,
    "drop table metric_sums",
  ],
};

/** The first leads to version 1. */
export const migrations: readonly Migration[] = [
  runsAndMetrics,
  eventsAndHooks,
  evaluatedCheckpoints,
  marksAndLimits,
  summaries,
];

/** The tables of a stats store, as kysely sees them. Both databases have the same. */
export interface Tables {
  readonly migrations: { version: number; name: string; applied_at: number };
  readonly runs: RunsTable;
  readonly run_heads: RunHeadsTable;
  readonly metric_keys: MetricKeysTable;
  readonly metric_blocks: MetricBlocksTable;
  readonly metrics: MetricsTable;
  readonly metric_parts: { run: number; part: number };
  readonly metric_spans: MetricSpansTable;
  readonly evaluations: Events<{ name: string; scores: string; checkpoint: string | null }>;
  readonly episodes: Events<{ return: number | null; length: number | null; info: string | null }>;
  readonly replays: FilesTable;
  readonly checkpoints: FilesTable;
  readonly heartbeats: Events<{ pid: number; host: string; phase: string }>;
  readonly interventions: Events<{ who: string; what: string; details: string | null }>;
  readonly hook_decisions: HookDecisionsTable;
  readonly hook_timings: HookTimingsTable;
}

type Numbers<Names extends string> = Record<Names, number>;
type Texts<Names extends string> = Record<Names, string>;
type Nullable<Columns> = { [Name in keyof Columns]: Columns[Name] | null };

/**
 * `process` says when and where the process that is at it now began: a second `startRun` of the same process changes
 * nothing. `tags` are a JSON list, `limits` counters at which the run ends.
 */
interface RunsTable
  extends Numbers<"started_at" | "resumes">,
    Texts<"id" | "name" | "process" | "outcome" | "config">,
    Nullable<Numbers<"ended_at" | "archived"> & Texts<"reason" | "tags" | "limits">> {
  number: Generated<number>;
}

/** Where inserting into a run stands: small, because every window changes it. */
interface RunHeadsTable extends Numbers<"run">, Nullable<Numbers<"first_wall" | "last_wall">> {
  counters: string;
  /** Places given so far. Never goes back, so that a reader who follows misses nothing. */
  places: number;
  /** The latest wall time in blocks that are sealed: what is later than it cannot be in one of them. */
  sealed_wall: number | null;
  /** The block that goes on. Null where the next window begins one. */
  block: number | null;
  block_rows: number;
  /** The last block that is summarized in `metric_spans`, and rows in sealed blocks after it. */
  spanned: Generated<number>;
  unspanned: Generated<number>;
}

/** `unit` is empty where there is none. */
interface MetricKeysTable
  extends Numbers<"run">,
    Texts<"key" | "category" | "name" | "unit" | "axis" | "reduction"> {
  id: Generated<number>;
}

/**
 * Rows of a run that came one after the other, about a thousand. Within a block they are ordered by key and step: so a
 * window of many metrics changes few pages of the file, and the series of one metric is found by one look a block.
 * `sealed` is 1 where no more rows come: then walls and the last place are known.
 */
interface MetricBlocksTable
  extends Numbers<"run" | "sealed">,
    Nullable<Numbers<"first_wall" | "last_wall" | "last_place">> {
  id: Generated<number>;
}

/**
 * Values of one metric in blocks that follow each other, summarized: about 64. A part of a run, some ten thousand rows,
 * is summarized at once, when its last block is sealed, and its spans lie together: so writing them changes few pages,
 * and those of one metric are found by one look a part. `metric_parts` says which parts a run has.
 */
interface MetricSpansTable extends Numbers<"key" | "first_step" | "last_step" | "first_wall" | "last_wall"> {
  /** The last block of the part. */
  part: number;
  /** The last block of the span, and the first. */
  block: number;
  first_block: number;
  /** Rows; those that hold a number, NaN and infinity included; and those that are finite. */
  points: number;
  numbers: number;
  finite: number;
  /** Of the finite ones. Null where there are none. */
  low: number | null;
  high: number | null;
  total: number | null;
}

interface MetricsTable
  extends Numbers<"block" | "key" | "step" | "place" | "wall" | "form" | "count" | "not_finite"> {
  /** Tells apart values of one metric at one step: see `identityOf`. */
  identity: number;
  /** Null where `form` is not a number's. */
  value: number | null;
  /** A text or a histogram as JSON. */
  body: string | null;
}

/** A table of events, with the columns that all of them have. */
type Events<Own> = Own & Numbers<"run" | "step" | "wall" | "identity"> & { number: Generated<number> };
type FilesTable = Events<{ path: string; uri: string | null }>;

interface HookDecisionsTable
  extends Numbers<"run" | "ran" | "from_step" | "to_step" | "times">,
    Texts<"hook" | "event" | "why"> {
  number: Generated<number>;
}

interface HookTimingsTable
  extends Numbers<"run" | "count">,
    Texts<"hook">,
    Nullable<Numbers<"mean" | "p99" | "max" | "total">> {}
