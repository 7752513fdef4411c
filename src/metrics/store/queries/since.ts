import type { Kysely } from "kysely";
import type { Tables } from "../schema/index.ts";
import type { MetricRow } from "../stats-store.ts";
import { keysOf, metricRows, type Point, pointsOf } from "./points.ts";

/** Blocks that are read in one go. */
const together = 16;

/** What came after a place, in the order in which it came. Later blocks hold later places. */
export async function since(
  tables: Kysely<Tables>,
  run: number,
  place: number,
  limit = Number.POSITIVE_INFINITY,
): Promise<{ readonly rows: readonly MetricRow[]; readonly next: number }> {
  const points: Point[] = [];
  for (let block = 0; points.length < limit; ) {
    const blocks = await tables
      .selectFrom("metric_blocks")
      .select(["id", "sealed"])
      .where("run", "=", run)
      .where("id", ">", block)
      .where(({ eb, or }) => or([eb("sealed", "=", 0), eb("last_place", ">", place)]))
      .orderBy("id")
      .limit(together)
      .execute();
    const ids = blocks.map(({ id }) => id);
    if (ids.length === 0) break;
    block = Math.max(...ids);
    const found = await pointsOf(tables, run)
      .where("b.id", "in", ids)
      .where("m.place", ">", place)
      .orderBy("m.place")
      .$if(Number.isFinite(limit), (query) => query.limit(limit - points.length))
      .execute();
    for (const point of found) points.push(point);
    // Into one that is not sealed more may have come since: what is in later blocks came after that.
    if (blocks.some(({ sealed }) => sealed === 0)) break;
  }
  // After the points: so none is of a metric that is not known.
  const rows = metricRows(await keysOf(tables, run), points);
  return { rows, next: points.at(-1)?.place ?? place };
}
