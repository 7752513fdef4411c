import type { Kysely, Selectable, SelectQueryBuilder } from "kysely";
import { didYouMean, EspalierError } from "../../core/index.ts";
import type { Json } from "../json.ts";
import { unknownRun } from "./filing/index.ts";
import { numbersOf } from "./json-text.ts";
import type { Tables } from "./schema/index.ts";
import type { RunRow } from "./stats-store.ts";

/** The run's number in the other tables. */
export async function numberOf(tables: Kysely<Tables>, id: string): Promise<number> {
  const row = await tables.selectFrom("runs").select("number").where("id", "=", id).executeTakeFirst();
  if (row) return row.number;
  const others = await tables.selectFrom("runs").select("id").orderBy("number", "desc").limit(1000).execute();
  throw unknownRun(
    id,
    didYouMean(
      id,
      others.map((other) => other.id),
    ),
  );
}

type Found = Selectable<Tables["runs"]> & { readonly counters: string; readonly heartbeat: number | null };

const newestFirst = (tables: Kysely<Tables>): SelectQueryBuilder<Tables, "runs" | "run_heads", Found> =>
  tables
    .selectFrom("runs")
    .innerJoin("run_heads", "run_heads.run", "runs.number")
    .selectAll("runs")
    .select("run_heads.counters")
    .select(({ selectFrom }) =>
      selectFrom("heartbeats")
        .whereRef("heartbeats.run", "=", "runs.number")
        .select(({ fn }) => fn.max("heartbeats.wall").as("wall"))
        .as("heartbeat"),
    )
    .orderBy("runs.started_at", "desc")
    .orderBy("runs.number", "desc");

export async function listRuns(
  tables: Kysely<Tables>,
  limit: number | undefined,
): Promise<readonly RunRow[]> {
  const query = newestFirst(tables);
  return (await (limit === undefined ? query : query.limit(limit)).execute()).map(runRow);
}

/** By id, by name, or by how its id begins. */
export async function findRun(tables: Kysely<Tables>, idOrName: string): Promise<RunRow> {
  const query = newestFirst(tables);
  const exact =
    (await query.where("id", "=", idOrName).executeTakeFirst()) ??
    (await query.where("name", "=", idOrName).limit(1).executeTakeFirst());
  if (exact) return runRow(exact);
  const all = await tables.selectFrom("runs").select(["id", "name"]).orderBy("number", "desc").execute();
  const [only, ...more] = idOrName === "" ? [] : all.filter(({ id }) => id.startsWith(idOrName));
  if (only && more.length === 0)
    return runRow(await query.where("id", "=", only.id).executeTakeFirstOrThrow());
  if (only)
    throw new EspalierError(
      "STATS_AMBIGUOUS_RUN",
      `${more.length + 1} runs have an id that begins with "${idOrName}": ${shortList([only, ...more])}`,
      { fix: "write more of the id" },
    );
  throw unknownRun(
    idOrName,
    didYouMean(
      idOrName,
      all.flatMap(({ id, name }) => [name, id]),
    ),
  );
}

const shortList = (runs: readonly { readonly id: string }[]): string =>
  runs
    .slice(0, 5)
    .map(({ id }) => id)
    .join(", ") + (runs.length > 5 ? ", ..." : "");

const runRow = (row: Found): RunRow => ({
  id: row.id,
  name: row.name,
  startedAt: row.started_at,
  endedAt: row.ended_at ?? undefined,
  outcome: row.outcome as RunRow["outcome"],
  reason: row.reason ?? undefined,
  config: JSON.parse(row.config) as Json,
  resumes: row.resumes,
  counters: numbersOf(JSON.parse(row.counters) as object),
  heartbeat: row.heartbeat ?? undefined,
});
