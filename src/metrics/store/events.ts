import type { Kysely } from "kysely";
import type { Json } from "../../checkpoint/index.ts";
import type { Tables } from "./database.ts";
import type { DecisionRow, HookTimingRow, RunEventKind, RunEvents } from "./stats-store.ts";
import { jsonOf, numbersOf, storable, textIdentity } from "./stored-values.ts";

// Events of a run, decisions about its hooks, and how long its hooks took.

/** All kinds but decisions, which have a table of their own form. */
export type PlainEvent = Exclude<RunEventKind, "decision">;

type Cell = string | number | null;
type Cells = Readonly<Record<string, Cell>>;

/** Where events of a kind are, and what the columns hold beside step and wall. */
interface EventTable<K extends PlainEvent> {
  readonly table: "evaluations" | "episodes" | "replays" | "checkpoints" | "heartbeats" | "interventions";
  cells(row: RunEvents[K]): Cells;
  row(cells: Cells): Omit<RunEvents[K], "step" | "wall">;
}

/** NaN is null: one of the databases does not have it. */
export const realOf = (value: number): number | null => (Number.isNaN(value) ? null : value);
export const numberFrom = (cell: Cell | undefined): number => (cell === null ? Number.NaN : Number(cell));
const jsonFrom = (cell: Cell | undefined): Json => JSON.parse(String(cell)) as Json;

const files = {
  cells: ({ path, uri }: RunEvents["replay"]) => ({
    path: storable(path),
    uri: uri === undefined ? null : storable(uri),
  }),
  row: ({ path, uri }: Cells) => ({ path: String(path), uri: uri === null ? undefined : String(uri) }),
};

const eventTables: { readonly [K in PlainEvent]: EventTable<K> } = {
  evaluation: {
    table: "evaluations",
    cells: ({ name, scores, checkpoint }) => ({
      name: storable(name),
      scores: jsonOf(scores),
      // Left out, so that a row of an older version is known when it comes again.
      ...(checkpoint !== undefined && { checkpoint: storable(checkpoint) }),
    }),
    row: ({ name, scores, checkpoint }) => ({
      name: String(name),
      scores: numbersOf(jsonFrom(scores) as object),
      ...(checkpoint !== null && { checkpoint: String(checkpoint) }),
    }),
  },
  episode: {
    table: "episodes",
    cells: ({ return: total, length, info }) => ({
      return: realOf(total),
      length: realOf(length),
      info: info === undefined ? null : jsonOf(info),
    }),
    row: ({ return: total, length, info }) => ({
      return: numberFrom(total),
      length: numberFrom(length),
      ...(info !== null && { info: jsonFrom(info) }),
    }),
  },
  replay: { table: "replays", ...files },
  checkpoint: { table: "checkpoints", ...files },
  heartbeat: {
    table: "heartbeats",
    cells: ({ pid, host, phase }) => ({ pid, host: storable(host), phase: storable(phase) }),
    row: ({ pid, host, phase }) => ({ pid: Number(pid), host: String(host), phase: String(phase) }),
  },
  intervention: {
    table: "interventions",
    cells: ({ who, what, details }) => ({
      who: storable(who),
      what: storable(what),
      details: details === undefined ? null : jsonOf(details),
    }),
    row: ({ who, what, details }) => ({
      who: String(who),
      what: String(what),
      ...(details !== null && { details: jsonFrom(details) }),
    }),
  },
};

/** Rows a statement, far fewer than a database's limit of parameters allows. */
const together = 500;

/**
 * Adds events of a run, within a transaction. One that an earlier call added is not added again; of those that are
 * equal within this call, each is.
 */
export async function addEvents<K extends PlainEvent>(
  tables: Kysely<Tables>,
  run: number,
  kind: K,
  rows: readonly RunEvents[K][],
): Promise<void> {
  const { table, cells } = eventTables[kind];
  const seen = new Map<string, number>();
  const values = rows.map((row) => {
    const { step, wall } = row;
    const own = { step, wall, ...cells(row) };
    const text = jsonOf(own);
    const nth = seen.get(text) ?? 0;
    seen.set(text, nth + 1);
    return { ...own, run, identity: textIdentity(`${nth} ${text}`) };
  });
  for (let from = 0; from < values.length; from += together)
    await tables
      .insertInto(table)
      // The columns of a table fit its kind by `eventTables`, which the compiler cannot see through the union.
      .values(values.slice(from, from + together) as never)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

/** As they came. */
export async function listEvents<K extends PlainEvent>(
  tables: Kysely<Tables>,
  run: number,
  kind: K,
): Promise<readonly RunEvents[K][]> {
  const { table, row } = eventTables[kind];
  const found = await tables.selectFrom(table).selectAll().where("run", "=", run).orderBy("number").execute();
  return found.map((cells) => {
    const { step, wall } = cells;
    return { step, wall, ...row(cells as unknown as Cells) } as RunEvents[K];
  });
}

/** How many events of each kind a run has. */
export async function countEvents(
  tables: Kysely<Tables>,
  run: number,
): Promise<Readonly<Record<RunEventKind, number>>> {
  const count = async (table: EventTable<PlainEvent>["table"] | "hook_decisions"): Promise<number> => {
    const rows = tables.selectFrom(table).where("run", "=", run);
    const counted = await rows.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirst();
    return counted?.count ?? 0;
  };
  const plain = Object.entries(eventTables).map(
    async ([kind, { table }]) => [kind, await count(table)] as const,
  );
  const counts = Object.fromEntries(await Promise.all(plain)) as Record<PlainEvent, number>;
  return { ...counts, decision: await count("hook_decisions") };
}

/**
 * Adds decisions about hooks, within a transaction. One that says the same as the newest of its hook and event extends
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
          run,
          hook: row.hook,
          event: row.event,
          ran,
          why: row.why,
          from_step: row.fromStep,
          to_step: row.toStep,
          times: row.times,
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
    hook,
    event,
    ran: ran === 1,
    why,
    times,
    fromStep: from_step,
    toStep: to_step,
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
      hook,
      count,
      mean: numberFrom(mean),
      p99: numberFrom(p99),
      max: numberFrom(max),
      total: numberFrom(total),
    }))
    .sort((a, b) => b.total - a.total || (a.hook < b.hook ? -1 : 1));
}
