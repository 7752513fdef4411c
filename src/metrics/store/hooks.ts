import type { Kysely } from "kysely";
import { numberFrom, realOf } from "./events.ts";
import { storable } from "./json-text.ts";
import type { Tables } from "./schema/index.ts";
import type { DecisionRow, HookTimingRow } from "./stats-store.ts";

/**
 * Files decisions about hooks, within a transaction. One that says the same as the newest of its hook and event extends
 * that one. What the newest covers already is the same told again, and changes nothing.
 */
export async function addDecisions(
  tables: Kysely<Tables>,
  run: number,
  rows: readonly DecisionRow[],
): Promise<void> {
  for (const given of rows) {
    const row = {
      ...given,
      hook: storable(given.hook),
      event: storable(given.event),
      why: storable(given.why),
    };
    const ran = row.ran ? 1 : 0;
    const same = tables
      .selectFrom("hook_decisions")
      .selectAll()
      .where("run", "=", run)
      .where("hook", "=", row.hook)
      .where("event", "=", row.event)
      .orderBy("number", "desc")
      .limit(1);
    const told = await same
      .where("from_step", "=", row.fromStep)
      .where("ran", "=", ran)
      .where("why", "=", row.why)
      .executeTakeFirst();
    const newest = told ?? (await same.executeTakeFirst());
    if (!newest || newest.ran !== ran || newest.why !== row.why || row.fromStep < newest.from_step)
      await tables
        .insertInto("hook_decisions")
        .values({
          ...{ run, hook: row.hook, event: row.event, ran, why: row.why },
          ...{ from_step: row.fromStep, to_step: row.toStep, times: row.times },
        })
        .execute();
    else if (row.toStep > newest.to_step)
      await tables
        .updateTable("hook_decisions")
        .set({ to_step: row.toStep, times: told ? row.times : newest.times + row.times })
        .where("number", "=", newest.number)
        .execute();
  }
}

export async function listDecisions(tables: Kysely<Tables>, run: number): Promise<readonly DecisionRow[]> {
  const found = tables.selectFrom("hook_decisions").selectAll().where("run", "=", run).orderBy("number");
  return (await found.execute()).map(({ hook, event, ran, why, from_step, to_step, times }) => ({
    ...{ hook, event, ran: ran === 1, why, times },
    ...{ fromStep: from_step, toStep: to_step },
  }));
}

/** Replaces what is known of these hooks. */
export async function setTimings(
  tables: Kysely<Tables>,
  run: number,
  rows: readonly HookTimingRow[],
): Promise<void> {
  for (const { hook, count, mean, p99, max, total } of rows) {
    const known = { count, mean: realOf(mean), p99: realOf(p99), max: realOf(max), total: realOf(total) };
    await tables
      .insertInto("hook_timings")
      .values({ run, hook: storable(hook), ...known })
      .onConflict((conflict) => conflict.columns(["run", "hook"]).doUpdateSet(known))
      .execute();
  }
}

/** The one that took longest in all first. */
export async function listTimings(tables: Kysely<Tables>, run: number): Promise<readonly HookTimingRow[]> {
  const found = await tables.selectFrom("hook_timings").selectAll().where("run", "=", run).execute();
  return found
    .map(({ hook, count, mean, p99, max, total }) => ({
      ...{ hook, count, mean: numberFrom(mean), p99: numberFrom(p99) },
      ...{ max: numberFrom(max), total: numberFrom(total) },
    }))
    .sort((a, b) => b.total - a.total || (a.hook < b.hook ? -1 : 1));
}
