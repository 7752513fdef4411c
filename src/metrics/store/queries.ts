import { type Kysely, type Selectable, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { Tables } from "./database.ts";
import type { Bucket, BucketChoice, MetricRow, SeriesChoice } from "./stats-store.ts";
import { forms, readValue } from "./stored-values.ts";

// Queries about a run's metrics: all values of one, the newest of each, those after a place.

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

/** At most `points` of them, chosen by the database, so that it need not hand out the others. */
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

/** Values of a metric in parts of equal width along its axis, those without values left out. */
export async function buckets(
  tables: Kysely<Tables>,
  run: number,
  key: string,
  { from, to, points, axis = "step" }: BucketChoice,
): Promise<readonly Bucket[]> {
  if (!(Number.isSafeInteger(points) && points > 0 && points <= 10_000))
    throw new EspalierError("STATS_CHOICE_INVALID", `a series cannot have ${points} points`, {
      fix: "give a whole number from 1 to 10,000",
    });
  const keys = [...(await keysOf(tables, run, key)).keys()];
  if (keys.length === 0) return [];
  const x = sql.ref<number>(axis === "time" ? "m.wall" : "m.step");
  const numbers = (db: Pick<Kysely<Tables>, "selectFrom">) =>
    db
      .selectFrom("metric_blocks as b")
      .innerJoin("metrics as m", "m.block", "b.id")
      .where("b.run", "=", run)
      .where("m.key", "in", keys)
      .where("m.form", "in", [forms.number, forms.nan, forms.minusZero])
      .$if(from !== undefined, (query) => query.where(x, ">=", from as number))
      .$if(to !== undefined, (query) => query.where(x, "<=", to as number));
  const [extent] = await numbers(tables)
    .select(({ fn }) => [fn.min<number | null>(x).as("low"), fn.max<number | null>(x).as("high")])
    .execute();
  if (extent?.low == null || extent.high == null) return [];
  const { low, high } = extent;
  // The last value belongs to the last part.
  const width = (high - low) / points || 1;
  const part = sql<number>`floor((${x} - ${low}) / ${width})`;
  const nth = sql<number>`case when ${part} >= ${points} then ${points} - 1 else ${part} end`;
  const finite = sql<number | null>`case when m.value between ${-largest} and ${largest} then m.value end`;
  return numbers(tables)
    .select(({ fn }) => [
      fn.max<number>(x).as("x"),
      fn.min(finite).as("min"),
      fn.max(finite).as("max"),
      fn.avg<number | null>(finite).as("mean"),
      fn.countAll<number>().as("count"),
      sql<number>`count(*) - count(${finite})`.as("notFinite"),
    ])
    .groupBy(nth)
    .orderBy("x")
    .execute();
}

const largest = Number.MAX_VALUE;

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

/** Blocks that are read in one go. */
const together = 16;

/** Values after a place, in the order in which they came. Later blocks hold later places. */
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

type Key = Selectable<Tables["metric_keys"]>;

/**
 * The metrics of a run by their ids, or only those with one key. They are asked for apart from their values: joined to
 * them, a planner likes to begin with the values, which are many.
 */
async function keysOf(tables: Kysely<Tables>, run: number, key?: string): Promise<ReadonlyMap<number, Key>> {
  let query = tables.selectFrom("metric_keys").selectAll().where("run", "=", run);
  if (key !== undefined) query = query.where("key", "=", key);
  return new Map((await query.execute()).map((row) => [row.id, row]));
}

/** Values of a run's metrics. */
const pointsOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number) =>
  tables
    .selectFrom("metric_blocks as b")
    .innerJoin("metrics as m", "m.block", "b.id")
    .where("b.run", "=", run)
    .select(pointColumns);

const pointColumns = [
  "m.key",
  "m.step",
  "m.place",
  "m.wall",
  "m.value",
  "m.form",
  "m.body",
  "m.count",
  "m.not_finite",
] as const;

type Point = Omit<Selectable<Tables["metrics"]>, "block" | "identity">;

/** Points as the store gives them. */
const metricRows = (keys: ReadonlyMap<number, Key>, points: readonly Point[]): MetricRow[] =>
  points.map((point) => metricRow(keys.get(point.key) as Key, point));

const metricRow = ({ key, category, name, unit, axis, reduction }: Key, point: Point): MetricRow => ({
  key,
  category,
  name,
  axis,
  reduction,
  unit: unit === "" ? undefined : unit,
  step: point.step,
  wall: point.wall,
  ...readValue(point),
  count: point.count,
  notFinite: point.not_finite,
});
