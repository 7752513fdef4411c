import { type Kysely, sql } from "kysely";
import { EspalierError } from "../../../core/index.ts";
import type { Tables } from "../schema/index.ts";
import type { MetricRow, SeriesChoice } from "../stats-store.ts";
import { keysOf, metricRows, type Point, pointsOf } from "./points.ts";

/** The values of a metric by step, then as they came. */
export async function series(
  tables: Kysely<Tables>,
  run: number,
  key: string,
  choice: SeriesChoice,
): Promise<readonly MetricRow[]> {
  const { points } = choice;
  if (points !== undefined && !(Number.isSafeInteger(points) && points > 0))
    throw new EspalierError("STATS_CHOICE_INVALID", `a series cannot have ${points} points`, {
      fix: "give a whole number from 1 on",
    });
  const keys = await keysOf(tables, run, key);
  if (keys.size === 0) return [];
  const all = (db: Pick<Kysely<Tables>, "selectFrom">) => valuesOf(db, run, [...keys.keys()], choice);
  if (points === undefined)
    return metricRows(keys, await all(tables).orderBy("m.step").orderBy("m.place").execute());
  if (points === 1) {
    const last = all(tables).orderBy("m.step", "desc").orderBy("m.place", "desc").limit(1);
    return metricRows(keys, await last.execute());
  }
  return metricRows(keys, await thinned(tables, all, points));
}

function valuesOf(
  tables: Pick<Kysely<Tables>, "selectFrom">,
  run: number,
  keys: readonly number[],
  { from, to }: SeriesChoice,
) {
  let query = pointsOf(tables, run).where("m.key", "in", keys);
  if (from !== undefined) query = query.where("m.step", ">=", from);
  if (to !== undefined) query = query.where("m.step", "<=", to);
  return query;
}

/** Not more than so many, chosen by the database: it need not hand out the others. */
function thinned(
  tables: Kysely<Tables>,
  all: (db: Pick<Kysely<Tables>, "selectFrom">) => ReturnType<typeof valuesOf>,
  points: number,
): Promise<readonly Point[]> {
  // Where there is room, the lowest and the highest are shown beside the evenly chosen: a spike is what one looks for.
  const extremes = points > 3;
  const gaps = sql.lit((extremes ? points - 2 : points) - 1);
  return tables
    .with("numbered", (db) =>
      all(db).select([
        sql<number>`row_number() over (order by m.step, m.place) - 1`.as("nth"),
        sql<number>`count(*) over ()`.as("total"),
        sql<number>`first_value(m.place) over (order by (m.value is null), m.value, m.step)`.as("lowest"),
        sql<number>`first_value(m.place) over (order by (m.value is null), m.value desc, m.step)`.as(
          "highest",
        ),
      ]),
    )
    .selectFrom("numbered")
    .selectAll()
    .where(({ eb, or }) =>
      or([
        eb("total", "<=", points),
        // The first row of each gap: they lie evenly, and the first and the last of all are among them.
        sql<boolean>`(nth * ${gaps}) % nullif(total - 1, 0) < ${gaps}`,
        ...(extremes ? [sql<boolean>`place in (lowest, highest)`] : []),
      ]),
    )
    .orderBy("nth")
    .execute();
}
