import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from "kysely";
import { type EspalierError, makeDirectory, node } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import { type Database, failureOf, type Meaning, patiently, type Tables } from "./database.ts";
import { type InsertStep, metricInserter, type RunMemory } from "./insert-metrics.ts";

// The store in a SQLite file. One connection does everything: queries through kysely, and inserts of metrics at once,
// without waiting for anything, so that they are in the file when the call returns.

/** Milliseconds for which SQLite itself waits for another writer, and all of this process with it. */
const blocking = 10;

/** A SQLite file, made with its directory where there is none. */
export async function openSqlite(path: string): Promise<Database> {
  const { dirname, resolve } = node.path;
  const failure = (what: string, error: unknown) => sqliteFailure(path, what, error);
  try {
    if (path !== ":memory:") makeDirectory(dirname(resolve(path)));
    const connection = new DatabaseSync(path, { timeout: blocking });
    try {
      await patiently(isBusy, () => configure(connection));
    } catch (error) {
      connection.close();
      throw error;
    }
    return sqliteDatabase(connection, path, failure);
  } catch (error) {
    throw failure("opening", error);
  }
}

/** Readers do not wait for writers, nor writers for readers; what is written survives the end of the process, however it comes. */
function configure(connection: DatabaseSyncInstance): void {
  connection.exec("pragma journal_mode = wal");
  connection.exec("pragma synchronous = normal; pragma temp_store = memory; pragma cache_size = -16000");
  // Rows of a window change some ten pages: with the usual 1000 the log would be emptied every hundredth window.
  connection.exec("pragma wal_autocheckpoint = 4000");
}

function sqliteDatabase(
  connection: DatabaseSyncInstance,
  location: string,
  failure: Database["failure"],
): Database {
  const statements = statementsOf(connection);
  const turns = new Turns();
  const tables = new Kysely<Tables>({ dialect: sqliteDialect(connection, statements, turns) });
  const insert = metricsInserter(connection, statements, tables);
  return {
    kind: "sqlite",
    location,
    tables,
    isBusy,
    failure,
    words: {
      counted: "integer primary key autoincrement",
      integer: "integer",
      real: "real",
      clustered: " without rowid",
      nan: "'NaN'",
    },
    async tableNames() {
      const query = sql<{ name: string }>`select name from sqlite_master where name not like 'sqlite_%'`;
      return (await query.execute(tables)).rows.map(({ name }) => name);
    },
    beginMigration: async () => undefined,
    insertMetrics(run, records, memory) {
      if (!turns.isTaken)
        try {
          insert(run, records, memory);
          return undefined;
        } catch (error) {
          if (!isBusy(error)) throw error;
        }
      return patiently(isBusy, async () => {
        await turns.take();
        try {
          insert(run, records, memory);
        } finally {
          turns.giveBack();
        }
      });
    },
    async close() {
      await turns.take();
      await tables.destroy();
      // The binding closes a file for good only once its statements are collected; the log goes into it now.
      connection.exec("pragma wal_checkpoint(truncate)");
      connection.close();
    },
  };
}

/** A function that inserts records in a transaction of its own. */
function metricsInserter(
  connection: DatabaseSyncInstance,
  statements: Statements,
  tables: Kysely<Tables>,
): (id: string, records: readonly MetricRecord[], memory: RunMemory) => void {
  // Parameters without numbers: SQLite would look up those that have one in a list.
  // More rows a statement are no faster, as measured.
  const words = { lock: false, table: "metrics", parameter: () => "?", together: 50 };
  const stepsOf = metricInserter(tables, words);
  return (id, records, memory) => {
    statements("begin immediate").run();
    let step: IteratorResult<InsertStep, () => void>;
    try {
      const steps = stepsOf(id, records, memory);
      for (step = steps.next(); !step.done; ) {
        const { sql, parameters } = step.value;
        step = steps.next(statements(sql).all(...parameters.map(bindable)));
      }
      statements("commit").run();
    } catch (error) {
      if (connection.isTransaction) statements("rollback").run();
      throw error;
    }
    step.value();
  };
}

