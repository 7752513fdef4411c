import { type Kysely, type Selectable, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { Tables } from "./database.ts";
import { finiteValue, rowsIn } from "./insert-metrics.ts";
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
  if (points !== undefined) checkPoints(points);
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

function checkPoints(points: number, most = Number.POSITIVE_INFINITY): void {
  if (Number.isSafeInteger(points) && points > 0 && points <= most) return;
  throw new EspalierError("STATS_CHOICE_INVALID", `a series cannot have ${points} points`, {
    fix: "give a whole number from 1 on; of buckets 10,000 are the most",
  });
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

/**
 * Values of a metric in buckets of equal width along its axis, those without values left out. Where there are many, from
 * their summaries: a span then counts as if it lay at its end, which is off by less than the width of a bucket.
 */
export async function buckets(
  tables: Kysely<Tables>,
  run: number,
  key: string,
  { from, to, points, axis = "step" }: BucketChoice,
): Promise<readonly Bucket[]> {
  checkPoints(points, 10_000);
  const keys = [...(await keysOf(tables, run, key)).keys()];
  if (keys.length === 0) return [];
  const place = { run, keys, axis, from: from ?? lowest, to: to ?? highest };
  const spanned = await spannedIn(tables, run);
  const spans = await extentOf(tables, summarized(tables, place));
  const rest = await extentOf(tables, single(tables, place, spanned + 1));
  const [low, high] = [Math.min(spans.low, rest.low), Math.max(spans.high, rest.high)];
  if (low > high) return [];
  const isFine = spans.count < points;
  const first = Math.min(spans.first, spanned + 1);
  const last = rest.count > 0 ? Number.MAX_SAFE_INTEGER : spans.last;
  const found = isFine
    ? single(tables, place, first, last)
    : summarized(tables, place).unionAll(single(tables, place, spanned + 1));
  // Where only summaries are looked at, the first and the last of them may reach out of the range.
  const [begin, end] = [Math.max(low, place.from), Math.min(high, place.to)];
  // The last value belongs to the last bucket, and what is before the first to the first.
  const width = (end - begin) / points || 1;
  const nth = sql<number>`floor((x - ${begin}) / ${width})`;
  const rows = await tables
    .with("found", () => found)
    .selectFrom("found")
    .select(({ fn }) => [
      fn.max("x").as("x"),
      fn.min("low").as("min"),
      fn.max("high").as("max"),
      sql<number | null>`sum(total) / nullif(sum(finite), 0)`.as("mean"),
      fn.sum<number | string>("numbers").as("count"),
      sql<number | string>`sum(numbers) - sum(finite)`.as("notFinite"),
    ])
    .groupBy(sql`case when ${nth} >= ${points} then ${points} - 1 when ${nth} < 0 then 0 else ${nth} end`)
    .orderBy("x")
    .execute();
  // A sum of whole numbers may come as a decimal.
  return rows.map((row) => ({ ...row, count: Number(row.count), notFinite: Number(row.notFinite) }));
}

const [lowest, highest] = [-Number.MAX_VALUE, Number.MAX_VALUE];

/** Values of one metric within a range of an axis. */
interface PointRange {
  readonly run: number;
  readonly keys: readonly number[];
  readonly axis: "step" | "time";
  readonly from: number;
  readonly to: number;
}

/** Spans that reach into a range. */
function summarized(tables: Kysely<Tables>, { run, keys, axis, from, to }: PointRange) {
  const [first, last] = (
    axis === "time" ? ["s.first_wall", "s.last_wall"] : ["s.first_step", "s.last_step"]
  ) as readonly ["s.first_step", "s.last_step"];
  return spansIn(tables, run)
    .where("s.key", "in", keys)
    .where("s.numbers", ">", 0)
    .where(last, ">=", from)
    .where(first, "<=", to)
    .select(["s.first_block", "s.block", "s.numbers", "s.finite", "s.low", "s.high", "s.total"])
    .select([sql.ref<number>(first).as("first_x"), sql.ref<number>(last).as("x")]);
}

/** Single values in a range, of blocks from `first` to `last`, in the form of spans. */
function single(
  tables: Kysely<Tables>,
  { run, keys, axis, from, to }: PointRange,
  first: number,
  last = Number.MAX_SAFE_INTEGER,
) {
  const x = (axis === "time" ? "m.wall" : "m.step") as "m.step";
  return rowsIn(tables, run)
    .where("b.id", ">=", first)
    .where("b.id", "<=", last)
    .where("m.key", "in", keys)
    .where("m.form", "<=", forms.minusZero)
    .where(x, ">=", from)
    .where(x, "<=", to)
    .select(["b.id as first_block", "b.id as block"])
    .select([
      sql<number>`1`.as("numbers"),
      sql<number>`case when m.value between -1e290 and 1e290 then 1 else 0 end`.as("finite"),
      finiteValue.as("low"),
      finiteValue.as("high"),
      finiteValue.as("total"),
    ])
    .select([sql.ref<number>(x).as("first_x"), sql.ref<number>(x).as("x")]);
}

/** How many there are, between which places on the axis, and in which blocks. */
async function extentOf(
  tables: Kysely<Tables>,
  found: ReturnType<typeof summarized> | ReturnType<typeof single>,
) {
  const { count, low, high, first, last } = await tables
    .with("found", () => found)
    .selectFrom("found")
    .select(({ fn }) => [
      fn.countAll<number>().as("count"),
      fn.min<number | null>("first_x").as("low"),
      fn.max<number | null>("x").as("high"),
      fn.min<number | null>("first_block").as("first"),
      fn.max<number | null>("block").as("last"),
    ])
    .executeTakeFirstOrThrow();
  const [infinity, none] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return {
    count,
    low: low ?? infinity,
    high: high ?? none,
    first: first ?? infinity,
    last: last ?? 0,
  };
}

/** The last block of a run that is summarized. */
async function spannedIn(tables: Pick<Kysely<Tables>, "selectFrom">, run: number): Promise<number> {
  const head = tables.selectFrom("run_heads").select("spanned").where("run", "=", run);
  return (await head.executeTakeFirst())?.spanned ?? 0;
}

/** Points of every metric, and the furthest step: of the spans, and of the blocks that are not summarized. */
const sumsOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number, spanned: number) =>
  spansIn(tables, run)
    .select(["s.key", "s.points", "s.last_step"])
    .unionAll(
      rowsIn(tables, run)
        .where("b.id", ">", spanned)
        .groupBy(["m.block", "m.key"])
        .select(({ fn }) => ["m.key", fn.countAll<number>().as("points"), fn.max("m.step").as("last_step")]),
    );

/** Keys of a run's metrics, with how many points each has. */
export async function countMetrics(
  tables: Kysely<Tables>,
  run: number,
): Promise<readonly { readonly key: string; readonly points: number }[]> {
  const spanned = await spannedIn(tables, run);
  const counted = await tables
    .with("sums", (db) => sumsOf(db, run, spanned))
    .selectFrom("sums")
    .groupBy("key")
    // A sum of whole numbers may come as a decimal.
    .select(({ fn }) => ["key", fn.sum<number | string>("points").as("points")])
    .execute();
  const keys = await keysOf(tables, run);
  const points = new Map<string, number>();
  for (const row of counted) {
    const key = keys.get(row.key)?.key ?? "";
    points.set(key, (points.get(key) ?? 0) + Number(row.points));
  }
  return [...points].map(([key, each]) => ({ key, points: each })).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The value of every metric that lies furthest on its axis; of several there, the one that came last. */
export async function latest(tables: Kysely<Tables>, run: number): Promise<readonly MetricRow[]> {
  const spanned = await spannedIn(tables, run);
  const furthest = await tables
    .with("sums", (db) => sumsOf(db, run, spanned))
    .selectFrom("sums")
    .groupBy("key")
    .select(({ fn }) => ["key", fn.max("last_step").as("step")])
    .execute();
  const keys = await keysOf(tables, run);
  const newest = new Map<string, Point>();
  for (const { key: id, step } of furthest) {
    const point =
      (await lastAt(tables, run, id, step, spanned + 1)) ?? (await lastInSpans(tables, run, id, step));
    const key = keys.get(id)?.key ?? "";
    const known = newest.get(key);
    if (point && (!known || step > known.step || (step === known.step && point.place > known.place)))
      newest.set(key, point);
  }
  return metricRows(keys, [...newest.values()]).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** The value that came last of those of a metric at a step, in blocks from `first` to `last`. */
const lastAt = (
  tables: Kysely<Tables>,
  run: number,
  key: number,
  step: number,
  first: number,
  last = Number.MAX_SAFE_INTEGER,
): Promise<Point | undefined> =>
  pointsOf(tables, run)
    .where("b.id", ">=", first)
    .where("b.id", "<=", last)
    .where("m.key", "=", key)
    .where("m.step", "=", step)
    .orderBy("m.place", "desc")
    .limit(1)
    .executeTakeFirst();

/** The same of a metric whose furthest value is in blocks that are summarized, as of one that is logged seldom. */
async function lastInSpans(
  tables: Kysely<Tables>,
  run: number,
  key: number,
  step: number,
): Promise<Point | undefined> {
  const span = await spansIn(tables, run)
    .where("s.key", "=", key)
    .where("s.last_step", "=", step)
    .orderBy("s.block", "desc")
    .select(["s.first_block", "s.block"])
    .limit(1)
    .executeTakeFirst();
  return span && lastAt(tables, run, key, step, span.first_block, span.block);
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
  rowsIn(tables, run)
    .select(["m.key", "m.step", "m.place", "m.wall", "m.value"])
    .select(["m.form", "m.body", "m.count", "m.not_finite"]);

const spansIn = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number) =>
  tables
    .selectFrom("metric_parts as p")
    .innerJoin("metric_spans as s", "s.part", "p.part")
    .where("p.run", "=", run);

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
