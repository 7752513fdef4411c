import type { Kysely } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { RunEnding, RunInfo } from "../run-info.ts";
import { unknownRun } from "./filing/index.ts";
import { jsonOf, storable } from "./json-text.ts";
import { removeAfter } from "./remove-after.ts";
import type { Tables } from "./schema/index.ts";

/** Files that a run begins or goes on, within a transaction. */
export async function startRun(tables: Kysely<Tables>, run: RunInfo): Promise<void> {
  const { id, startedAt, resumedAt } = run;
  const now = {
    name: storable(run.name),
    process: jsonOf([startedAt, resumedAt ?? null]),
    outcome: "running",
    ended_at: null,
    reason: null,
    config: jsonOf(run.config),
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
  // The same call again, after one of which nobody knows whether it succeeded.
  if (known.process === now.process) return;
  if (!resumedAt && known.outcome !== "running") throw runExists(id, known.outcome);
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

/** Files how a run ended, within a transaction. */
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

const setCounters = (tables: Kysely<Tables>, run: number, counters: string) =>
  tables.updateTable("run_heads").set({ counters }).where("run", "=", run).execute();

const runExists = (id: string, outcome: string): EspalierError =>
  new EspalierError(
    "STATS_RUN_EXISTS",
    `the run "${id}" is filed already (${outcome}), and this one does not resume it`,
    {
      fix: "give the run an id of its own, or resume the other from a checkpoint",
    },
  );