/** Numbers below it are taken for 0 by the binding, which rounds what is that near to a whole number. */
const smallest = Number.EPSILON;

/** A value as it must be handed to the binding. A tiny number goes as text: its column makes it a number again, exactly. */
const bindable = (value: unknown): unknown =>
  typeof value === "number" && value > 0 && value < smallest ? String(value) : value;

/** Kysely on a connection that is there already. Who holds `turns` has it for itself. */
function sqliteDialect(connection: DatabaseSyncInstance, statements: Statements, turns: Turns): Dialect {
  const run = async (text: string): Promise<void> => void statements(text).run();
  const queries: DatabaseConnection = {
    async executeQuery<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const statement = statements(text);
      const values = parameters.map(bindable);
      if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] };
      const { changes } = statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes) };
    },
    // biome-ignore lint/correctness/useYield: the contract has it, and it is not used here
    async *streamQuery() {
      throw new Error("queries are not streamed");
    },
  };
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => ({
      init: async () => undefined,
      async acquireConnection() {
        await turns.take();
        return queries;
      },
      // At once for writing: a transaction that reads first and then wants to write can be refused half-way.
      beginTransaction: () => run("begin immediate"),
      commitTransaction: () => run("commit"),
      // A full disk has ended it already.
      rollbackTransaction: async () => {
        if (connection.isTransaction) await run("rollback");
      },
      releaseConnection: async () => turns.giveBack(),
      destroy: async () => undefined,
    }),
  };
}

/** Statements that are kept compiled. */
const most = 200;

type Statements = (text: string) => StatementSyncInstance;

/** Statements of a connection, compiled once. */
function statementsOf(connection: DatabaseSyncInstance): Statements {
  const compiled = new Map<string, StatementSyncInstance>();
  return (text) => {
    const known = compiled.get(text);
    if (known) return known;
    if (compiled.size >= most) compiled.clear();
    const statement = connection.prepare(text);
    compiled.set(text, statement);
    return statement;
  };
}

/** Lets users of one thing in one after the other, in the order in which they asked. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  get isTaken(): boolean {
    return this.#taken;
  }

  async take(): Promise<void> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#taken = true;
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }
}

/** The primary result code of SQLite, where an error has one. */
const sqliteCode = (error: unknown): number | undefined => {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
};

const [PERM, BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB] = [
  3, 5, 6, 8, 10, 11, 13, 14, 26,
];

/** True where another process was writing. */
export const isBusy = (error: unknown): boolean => [BUSY, LOCKED].includes(sqliteCode(error) ?? -1);

/** A failed operation on a file. */
export const sqliteFailure = (path: string, what: string, error: unknown): EspalierError =>
  failureOf(path, what, error, meaningOf(error));

function meaningOf(error: unknown): Meaning {
  const { code = "", message } = error as NodeJS.ErrnoException;
  switch (sqliteCode(error)) {
    case BUSY:
    case LOCKED:
      return [
        "STATS_BUSY",
        "is kept by another process",
        "end that process, or give this run a file of its own",
      ];
    case CORRUPT:
    case NOTADB:
      return [
        "STATS_INVALID",
        `is not a stats store, or is damaged (${message})`,
        "name another file; this one is left as it is",
      ];
    case FULL:
      return ["STATS_FULL", "has no space left on its disk", "free space; what was filed is untouched"];
    case PERM:
    case READONLY:
    case CANTOPEN:
      return unwritable(message);
    case IOERR:
      return ["STATS_UNAVAILABLE", `cannot be read or written (${message})`, "look at its disk"];
  }
  if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ENOENT", "ENAMETOOLONG"].includes(code))
    return unwritable(code);
  if (code === "ENOSPC" || code === "EDQUOT")
    return ["STATS_FULL", "has no space left on its disk", "free space"];
  return ["STATS_FAILED", `failed: ${message}`];
}

const unwritable = (why: string): Meaning => [
  "STATS_UNWRITABLE",
  `cannot be written to (${why})`,
  "give a file in a directory that can be written to",
];
