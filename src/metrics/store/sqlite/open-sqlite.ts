import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { Kysely, sql } from "kysely";
import type { Database } from "../database.ts";
import type { Filing } from "../filing/index.ts";
import { patiently } from "../patience.ts";
import type { Tables } from "../schema/index.ts";
import { sqliteDialect } from "./dialect.ts";
import { isBusy, sqliteFailure } from "./failure.ts";
import { insertRows } from "./insert-rows.ts";
import { Statements } from "./statements.ts";
import { Turns } from "./turns.ts";

/** Milliseconds for which SQLite itself waits for another writer, and all of this process with it. */
const blocking = 10;

/** A SQLite file, made with its directory where there is none. */
export async function openSqlite(path: string): Promise<Database> {
  const failure = (what: string, error: unknown) => sqliteFailure(path, what, error);
  try {
    if (path !== ":memory:") mkdirSync(dirname(resolve(path)), { recursive: true });
    const connection = new DatabaseSync(path, { timeout: blocking });
    try {
      await patiently(isBusy, () => prepare(connection));
    } catch (error) {
      connection.close();
      throw error;
    }
    return sqliteDatabase(connection, path, failure);
  } catch (error) {
    throw failure("opening", error);
  }
}

/** Readers do not wait for writers, nor writers for readers; what is filed survives the end of the process, however it comes. */
function prepare(connection: DatabaseSyncInstance): void {
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
  const statements = new Statements(connection);
  const turns = new Turns();
  const tables = new Kysely<Tables>({ dialect: sqliteDialect(connection, statements, turns) });
  const fileNow = <T>(filing: Filing<T>): T => {
    statements.of("begin immediate").run();
    try {
      const result = follow(statements, filing);
      statements.of("commit").run();
      return result;
    } catch (error) {
      if (connection.isTransaction) statements.of("rollback").run();
      throw error;
    }
  };
  return {
    ...{ kind: "sqlite", location, tables, isBusy, failure },
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
    async file(filing) {
      await turns.take();
      try {
        return fileNow(filing);
      } finally {
        turns.giveBack();
      }
    },
    fileNow: (filing) => (turns.isTaken ? undefined : { result: fileNow(filing) }),
    async close() {
      await turns.take();
      await tables.destroy();
      // The binding closes a file for good only once its statements are collected; the log goes into it now.
      connection.exec("pragma wal_checkpoint(truncate)");
      connection.close();
    },
  };
}

function follow<T>(statements: Statements, filing: Filing<T>): T {
  let answer: readonly unknown[] = [];
  for (;;) {
    const step = filing.next(answer);
    if (step.done) return step.value;
    const request = step.value;
    if ("rows" in request) {
      insertRows(statements, request.rows);
      answer = [];
    } else {
      const statement = statements.asked(request.sql);
      answer = request.answers ? statement.all(...request.parameters) : [];
      if (!request.answers) statement.run(...request.parameters);
    }
  }
}
