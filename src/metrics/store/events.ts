import type { Kysely } from "kysely";
import type { Json } from "../../checkpoint/index.ts";
import type { HookTiming } from "../../hooks/index.ts";
import type { Tables } from "./database.ts";
import type { DecisionRow, RunEventKind, RunEvents } from "./stats-store.ts";
import { jsonOf, numbersOf, storable, textIdentity } from "./stored-values.ts";

// Events of a run, decisions about its hooks, and how long its hooks took.

/** All kinds but decisions, which have a table of their own form. */
type PlainEvent = Exclude<RunEventKind, "decision">;

type Cell = string | number | null;

/** How values of a row stand in a column. */
interface Column<T> {
  /** Undefined where the column is left out, so that a row of an older version is known when it comes again. */
  cell(value: T): Cell | undefined;
  value(cell: Cell): T;
}

const text: Column<string> = { cell: storable, value: String };
const integer: Column<number> = { cell: (value) => value, value: Number };
/** NaN is null: one of the databases does not have it. */
const real = {
  cell: (value: number) => (Number.isNaN(value) ? null : value),
  value: (cell: Cell) => (cell === null ? Number.NaN : Number(cell)),
} satisfies Column<number>;
const json: Column<Json> = { cell: jsonOf, value: (cell) => JSON.parse(String(cell)) as Json };
const numbers: Column<Readonly<Record<string, number>>> = {
  cell: jsonOf,
  value: (cell) => numbersOf(json.value(cell) as object),
};
/** A column that may be empty; `none` is what stands for nothing where a row is made. */
const optional = <T>(
  { cell, value }: Column<T>,
  none: { cell?: null } = { cell: null },
): Column<T | undefined> => ({
  cell: (given) => (given === undefined ? none.cell : cell(given)),
  value: (stored) => (stored === null ? undefined : value(stored)),
});

/** The table of each kind, and its columns beside step and wall. */
const eventTables: {
  readonly [K in PlainEvent]: {
    readonly table: "evaluations" | "episodes" | "replays" | "checkpoints" | "heartbeats" | "interventions";
    readonly columns: Columns<Omit<RunEvents[K], "step" | "wall">>;
  };
} = {
  evaluation: {
    table: "evaluations",
    columns: { name: text, scores: numbers, checkpoint: optional(text, {}) },
  },
  episode: { table: "episodes", columns: { return: real, length: real, info: optional(json) } },
  replay: { table: "replays", columns: { path: text, uri: optional(text) } },
  checkpoint: { table: "checkpoints", columns: { path: text, uri: optional(text) } },
  heartbeat: { table: "heartbeats", columns: { pid: integer, host: text, phase: text } },
  intervention: { table: "interventions", columns: { who: text, what: text, details: optional(json) } },
};

type Columns<Row> = { readonly [Name in keyof Row]-?: Column<Row[Name]> };

/** Rows a statement, far fewer than a database's limit of parameters allows. */
const together = 500;

/**
 * Adds events of a run, within a transaction. One that an earlier call added is not added again; of those that are
 * equal within this call, each is.
 */
export async function addEvents<K extends RunEventKind>(
  tables: Kysely<Tables>,
  run: number,
  kind: K,
  rows: readonly RunEvents[K][],
): Promise<void> {
  if (kind === "decision") return addDecisions(tables, run, rows as readonly DecisionRow[]);
  const { table, columns } = tableOf(kind);
  const seen = new Map<string, number>();
  const values = (rows as readonly RunEvents[PlainEvent][]).map(({ step, wall, ...rest }) => {
    const given = rest as Readonly<Record<string, unknown>>;
    const cells = columns.map(([name, { cell }]) => [name, cell(given[name])] as const);
    const own = { step, wall, ...Object.fromEntries(cells.filter(([, cell]) => cell !== undefined)) };
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
export async function listEvents<K extends RunEventKind>(
  tables: Kysely<Tables>,
  run: number,
  kind: K,
): Promise<readonly RunEvents[K][]> {
  if (kind === "decision") return (await listDecisions(tables, run)) as readonly RunEvents[K][];
  const { table, columns } = tableOf(kind);
  const found = await tables.selectFrom(table).selectAll().where("run", "=", run).orderBy("number").execute();
  return found.map(({ step, wall, ...rest }) => {
    const cells = rest as Readonly<Record<string, Cell>>;
    const values = columns.map(([name, { value }]) => [name, value(cells[name] ?? null)] as const);
    const own = Object.fromEntries(values.filter(([, value]) => value !== undefined));
    return { step, wall, ...own } as RunEvents[K];
  });
}

function tableOf(kind: RunEventKind) {
  const { table, columns } = eventTables[kind as PlainEvent];
  return { table, columns: Object.entries(columns) as readonly (readonly [string, Column<unknown>])[] };
}

/** How many events of each kind a run has. */
export async function countEvents(
  tables: Kysely<Tables>,
  run: number,
): Promise<Readonly<Record<RunEventKind, number>>> {
  const count = async (
    table: (typeof eventTables)[PlainEvent]["table"] | "hook_decisions",
  ): Promise<number> => {
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
async function addDecisions(
  tables: Kysely<Tables>,
  run: number,
  rows: readonly DecisionRow[],
): Promise<void> {
  for (const given of rows) {
    const { fromStep: from_step, toStep: to_step, times } = given;
    const [hook, event, why] = [storable(given.hook), storable(given.event), storable(given.why)];
    const ran = given.ran ? 1 : 0;
    const same = tables
      .selectFrom("hook_decisions")
      .selectAll()
      .where(({ and }) => and({ run, hook, event }))
      .orderBy("number", "desc")
      .limit(1);
    const told = await same.where(({ and }) => and({ from_step, ran, why })).executeTakeFirst();
    const newest = told ?? (await same.executeTakeFirst());
    if (!newest || newest.ran !== ran || newest.why !== why || from_step < newest.from_step)
      await tables
        .insertInto("hook_decisions")
        .values({ run, hook, event, ran, why, from_step, to_step, times })
        .execute();
    else if (to_step > newest.to_step)
      await tables
        .updateTable("hook_decisions")
        .set({ to_step, times: told ? times : newest.times + times })
        .where("number", "=", newest.number)
        .execute();
  }
}

async function listDecisions(tables: Kysely<Tables>, run: number): Promise<readonly DecisionRow[]> {
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
  rows: readonly HookTiming[],
): Promise<void> {
  for (const { hook, count, ...times } of rows) {
    const known = { count, ...mapTimes(times, real.cell) };
    await tables
      .insertInto("hook_timings")
      .values({ run, hook: storable(hook), ...known })
      .onConflict((conflict) => conflict.columns(["run", "hook"]).doUpdateSet(known))
      .execute();
  }
}

/** The one that took longest in all first. */
export async function listTimings(tables: Kysely<Tables>, run: number): Promise<readonly HookTiming[]> {
  const found = await tables.selectFrom("hook_timings").selectAll().where("run", "=", run).execute();
  return found
    .map(({ hook, count, ...times }) => ({ hook, count, ...mapTimes(times, real.value) }))
    .sort((a, b) => b.total - a.total || (a.hook < b.hook ? -1 : 1));
}

const mapTimes = <T, R>(
  { mean, p99, max, total }: Record<"mean" | "p99" | "max" | "total", T>,
  map: (time: T) => R,
) => ({
  mean: map(mean),
  p99: map(p99),
  max: map(max),
  total: map(total),
});
