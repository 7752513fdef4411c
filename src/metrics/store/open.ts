import { existsSync } from "node:fs";
import { type Clock, EspalierError, systemClock } from "../../core/index.ts";
import type { Database } from "./database.ts";
import type { StatsStore } from "./stats-store.ts";

/** Options of {@link openStatsStore}. */
export interface StatsStoreOptions {
  /** Whether a file that is not there is made. Default true; readers say false. */
  readonly create?: boolean;
  readonly clock?: Clock;
}

/**
 * Opens what runs are kept in: a SQLite file by its path, or a Postgres database by its URL, whose tables are then in
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
  const [{ migrate }, { storeOn }] = await Promise.all([import("./schema/index.ts"), import("./store.ts")]);
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
  if (/^postgres(ql)?:/i.test(location))
    return (await import("./postgres/open-postgres.ts")).openPostgres(location);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location))
    throw new EspalierError("STATS_LOCATION_INVALID", "a stats store is a file or a Postgres database", {
      fix: 'give a path such as "runs/stats.db" or a URL that begins with postgres://',
    });
  if (!create && !existsSync(location))
    throw new EspalierError("STATS_MISSING", `there is no stats store ${location}`, {
      fix: "name the file that the runs were filed in",
    });
  return (await import("./sqlite/open-sqlite.ts")).openSqlite(location);
}
