import { type Compilable, type CompiledQuery, type Kysely, type Selectable, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { Tables } from "./database.ts";
import { bodyOf, columnOf, formOf, forms, identityOf, jsonOf, storable } from "./stored-values.ts";

// Inserts records of a run, each once, in one transaction: `insertSteps` below, from top to bottom. SQLite does all of
// it at once, Postgres waits for each answer. So the steps are a generator, which gives queries and gets their rows.

/** One query of an insert. */
export interface InsertStep {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Queries that are made one by one; each is answered with its rows. */
export type InsertSteps<Result> = Generator<InsertStep, Result, readonly unknown[]>;

/** Memory of a run that a store inserts into, so that it need not ask. */
export interface RunMemory {
  /** The query of its head, made once. */
  head?: CompiledQuery;
  /** Metrics that are known to be in the database, by key. */
  readonly keys: Map<string, readonly KeyRow[]>;
  /** Steps up to which the run's counters are stored. */
  steps: number;
}

export const newMemory = (): RunMemory => ({ keys: new Map(), steps: Number.NEGATIVE_INFINITY });

/** A metric of a run. One that a resumed run declares otherwise than before has two. */
type KeyRow = Readonly<Omit<Selectable<Tables["metric_keys"]>, "run">>;

/**
 * Rows after which a block is sealed, as soon as a later moment comes, and after which at any moment. More let a window
 * touch more pages of the file, fewer make a query look at more blocks.
 */
const [enough, most] = [500, 8000];

/** Rows that are summarized at once, and values of a metric in a span. */
const [partRows, spanPoints] = [32_000, 64];

/** What differs from database to database. */
export interface InsertWords {
  /** Locks the head, so that writers of a run take turns. */
  readonly lock: boolean;
  /** The table of rows. */
  readonly table: string;
  /** The parameter of this index. */
  readonly parameter: (index: number) => string;
  /** Rows a statement. */
  readonly together: number;
}

/** A function that gives the steps of an insert. They end with what is to be called once the transaction is over. */
export function metricInserter(
  tables: Kysely<Tables>,
  { lock, table, parameter, together }: InsertWords,
): (id: string, records: readonly MetricRecord[], memory: RunMemory) => InsertSteps<() => void> {
  const insertOf = (rows: number): string => {
    const row = (nth: number) =>
      columns.map((_, index) => parameter(nth * columns.length + index)).join(", ");
    const values = Array.from({ length: rows }, (_, nth) => `(${row(nth)})`).join(", ");
    return `insert into ${table} (${columns.join(", ")}) values ${values} on conflict do nothing`;
  };
  const insertAll = insertOf(together);
  let advance: string | undefined;
  const headOf = (id: string) => {
    const ofRun = tables.selectFrom("runs").select("number").where("id", "=", id);
    const head = tables.selectFrom("run_heads").selectAll().where("run", "=", ofRun);
    return lock ? head.forNoKeyUpdate() : head;
  };

  return function* insertSteps(id, records, memory) {
    memory.head ??= headOf(id).compile();
    const [head] = (yield memory.head) as readonly Selectable<Tables["run_heads"]>[];
    if (!head) throw unknownRun(id);
    const { run, places, block: open, block_rows, first_wall, last_wall, sealed_wall } = head;
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    let furthest = records[0] as MetricRecord;
    const keys: number[] = [];
    /** Metrics that this store has not seen yet. */
    const fresh = new Map<string, KeyRow[]>();
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as MetricRecord;
      if (record.wall < from) from = record.wall;
      if (record.wall > to) to = record.wall;
      if (record.counters.steps >= furthest.counters.steps) furthest = record;
      let known = rowOf(memory.keys, record) ?? rowOf(fresh, record);
      if (known === undefined) {
        const { key, category, name, unit = "", axis, reduction } = record;
        const row = { key, category, name, unit, axis, reduction };
        known = { ...row, id: yield* idOf({ run, ...storedKey(row) }) };
        fresh.set(key, [...(fresh.get(key) ?? []), known]);
      }
      keys.push(known.id);
    }

    const last = last_wall ?? from;
    // A block does not end within a moment: a record that comes again comes with the moment at which it was made, and is
    // then found in the block itself.
    const goesOn = open !== null && (block_rows < enough || (block_rows < most && from <= last));
    let { spanned, unspanned } = head;
    let sealedWall = sealed_wall;
    if (open !== null && !goesOn) {
      const sealed = { sealed: 1, first_wall, last_wall: last, last_place: places };
      yield* ask(tables.updateTable("metric_blocks").set(sealed).where("id", "=", open));
      sealedWall = Math.max(last, sealed_wall ?? last);
      unspanned += block_rows;
      if (unspanned >= partRows) {
        yield* summarize({ run, after: spanned, part: open, rows: unspanned }, memory.keys.size);
        [spanned, unspanned] = [open, 0];
      }
    }
    const block = goesOn ? open : yield* newBlock(run);
    // What is later than all that is sealed is in no sealed block.
    const mayBeSealed = sealedWall !== null && from <= sealedWall;
    const others = mayBeSealed ? yield* sealedBlocks(run, from, to) : [];
    const filed = others.length > 0 ? yield* filedIn(others, records) : undefined;
    const cells: (string | number | null)[] = [];
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as MetricRecord;
      const { wall, value, step, count, notFinite } = record;
      const key = keys[index] as number;
      const body = bodyOf(value);
      const identity = identityOf(record, body);
      if (filed?.has(`${key} ${step} ${identity}`)) continue;
      // Each record takes a place, inserted or not.
      cells.push(block, places + 1 + index, wall, key, step);
      cells.push(columnOf(value), count, identity, formOf(value), notFinite, body);
      if (cells.length < together * columns.length) continue;
      yield { sql: insertAll, parameters: cells };
      cells.length = 0;
    }
    if (cells.length > 0) yield { sql: insertOf(cells.length / columns.length), parameters: cells };
    const isFurther = furthest.counters.steps >= memory.steps;
    const next = {
      places: places + records.length,
      sealed_wall: sealedWall,
      block,
      block_rows: (goesOn ? block_rows : 0) + records.length,
      first_wall: goesOn ? Math.min(from, first_wall ?? from) : from,
      last_wall: goesOn ? Math.max(to, last) : to,
      spanned,
      unspanned,
      // They stay where the run has been further.
      counters: isFurther ? jsonOf(furthest.counters) : head.counters,
    };
    // With every window: the text is the same each time, and its parameters stand in the order of the columns.
    advance ??= tables.updateTable("run_heads").set(next).where("run", "=", run).compile().sql;
    yield { sql: advance, parameters: [...Object.values(next), run] };
    return () => {
      for (const [key, rows] of fresh) memory.keys.set(key, [...(memory.keys.get(key) ?? []), ...rows]);
      if (isFurther) memory.steps = furthest.counters.steps;
    };
  };

  function* idOf(row: Omit<KeyRow, "id"> & { readonly run: number }): InsertSteps<number> {
    const names = ["run", "key", "category", "name", "unit", "axis", "reduction"] as const;
    const inserted = tables.insertInto("metric_keys").values(row);
    // Where it is there already, this is how to be told its id.
    const found = inserted.onConflict((conflict) =>
      conflict.columns(names).doUpdateSet(({ ref }) => ({ key: ref("excluded.key") })),
    );
    return only(yield* ask(found.returning("id")));
  }

  function* newBlock(run: number): InsertSteps<number> {
    const block = tables.insertInto("metric_blocks").values({ run, sealed: 0 });
    return only(yield* ask(block.returning("id")));
  }

  function* sealedBlocks(run: number, from: number, to: number): InsertSteps<readonly number[]> {
    const blocks = tables.selectFrom("metric_blocks").select("id").where("run", "=", run);
    const sealed = blocks
      .where("sealed", "=", 1)
      .where("first_wall", "<=", to)
      .where("last_wall", ">=", from);
    return (yield* ask(sealed)).map((block) => block.id);
  }

  /** Rows that some blocks hold at the steps of these records. */
  function* filedIn(blocks: readonly number[], records: readonly MetricRecord[]): InsertSteps<Set<string>> {
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { step } of records) [first, last] = [Math.min(first, step), Math.max(last, step)];
    const rows = tables
      .selectFrom("metrics")
      .select(["key", "step", "identity"])
      .where("block", "in", blocks);
    const found = yield* ask(rows.where("step", ">=", first).where("step", "<=", last));
    return new Set(found.map(({ key, step, identity }) => `${key} ${step} ${identity}`));
  }

  /**
   * Summarizes the blocks of a part, those after `after` up to `part`, in groups, so that each metric has about 64 values
   * in a group.
   */
  function* summarize({ run, after, part, rows }: Part, metrics: number): InsertSteps<void> {
    const ofRun = tables.selectFrom("metric_blocks").select("id").where("run", "=", run);
    const blocks = yield* ask(ofRun.where("id", ">", after).where("id", "<=", part).orderBy("id"));
    const size = Math.max(1, Math.floor((spanPoints * Math.max(1, metrics) * blocks.length) / rows));
    for (let at = 0; at < blocks.length; at += size) {
      const group = blocks.slice(at, at + size);
      const [first, last] = [group[0]?.id ?? 0, group.at(-1)?.id ?? 0];
      const values = spansOf(tables, run, part).where("b.id", ">=", first).where("b.id", "<=", last);
      yield* ask(tables.insertInto("metric_spans").columns(spanColumns).expression(values));
    }
    yield* ask(tables.insertInto("metric_parts").values({ run, part }));
  }
}

