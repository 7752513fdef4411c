import { type Compilable, type Kysely, type Selectable, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { Tables } from "./database.ts";
import { forms, jsonOf, storable } from "./stored-values.ts";

// Inserts records of a run, each once, in one transaction: `insertSteps` below, from top to bottom. SQLite does all of
// it at once, Postgres waits for each answer. So the steps are a generator, which gives queries and gets their rows.

/** One query of an insert. */
export interface InsertStep {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Queries that are made one by one; each is answered with its rows. */
export type InsertSteps<Result> = Generator<InsertStep, Result, readonly unknown[]>;

/** Records and where they go: ids of their metrics, and blocks that may hold some of them already. */
export interface NewRows {
  readonly block: number;
  readonly others: readonly number[];
  /** The place of the first record; each takes one, inserted or not. */
  readonly place: number;
  readonly keys: readonly number[];
  readonly records: readonly MetricRecord[];
}

/** Memory of a run that a store inserts into, so that it need not ask. */
export interface RunMemory {
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

/**
 * A function that gives the steps of an insert. They end with what is to be called once the transaction is over. Each
 * database adds the rows in its own way; Postgres locks the head, so that writers of a run take turns.
 */
export function metricInserter(
  tables: Kysely<Tables>,
  { lock, addRows }: { readonly lock: boolean; addRows(rows: NewRows): InsertSteps<void> },
): (id: string, records: readonly MetricRecord[], memory: RunMemory) => InsertSteps<() => void> {
  const queries = insertQueries(tables, lock);

  return function* insertSteps(id, records, memory) {
    const [head] = yield* ask(queries.head, { id });
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
      const isOfRecord = (row: KeyRow): boolean => isOf(row, record);
      let known = memory.keys.get(record.key)?.find(isOfRecord) ?? fresh.get(record.key)?.find(isOfRecord);
      if (known === undefined) {
        const { key, category, name, unit = "", axis, reduction } = record;
        const row = { key, category, name, unit, axis, reduction };
        const [found] = yield* ask(queries.key, { run, ...storedKey(row) });
        known = { ...row, id: (found as { id: number }).id };
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
      yield* ask(queries.sealBlock, { ...head, last_wall: last });
      sealedWall = Math.max(last, sealed_wall ?? last);
      unspanned += block_rows;
      if (unspanned >= partRows) {
        yield* summarize({ run, after: spanned, part: open }, unspanned, memory.keys.size);
        [spanned, unspanned] = [open, 0];
      }
    }
    const block = goesOn ? open : ((yield* ask(queries.addBlock, { run }))[0] as { id: number }).id;
    // What is later than all that is sealed is in no sealed block.
    const mayBeSealed = sealedWall !== null && from <= sealedWall;
    const others = mayBeSealed ? yield* ask(queries.sealedBlocks, { run, from, to }) : [];
    yield* addRows({ block, others: others.map((other) => other.id), place: places + 1, keys, records });
    const isFurther = furthest.counters.steps >= memory.steps;
    yield* ask(queries.advance, {
      run,
      places: places + records.length,
      sealed_wall: sealedWall,
      block,
      block_rows: (goesOn ? block_rows : 0) + records.length,
      first_wall: goesOn ? Math.min(from, first_wall ?? from) : from,
      last_wall: goesOn ? Math.max(to, last) : to,
      spanned,
      unspanned,
      // Null where they stay: the run has been further.
      counters: isFurther ? jsonOf(furthest.counters) : null,
    });
    return () => {
      for (const [key, rows] of fresh) memory.keys.set(key, [...(memory.keys.get(key) ?? []), ...rows]);
      if (isFurther) memory.steps = furthest.counters.steps;
    };
  };

  /** Summarizes the blocks of a part in groups, so that each metric has about 64 values in a group. */
  function* summarize(part: Part, rows: number, metrics: number): InsertSteps<void> {
    const blocks = (yield* ask(queries.spanBlocks, part)).map((block) => block.id);
    const size = Math.max(1, Math.floor((spanPoints * Math.max(1, metrics) * blocks.length) / rows));
    for (let at = 0; at < blocks.length; at += size) {
      const group = blocks.slice(at, at + size);
      yield* ask(queries.addSpans, { ...part, first: group[0] as number, last: group.at(-1) as number });
    }
    yield* ask(queries.addPart, part);
  }
}

function* ask<P extends object, Row>(query: Prepared<P, Row>, parameters: P): InsertSteps<readonly Row[]> {
  return (yield { sql: query.sql, parameters: query.bind(parameters) }) as readonly Row[];
}

/** Blocks of a run that are summarized at once: those after `after`, up to `part`. */
interface Part {
  readonly run: number;
  readonly after: number;
  readonly part: number;
}

/** The queries, compiled once for a database. */
const insertQueries = (tables: Kysely<Tables>, lock: boolean) => ({
  head: prepare(({ id }: { id: string }) =>
    tables
      .selectFrom("run_heads")
      .select([
        ...["run", "places", "sealed_wall", "block", "block_rows", "first_wall", "last_wall"],
        ...["spanned", "unspanned"],
      ] as const)
      .where("run", "=", ({ selectFrom }) => selectFrom("runs").select("number").where("id", "=", id))
      .$if(lock, (query) => query.forNoKeyUpdate()),
  ),
  key: prepare(({ run, key, category, name, unit, axis, reduction }: Omit<KeyRow, "id"> & { run: number }) =>
    tables
      .insertInto("metric_keys")
      .values({ run, key, category, name, unit, axis, reduction })
      // Where it is there already, this is how to be told its id.
      .onConflict((conflict) =>
        conflict
          .columns(["run", "key", "category", "name", "unit", "axis", "reduction"])
          .doUpdateSet(({ ref }) => ({ key: ref("excluded.key") })),
      )
      .returning("id"),
  ),
  sealBlock: prepare(({ block, first_wall, last_wall, places }: Head) =>
    tables
      .updateTable("metric_blocks")
      .set({ sealed: 1, first_wall, last_wall, last_place: places })
      .where("id", "=", block),
  ),
  spanBlocks: prepare(({ run, after, part }: Part) =>
    tables
      .selectFrom("metric_blocks")
      .select("id")
      .where("run", "=", run)
      .where("id", ">", after)
      .where("id", "<=", part)
      .orderBy("id"),
  ),
  addSpans: prepare(({ run, part, first, last }: Part & { first: number; last: number }) =>
    tables
      .insertInto("metric_spans")
      .columns(spanColumns)
      .expression(spansOf(tables, run, part).where("b.id", ">=", first).where("b.id", "<=", last)),
  ),
  addPart: prepare(({ run, part }: Part) => tables.insertInto("metric_parts").values({ run, part })),
  addBlock: prepare(({ run }: { run: number }) =>
    tables.insertInto("metric_blocks").values({ run, sealed: 0 }).returning("id"),
  ),
  sealedBlocks: prepare(({ run, from, to }: { run: number; from: number; to: number }) =>
    tables
      .selectFrom("metric_blocks")
      .select("id")
      .where("run", "=", run)
      .where("sealed", "=", 1)
      .where("first_wall", "<=", to)
      .where("last_wall", ">=", from),
  ),
  advance: prepare((next: Head & { readonly counters: string | null }) =>
    tables
      .updateTable("run_heads")
      .set(({ fn, ref, val }) => ({
        places: next.places,
        sealed_wall: next.sealed_wall,
        block: next.block,
        block_rows: next.block_rows,
        first_wall: next.first_wall,
        last_wall: next.last_wall,
        spanned: next.spanned,
        unspanned: next.unspanned,
        counters: fn.coalesce(val(next.counters), ref("counters")),
      }))
      .where("run", "=", next.run),
  ),
});
/** Where inserting into a run stands. */
type Head = Omit<Selectable<Tables["run_heads"]>, "counters">;

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

/** A query whose text is made once, and which is run with other parameters each time. */
interface Prepared<P extends object, Row> {
  readonly sql: string;
  /** The parameters in the order in which they stand in the text. */
  bind(parameters: P): unknown[];
  /** The type of its rows; there is no such value. */
  readonly row?: Row;
}

/** Compiles a query with a mark for each parameter, and so learns where in the text each stands. */
function prepare<P extends object, Row>(build: (parameters: P) => Compilable<Row>): Prepared<P, Row> {
  const marks = new Map<unknown, keyof P>();
  const mark = (_target: object, name: string | symbol): unknown => {
    const one = { name };
    marks.set(one, name as keyof P);
    return one;
  };
  const { sql, parameters } = build(new Proxy({}, { get: mark }) as P).compile();
  const names = parameters.map((parameter) => marks.get(parameter));
  return {
    sql,
    bind: (given) => names.map((name, i) => (name === undefined ? parameters[i] : given[name])),
  };
}

/** A metric's texts without what databases refuse. */
const storedKey = ({ key, category, name, unit, axis, reduction }: Omit<KeyRow, "id">) => ({
  key: storable(key),
  category: storable(category),
  name: storable(name),
  unit: storable(unit),
  axis: storable(axis),
  reduction: storable(reduction),
});

const isOf = (row: KeyRow, { category, name, unit = "", axis, reduction }: MetricRecord): boolean =>
  row.unit === unit &&
  row.axis === axis &&
  row.reduction === reduction &&
  row.name === name &&
  row.category === category;

export const unknownRun = (id: string, hint = ""): EspalierError =>
  new EspalierError("STATS_UNKNOWN_RUN", `there is no run "${id}"${hint}`, {
    fix: "see which there are with `espalier runs`, or file it first with startRun",
  });
