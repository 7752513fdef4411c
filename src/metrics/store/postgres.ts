import { CompiledQuery, Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { EspalierError } from "../../core/index.ts";
import { type Database, failureOf, type Meaning, patiently, type Tables } from "./database.ts";
import { metricInserter } from "./insert-metrics.ts";

// The store in a Postgres database, through a pool of connections.

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
    // A store that is never closed does not keep a process from ending.
    allowExitOnIdle: true,
    types: { getTypeParser: parserOf },
  });
  // Without listeners a server that goes away would end the process. The next query fails instead.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => void client.on("error", () => undefined));
  const tables = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  const table = `${schema}.metrics`;
  const stepsOf = metricInserter(tables, {
    lock: true,
    table,
    parameter: (index) => `$${index + 1}`,
    // Each statement is a way there and back. Postgres takes 65,535 parameters.
    together: 2000,
  });
  return {
    kind: "postgres",
    location,
    tables,
    isBusy: isContended,
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
    async insertMetrics(run, records, memory) {
      const insert = tables.transaction();
      const work = async (transaction: Kysely<Tables>): Promise<() => void> => {
        const steps = stepsOf(run, records, memory);
        let step = steps.next();
        while (!step.done) {
          const { sql, parameters } = step.value;
          step = steps.next((await transaction.executeQuery(CompiledQuery.raw(sql, [...parameters]))).rows);
        }
        return step.value;
      };
      const remember = await patiently(isContended, () => insert.execute(work));
      remember();
    },
    close: () => tables.destroy(),
  };
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

/** Codes of a server that is not there, is ending, or cannot be reached; and of connections that broke. */
const gone = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ENOENT",
];
/** Messages of pg without a code: a connection is lost, or none is made in time. */
const lost =
  /connection (terminated|error|timeout)|timeout (exceeded|expired)|not queryable|client was closed/i;
/** Serialization failures, deadlocks, a lock that was not to be had. */
const contended = ["40001", "40P01", "55P03"];

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
};

/** True where another process was writing. */
export const isContended = (error: unknown): boolean => contended.includes(codeOf(error));

/** A failed operation on a server, never with a password. */
export const postgresFailure = (location: string, what: string, error: unknown): EspalierError =>
  failureOf(location, what, error, meaningOf(error));

function meaningOf(error: unknown): Meaning {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message || code : String(error);
  const isGone = gone.includes(code) || /^(08|57P|53300$)/.test(code) || lost.test(message);
  if (isGone)
    return [
      "STATS_UNAVAILABLE",
      `cannot be reached (${message || code})`,
      "start the server, or correct host and port in the URL",
    ];
  if (code.startsWith("28"))
    return ["STATS_UNAVAILABLE", `does not let us in (${message})`, "correct user and password in the URL"];
  if (code === "3D000")
    return ["STATS_UNAVAILABLE", "does not exist", "create the database, or correct its name in the URL"];
  if (code === "53100") return ["STATS_FULL", "has no space left on its disk", "free space"];
  if (code === "42501" || code === "25006")
    return ["STATS_UNWRITABLE", `may not be written to (${message})`, "grant the user its rights"];
  if (isContended(error))
    return ["STATS_BUSY", `is kept by another process (${message})`, "end that process, or try again"];
  return ["STATS_FAILED", `failed: ${message}`];
}