const columns = [
  ...["block", "place", "wall", "key", "step", "value", "count"],
  ...["identity", "form", "not_finite", "body"],
];

type Part = Readonly<Record<"run" | "after" | "part" | "rows", number>>;

function* ask<Row>(query: Compilable<Row>): InsertSteps<readonly Row[]> {
  return (yield query.compile()) as readonly Row[];
}

const only = (rows: readonly { readonly id: number }[]): number => (rows[0] as { id: number }).id;

/** The value where it is finite. A database cannot add numbers that are greater: they count as infinite. */
export const finiteValue = sql<number | null>`case when m.value between -1e290 and 1e290 then m.value end`;

export const spanColumns = [
  ...["part", "key", "block", "first_block", "points", "numbers", "finite", "low", "high", "total"],
  ...["first_step", "last_step", "first_wall", "last_wall"],
] as const as readonly (keyof Tables["metric_spans"])[];

/** Rows of a run, `m`, with their blocks, `b`. */
export const rowsIn = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number) =>
  tables
    .selectFrom("metric_blocks as b")
    .innerJoin("metrics as m", "m.block", "b.id")
    .where("b.run", "=", run);

/** Values of a run, summarized metric by metric. The caller says of which blocks. */
export const spansOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number, part: number) =>
  rowsIn(tables, run)
    .groupBy("m.key")
    .select(({ fn }) => [
      sql<number>`cast(${part} as bigint)`.as("part"),
      "m.key",
      fn.max("m.block").as("block"),
      fn.min("m.block").as("first_block"),
      fn.countAll<number>().as("points"),
      sql<number>`sum(case when m.form <= ${sql.lit(forms.minusZero)} then 1 else 0 end)`.as("numbers"),
      fn.count<number>(finiteValue).as("finite"),
      fn.min(finiteValue).as("low"),
      fn.max(finiteValue).as("high"),
      fn.sum<number | null>(finiteValue).as("total"),
      fn.min("m.step").as("first_step"),
      fn.max("m.step").as("last_step"),
      fn.min("m.wall").as("first_wall"),
      fn.max("m.wall").as("last_wall"),
    ]);

/** A metric's texts without what databases refuse. */
const storedKey = ({ key, category, name, unit, axis, reduction }: Omit<KeyRow, "id">) => ({
  key: storable(key),
  category: storable(category),
  name: storable(name),
  unit: storable(unit),
  axis: storable(axis),
  reduction: storable(reduction),
});

/** The row of a record's metric. */
const rowOf = (
  rows: ReadonlyMap<string, readonly KeyRow[]>,
  { key, category, name, unit = "", axis, reduction }: MetricRecord,
): KeyRow | undefined =>
  rows
    .get(key)
    ?.find(
      (row) =>
        row.unit === unit &&
        row.axis === axis &&
        row.reduction === reduction &&
        row.name === name &&
        row.category === category,
    );

export const unknownRun = (id: string, hint = ""): EspalierError =>
  new EspalierError("STATS_UNKNOWN_RUN", `there is no run "${id}"${hint}`, {
    fix: "see which there are with `espalier runs`, or file it first with startRun",
  });
