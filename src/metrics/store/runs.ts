import type { Kysely, Selectable, SelectQueryBuilder } from "kysely";
import type { Json } from "../../checkpoint/index.ts";
import { didYouMean, EspalierError } from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { RunEnding, RunInfo } from "../run-info.ts";
import type { Tables } from "./database.ts";
import { spanColumns, spansOf, unknownRun } from "./insert-metrics.ts";
import type { RunMarks, RunRow } from "./stats-store.ts";
import { jsonOf, numbersOf, storable } from "./stored-values.ts";

// Runs: how they begin, go on and end, what is removed when one goes on from an earlier point, and how they are found.

/** Adds a run, or notes that it goes on, within a transaction. */
export async function startRun(tables: Kysely<Tables>, run: RunInfo): Promise<void> {
  const { id, startedAt, resumedAt, continues = resumedAt !== undefined } = run;
  const now = {
    name: storable(run.name),
    process: jsonOf([startedAt, resumedAt ?? null]),
    outcome: "running",
    ended_at: null,
    reason: null,
    config: jsonOf(run.config),
    limits: run.limits ? jsonOf(run.limits) : null,
  };
  const counters = jsonOf(resumedAt ?? {});
  const known = await tables.selectFrom("runs").selectAll().where("id", "=", id).executeTakeFirst();
  if (!known) {
    const row = { ...now, id, started_at: startedAt, resumes: resumedAt ? 1 : 0 };
    const added = await tables
      .insertInto("runs")
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returning("number")
      .executeTakeFirst();
    // Another process was faster: then it goes on.
    if (!added) return startRun(tables, run);
    const head = { run: added.number, counters, places: 0, block_rows: 0 };
    await tables.insertInto("run_heads").values(head).execute();
    return;
  }
  // The same call again, after one that may or may not have succeeded.
  if (known.process === now.process) return;
  if (!continues && known.outcome !== "running") throw runExists(id, known.outcome);
  // Without a point to go on from, all of it comes again.
  await removeAfter(tables, known.number, resumedAt, run.filedUpTo ?? resumedAt);
  const resumes = known.resumes + (resumedAt ? 1 : 0);
  await tables
    .updateTable("runs")
    .set({ ...now, resumes })
    .where("number", "=", known.number)
    .execute();
  await setCounters(tables, known.number, counters);
}

/** Notes how a run ended, within a transaction. */
export async function endRun(
  tables: Kysely<Tables>,
  id: string,
  { outcome, reason, counters }: RunEnding,
  wall: number,
): Promise<void> {
  const ended = await tables
    .updateTable("runs")
    .set({ outcome, reason: reason === undefined ? null : storable(reason), ended_at: wall })
    .where("id", "=", id)
    .returning("number")
    .executeTakeFirst();
  if (!ended) throw unknownRun(id);
  await setCounters(tables, ended.number, jsonOf(counters));
}

/** Changes the marks of a run, within a transaction. */
export async function markRun(
  tables: Kysely<Tables>,
  run: number,
  { tags, archived }: RunMarks,
): Promise<void> {
  const marks = {
    ...(tags && { tags: jsonOf(tags.map(storable)) }),
    ...(archived !== undefined && { archived: archived ? 1 : 0 }),
  };
  if (Object.keys(marks).length > 0)
    await tables.updateTable("runs").set(marks).where("number", "=", run).execute();
}

/** Removes a run within a transaction, but for its metrics, which are many: `removeOrphans` does. */
export async function deleteRun(tables: Kysely<Tables>, run: number): Promise<void> {
  for (const table of [...repeated, "interventions", "hook_decisions", "hook_timings"] as const)
    await tables.deleteFrom(table).where("run", "=", run).execute();
  await tables.deleteFrom("run_heads").where("run", "=", run).execute();
  await tables.deleteFrom("runs").where("number", "=", run).execute();
}

/** Blocks whose values are removed in one transaction. */
const together = 50;

/** Removes some metrics of runs that are no more, within a transaction. False where none are left. */
export async function removeOrphans(tables: Kysely<Tables>): Promise<boolean> {
  const runs = tables.selectFrom("runs").select("number");
  const blocks = await tables
    .selectFrom("metric_blocks")
    .select("id")
    .where("run", "not in", runs)
    .limit(together)
    .execute();
  const ids = blocks.map(({ id }) => id);
  if (ids.length === 0) {
    await tables.deleteFrom("metric_keys").where("run", "not in", runs).execute();
    return false;
  }
  await tables.deleteFrom("metrics").where("block", "in", ids).execute();
  for (const table of ["metric_spans", "metric_parts"] as const)
    await tables.deleteFrom(table).where("part", "in", ids).execute();
  await tables.deleteFrom("metric_blocks").where("id", "in", ids).execute();
  return true;
}

