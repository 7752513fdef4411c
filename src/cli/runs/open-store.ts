import { EspalierError } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import type { Surroundings } from "./surroundings.ts";

/** Where runs file what they did unless they are told otherwise. */
const DEFAULT_STORE = "runs/stats.db";

/** Opens the store a command reads, and closes it afterwards. */
export async function withStore<T>(
  given: string | undefined,
  { env, openStore }: Pick<Surroundings, "env" | "openStore">,
  use: (store: StatsStore) => Promise<T>,
): Promise<T> {
  const location = given ?? (env.ESPALIER_STORE || DEFAULT_STORE);
  const store = await openStore(location).catch((error: unknown) => {
    throw error instanceof EspalierError && error.code === "STATS_MISSING" ? missing(location, error) : error;
  });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The same, with what can be done about it here. */
const missing = (location: string, cause: EspalierError): EspalierError =>
  new EspalierError(cause.code, `there is no stats store ${location}`, {
    fix: "give --store or set ESPALIER_STORE: the SQLite file or the postgres:// URL that the run was told to file in",
    cause,
  });
