import { CompiledQuery, Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { EspalierError } from "../../../core/index.ts";
import type { Database } from "../database.ts";
import type { Filing, Request } from "../filing/index.ts";
import type { Tables } from "../schema/index.ts";
import { isContended, postgresFailure } from "./failure.ts";
import { rowInserts } from "./insert-rows.ts";

/** Of its own, so that a database that is used for other things too can hold it: MLflow has tables of the same names. */
const schema = "espalier";
/** Any number will do, as long as all take the same. */
const migrationLock = 7_206_031;
const bigint = 20;

/** A Postgres database by its URL. Nothing is asked of the server yet. */
export function openPostgres(url: string): Database {
  const location = withoutPassword(url);
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // A store that nobody closes does not keep a process from ending.
    allowExitOnIdle: true,
    types: { getTypeParser: parserOf },
  });
  // Without listeners a server that goes away would end the process. Whoever asks next is told.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => void client.on("error", () => undefined));
  const tables = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  return {
    ...{ kind: "postgres", location, tables, isBusy: isContended },
    words: {
      counted: "bigint generated always as identity primary key",
      integer: "bigint",
      real: "double precision",
      clustered: "",
      nan: "'NaN'::float8",
    },
    failure: (what, error) => postgresFailure(location, what, error),
    async tableNames() {
      const query = sql<{ name: string }>`
        select table_name as name from information_schema.tables where table_schema = ${schema}`;
      return (await query.execute(tables)).rows.map(({ name }) => name);
    },
    async beginMigration(transaction) {
      await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(transaction);
      await sql`create schema if not exists ${sql.id(schema)}`.execute(transaction);
      await sql`set local search_path to ${sql.id(schema)}`.execute(transaction);
    },
    file: (filing) => tables.transaction().execute((transaction) => follow(transaction, filing)),
    close: () => tables.destroy(),
  };
}

async function follow<T>(transaction: Kysely<Tables>, filing: Filing<T>): Promise<T> {
  let answer: readonly unknown[] = [];
  for (;;) {
    const step = filing.next(answer);
    if (step.done) return step.value;
    for (const { sql, parameters } of queriesOf(step.value))
      answer = (await transaction.executeQuery(CompiledQuery.raw(sql, [...parameters]))).rows;
  }
}

function* queriesOf(
  request: Request,
): Generator<{ readonly sql: string; readonly parameters: readonly unknown[] }> {
  if ("rows" in request) yield* rowInserts(request.rows);
  else yield { sql: adapted(request.sql), parameters: request.parameters };
}

/** A statement of a filing in the words of Postgres. The lock lets one writer of a run in after the other. */
function adapted(text: string): string {
  let parameter = 0;
  return text
    .replaceAll("{lock}", " for no key update of h")
    .replace(/\{(\w+)\}/g, `${schema}.$1`)
    .replaceAll("?", () => `$${++parameter}`);
}

/** Counts and places are numbers: they stay below 2 ** 53. */
const parserOf = ((oid: number, format?: "text") =>
  oid === bigint ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

/** The URL without what is secret, for messages. */
function withoutPassword(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    return `${protocol}//${username && `${username}@`}${host}${pathname}`;
  } catch {
    // The error of URL holds the URL, password and all.
    throw new EspalierError("STATS_LOCATION_INVALID", "the URL of the Postgres database cannot be read", {
      fix: "write postgres://user:password@host:5432/database, special characters in the password as %XX",
    });
  }
}