/** The last place that was given in a run. */
export const placeOf = async (tables: Kysely<Tables>, run: number): Promise<number> =>
  (await headOf(tables, run))?.places ?? 0;

const headOf = (tables: Kysely<Tables>, run: number) =>
  tables.selectFrom("run_heads").selectAll().where("run", "=", run).executeTakeFirst();

const setCounters = (tables: Kysely<Tables>, run: number, counters: string) =>
  tables.updateTable("run_heads").set({ counters }).where("run", "=", run).execute();

const runExists = (id: string, outcome: string): EspalierError =>
  new EspalierError(
    "STATS_RUN_EXISTS",
    `the run "${id}" is filed already (${outcome}), and this one does not resume it`,
    { fix: "give the run an id of its own, or resume the other from a checkpoint" },
  );

/** Events that come again when a run is resumed. Interventions do not, so that they stay. */
const repeated = ["evaluations", "episodes", "replays", "checkpoints", "heartbeats"] as const;

/**
 * Removes what a run files again: events after a point, metrics after another on their axes, or all where there is no
 * point.
 */
async function removeAfter(
  tables: Kysely<Tables>,
  run: number,
  point: Counters | undefined,
  metricsPoint: Counters | undefined,
): Promise<void> {
  const keys = await tables.selectFrom("metric_keys").select(["id", "axis"]).where("run", "=", run).execute();
  for (const { id, axis } of keys) {
    // What is counted on something that the run does not know is kept: a value twice is better than none.
    const last = metricsPoint ? metricsPoint[axis] : Number.NEGATIVE_INFINITY;
    if (last !== undefined) await removePoints(tables, run, id, last);
  }
  const last = point ? point.steps : Number.NEGATIVE_INFINITY;
  for (const table of repeated)
    await tables.deleteFrom(table).where("run", "=", run).where("step", ">", last).execute();
  await cutDecisions(tables, run, last);
}

async function removePoints(tables: Kysely<Tables>, run: number, key: number, last: number): Promise<void> {
  const { spanned = 0 } = (await headOf(tables, run)) ?? {};
  const parts = tables.selectFrom("metric_parts").select("part").where("run", "=", run);
  const cut = await tables
    .deleteFrom("metric_spans")
    .where("part", "in", parts)
    .where("key", "=", key)
    .where("last_step", ">", last)
    .returning(["part", "first_block", "block", "first_step"])
    .execute();
  const first = Math.min(spanned + 1, ...cut.map(({ first_block }) => first_block));
  const blocks = tables
    .selectFrom("metric_blocks")
    .select("id")
    .where("run", "=", run)
    .where("id", ">=", first);
  await tables
    .deleteFrom("metrics")
    .where("block", "in", blocks)
    .where("key", "=", key)
    .where("step", ">", last)
    .execute();
  // Of what was cut in the middle, the rest is summarized again.
  for (const { part, first_block, block, first_step } of cut)
    if (first_step <= last) {
      const rest = spansOf(tables, run, part)
        .where("b.id", ">=", first_block)
        .where("b.id", "<=", block)
        .where("m.key", "=", key);
      await tables.insertInto("metric_spans").columns(spanColumns).expression(rest).execute();
    }
}

/** Cuts decisions at a step. Of one that is cut in two, its share of the occurrences is kept, as if they lay evenly. */
async function cutDecisions(tables: Kysely<Tables>, run: number, last: number): Promise<void> {
  await tables.deleteFrom("hook_decisions").where("run", "=", run).where("from_step", ">", last).execute();
  const cut = tables
    .selectFrom("hook_decisions")
    .selectAll()
    .where("run", "=", run)
    .where("to_step", ">", last);
  for (const { number, from_step, to_step, times } of await cut.execute()) {
    const share = (last - from_step + 1) / (to_step - from_step + 1);
    await tables
      .updateTable("hook_decisions")
      .set({ to_step: last, times: Math.max(1, Math.round(times * share)) })
      .where("number", "=", number)
      .execute();
  }
}

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
  limits: numbersOf(JSON.parse(row.limits ?? "{}") as object),
  tags: JSON.parse(row.tags ?? "[]") as string[],
  archived: row.archived === 1,
});
