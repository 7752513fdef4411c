import { sql } from "kysely";
import { EspalierError } from "../../../core/index.ts";
import type { Database } from "../database.ts";
import { patiently } from "../patience.ts";
import { migrations } from "./migrations.ts";

/**
 * Brings a database to a version of the schema, the newest unless told otherwise. Many processes may do so at once:
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
