import { type Kysely, sql } from "kysely";
import type { Counters } from "../../schedule/index.ts";
import type { Tables } from "./schema/index.ts";

/** Events that come again when a run is resumed. What somebody did to the run does not, so that it stays. */
const repeated = ["evaluations", "episodes", "replays", "checkpoints", "heartbeats"] as const;

/**
 * Removes what a run files again: events after a point, metrics after another on their axes, or all where there is no
 * point.
 */
export async function removeAfter(
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
  const blocks = tables.selectFrom("metric_blocks").select("id").where("run", "=", run);
  await tables
    .deleteFrom("metrics")
    .where("block", "in", blocks)
    .where("key", "=", key)
    .where("step", ">", last)
    .execute();
  await tables
    .updateTable("metric_sums")
    .set(({ selectFrom }) => {
      const left = selectFrom("metrics")
        .whereRef("metrics.block", "=", "metric_sums.block")
        .whereRef("metrics.key", "=", "metric_sums.key");
      return {
        points: left.select(({ fn }) => fn.countAll<number>().as("points")),
        last_step: left.select(({ fn }) =>
          fn.coalesce(fn.max("metrics.step"), sql<number>`0`).as("last_step"),
        ),
      };
    })
    .where("block", "in", blocks)
    .where("key", "=", key)
    .where("last_step", ">", last)
    .execute();
  await tables
    .deleteFrom("metric_sums")
    .where("block", "in", blocks)
    .where("key", "=", key)
    .where("points", "=", 0)
    .execute();
}

/** Of a stretch that is cut in two, so many occurrences are kept as there would be if they lay evenly. */
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
