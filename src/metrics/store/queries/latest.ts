import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/index.ts";
import type { MetricRow } from "../stats-store.ts";
import { keysOf, metricRows, type Point, pointColumns } from "./points.ts";

/** Points of every metric in every block of a run: from the sums of those that are sealed, counted in the one that is not. */
const sumsOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number) =>
  tables
    .selectFrom("metric_blocks as b")
    .innerJoin("metric_sums as s", "s.block", "b.id")
    .where("b.run", "=", run)
    .select(["s.block", "s.key", "s.points", "s.last_step"])
    .unionAll(
      tables
        .selectFrom("metric_blocks as b")
        .innerJoin("metrics as m", "m.block", "b.id")
        .where("b.run", "=", run)
        .where("b.sealed", "=", 0)
        .groupBy(["m.block", "m.key"])
        .select(({ fn }) => [
          "m.block",
          "m.key",
          fn.countAll<number>().as("points"),
          fn.max("m.step").as("last_step"),
        ]),
    );

/** Keys of a run's metrics, with how many points each has. */
export async function countMetrics(
  tables: Kysely<Tables>,
  run: number,
): Promise<readonly { readonly key: string; readonly points: number }[]> {
  const counted = await tables
    .with("sums", (db) => sumsOf(db, run))
    .selectFrom("sums")
    .innerJoin("metric_keys as k", "k.id", "sums.key")
    .groupBy("k.key")
    // A sum of whole numbers may come as a decimal.
    .select(({ fn }) => ["k.key", fn.sum<number | string>("sums.points").as("points")])
    .execute();
  return counted
    .map(({ key, points }) => ({ key, points: Number(points) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The value of every metric that lies furthest on its axis; of several there, the one that came last. */
export async function latest(tables: Kysely<Tables>, run: number): Promise<readonly MetricRow[]> {
  const found = await tables
    .with("sums", (db) => sumsOf(db, run))
    .with("ranked", (db) =>
      db
        .selectFrom("sums")
        .selectAll()
        .select(sql<number>`rank() over (partition by key order by last_step desc)`.as("rank")),
    )
    .selectFrom("ranked as r")
    .innerJoin("metrics as m", (join) =>
      join.onRef("m.block", "=", "r.block").onRef("m.key", "=", "r.key").onRef("m.step", "=", "r.last_step"),
    )
    .where("r.rank", "=", 1)
    .select(pointColumns)
    .execute();
  const keys = await keysOf(tables, run);
  const newest = new Map<string, Point>();
  for (const point of found) {
    const key = keys.get(point.key)?.key ?? "";
    const known = newest.get(key);
    if (!known || point.step > known.step || (point.step === known.step && point.place > known.place))
      newest.set(key, point);
  }
  return metricRows(keys, [...newest.values()]).sort((a, b) => (a.key < b.key ? -1 : 1));
}
