import type { Kysely } from "kysely";
import type { Json } from "../json.ts";
import { textIdentity } from "./filing/index.ts";
import { jsonOf, numbersOf, storable } from "./json-text.ts";
import type { Tables } from "./schema/index.ts";
import type { RunEventKind, RunEvents } from "./stats-store.ts";

/** Decisions are filed in a way of their own. */
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
      ...{ name: storable(name), scores: jsonOf(scores) },
      // Left out, so that a row of an older version is known when it comes again.
      ...(checkpoint !== undefined && { checkpoint: storable(checkpoint) }),
    }),
    row: ({ name, scores, checkpoint }) => ({
      ...{ name: String(name), scores: numbersOf(jsonFrom(scores) as object) },
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

/** Databases take so many parameters a statement; these are far fewer. */
const together = 500;

/**
 * Files events of a run, within a transaction. One that was filed by an earlier call is not filed again; of those that
 * are equal within this call, each is.
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
