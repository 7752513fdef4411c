import { type Compilable, type Kysely, type Selectable, sql } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { Tables } from "./database.ts";
import { forms, jsonOf, storable } from "./stored-values.ts";

// Inserts records of a run, each once. In one transaction:
//
//   head             the run's row in run_heads; Postgres locks it, so that writers of a run take turns
//   key              ids of metrics that this store has not seen yet
//   sealBlock,       where the open block is full: it is closed, and the next begins
//   addBlock
//   spanBlocks,      where enough rows are sealed: they are summarized, metric by metric
//   addSpans, addPart
//   sealedBlocks     sealed blocks that may hold some of these records already
//   the rows         each database in its own way: see sqlite.ts and postgres.ts
//   advance          the head, with the counters where these records are the furthest
//
// SQLite does all of it at once, Postgres waits for each answer. So the steps stand in both files; the queries, and
// what follows from the answers (`MetricInsert`), stand here.

/** The queries, compiled once for a database. Postgres locks the head. */
export const insertQueries = (tables: Kysely<Tables>, lock: boolean) => ({
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
  sealBlock: prepare(({ block, first, last, place }: Seal) =>
    tables
      .updateTable("metric_blocks")
      .set({ sealed: 1, first_wall: first, last_wall: last, last_place: place })
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
  addSpans: prepare(({ run, part, first, last }: SpanBlocks) =>
    tables
      .insertInto("metric_spans")
      .columns(spanColumns)
      .expression(spansOf(tables, run, part).where("b.id", ">=", first).where("b.id", "<=", last)),
  ),
  addPart: prepare(({ run, part }: Part) => tables.insertInto("metric_parts").values({ run, part })),
  addBlock: prepare(({ run }: { run: number }) =>
    tables.insertInto("metric_blocks").values({ run, sealed: 0 }).returning("id"),
  ),
  sealedBlocks: prepare(({ run, from, to }: Pick<MetricInsert, "run" | "from" | "to">) =>
    tables
      .selectFrom("metric_blocks")
      .select("id")
      .where("run", "=", run)
      .where("sealed", "=", 1)
      .where("first_wall", "<=", to)
      .where("last_wall", ">=", from),
  ),
  advance: prepare((next: Advance) =>
    tables
      .updateTable("run_heads")
      .set(({ fn, ref, val }) => ({
        places: next.places,
        sealed_wall: next.sealedWall,
        block: next.block,
        block_rows: next.rows,
        first_wall: next.first,
        last_wall: next.last,
        spanned: next.spanned,
        unspanned: next.unspanned,
        counters: fn.coalesce(val(next.counters), ref("counters")),
      }))
      .where("run", "=", next.run),
  ),
});
export type InsertQueries = ReturnType<typeof insertQueries>;

/** The value where it is finite. A database cannot add numbers that are greater: they count as infinite. */
export const finiteValue = sql<number | null>`case when m.value between -1e290 and 1e290 then m.value end`;

export const spanColumns = [
  ...["part", "key", "block", "first_block", "points", "numbers", "finite", "low", "high", "total"],
  ...["first_step", "last_step", "first_wall", "last_wall"],
] as const as readonly (keyof Tables["metric_spans"])[];

/** Values of a run, summarized metric by metric. The caller says of which blocks. */
export const spansOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number, part: number) =>
  tables
    .selectFrom("metric_blocks as b")
    .innerJoin("metrics as m", "m.block", "b.id")
    .where("b.run", "=", run)
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
export interface Prepared<P extends object, Row> {
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

/** Where inserting into a run stands. */
type Head = Omit<Selectable<Tables["run_heads"]>, "counters">;

/** A block that is full: its first and last moment, and the last place in it. */
interface Seal {
  readonly block: number;
  readonly first: number | null;
  readonly last: number;
  readonly place: number;
}

/** Blocks of a run that are summarized at once: those after `after`, up to `part`. */
interface Part {
  readonly run: number;
  readonly after: number;
  readonly part: number;
}

/** Blocks whose values become one span of each metric. */
interface SpanBlocks extends Part {
  readonly first: number;
  readonly last: number;
}

/** A head after an insert. */
interface Advance {
  readonly run: number;
  readonly places: number;
  readonly sealedWall: number | null;
  readonly block: number;
  readonly rows: number;
  readonly first: number;
  readonly last: number;
  readonly spanned: number;
  readonly unspanned: number;
  /** Null where they stay: the run has been further. */
  readonly counters: string | null;
}

/**
 * Rows after which a block is sealed, as soon as a later moment comes, and after which at any moment. More let a window
 * touch more pages of the file, fewer make a query look at more blocks.
 */
const [enough, most] = [500, 8000];

/** Rows that are summarized at once, and values of a metric in a span. */
const [partRows, spanPoints] = [32_000, 64];

/** One insert: what each query is given, from the head and from the answers so far. */
export class MetricInsert {
  readonly run: number;
  readonly records: readonly MetricRecord[];
  /** The earliest and the latest moment of the records. */
  readonly from: number;
  readonly to: number;
  /** The place of the first record; each takes one, inserted or not. */
  readonly place: number;
  /** Ids of the records' metrics, in their order: complete once all of `unknown` are learnt. */
  readonly keys: number[] = [];
  /** Metrics whose ids are not known, and which records are of each. */
  readonly unknown = new Map<string, { readonly row: Omit<KeyRow, "id">; readonly indices: number[] }>();
  /** The open block, where these records go into it. */
  readonly block: number | undefined;
  /** The open block, where it is full. */
  readonly seal: Seal | undefined;
  /** The blocks that are to be summarized, where they are enough. */
  readonly part: Part | undefined;
  /** True where a sealed block may hold some of the records: what is later than all that is sealed is in none. */
  readonly mayBeSealed: boolean;
  readonly #head: Head;
  readonly #memory: RunMemory;
  readonly #sealedWall: number | null;
  /** Rows in sealed blocks that are not summarized. */
  readonly #unspanned: number;
  readonly #furthest: MetricRecord;
  readonly #learnt: KeyRow[] = [];

  constructor(id: string, head: Head | undefined, records: readonly MetricRecord[], memory: RunMemory) {
    if (!head) throw unknownRun(id);
    this.#head = head;
    this.#memory = memory;
    this.run = head.run;
    this.records = records;
    this.place = head.places + 1;
    let [from, to, furthest] = [
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      records[0] as MetricRecord,
    ];
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as MetricRecord;
      if (record.wall < from) from = record.wall;
      if (record.wall > to) to = record.wall;
      if (record.counters.steps >= furthest.counters.steps) furthest = record;
      const key = memory.keys.get(record.key)?.find((row) => isOf(row, record))?.id;
      if (key === undefined) this.#ask(record, index);
      else this.keys[index] = key;
    }
    this.from = from;
    this.to = to;
    this.#furthest = furthest;
    const { block, block_rows: rows, first_wall: first, last_wall, sealed_wall, places: place } = head;
    const last = last_wall ?? from;
    // A block does not end within a moment: a record that comes again comes with the moment at which it was made, and is
    // then found in the block itself.
    if (block !== null && (rows < enough || (rows < most && from <= last))) this.block = block;
    else if (block !== null) this.seal = { block, first, last, place };
    this.#unspanned = head.unspanned + (this.seal ? rows : 0);
    if (this.seal && this.#unspanned >= partRows)
      this.part = { run: head.run, after: head.spanned, part: this.seal.block };
    this.#sealedWall = this.seal ? Math.max(last, sealed_wall ?? last) : sealed_wall;
    this.mayBeSealed = this.#sealedWall !== null && from <= this.#sealedWall;
  }

  #ask({ key, category, name, unit = "", axis, reduction }: MetricRecord, index: number): void {
    const row = { key, category, name, unit, axis, reduction };
    const named = JSON.stringify(storedKey(row));
    const known = this.unknown.get(named);
    if (known) known.indices.push(index);
    else this.unknown.set(named, { row, indices: [index] });
  }

  /** Takes the id of a metric of `unknown`. */
  learn(
    { row, indices }: { readonly row: Omit<KeyRow, "id">; readonly indices: number[] },
    id: number,
  ): void {
    for (const index of indices) this.keys[index] = id;
    this.#learnt.push({ ...row, id });
  }

  /** The blocks of a part in groups, so that each metric has about 64 values in a group. */
  spans(part: Part, blocks: readonly number[]): readonly SpanBlocks[] {
    const metrics = Math.max(1, this.#memory.keys.size);
    const size = Math.max(1, Math.floor((spanPoints * metrics * blocks.length) / this.#unspanned));
    const spans: SpanBlocks[] = [];
    for (let from = 0; from < blocks.length; from += size) {
      const group = blocks.slice(from, from + size);
      spans.push({ ...part, first: group[0] as number, last: group.at(-1) as number });
    }
    return spans;
  }

  advance(block: number): Advance {
    const { run, places, block_rows, first_wall, last_wall, spanned } = this.#head;
    const goesOn = this.block !== undefined;
    const { length } = this.records;
    return {
      run,
      places: places + length,
      sealedWall: this.#sealedWall,
      block,
      rows: (goesOn ? block_rows : 0) + length,
      first: goesOn ? Math.min(this.from, first_wall ?? this.from) : this.from,
      last: goesOn ? Math.max(this.to, last_wall ?? this.from) : this.to,
      spanned: this.part?.part ?? spanned,
      unspanned: this.part ? 0 : this.#unspanned,
      counters: this.#isFurther ? jsonOf(this.#furthest.counters) : null,
    };
  }

  /** To be called once the transaction is over. */
  remember(): void {
    const { keys } = this.#memory;
    for (const row of this.#learnt) keys.set(row.key, [...(keys.get(row.key) ?? []), row]);
    if (this.#isFurther) this.#memory.steps = this.#furthest.counters.steps;
  }

  get #isFurther(): boolean {
    return this.#furthest.counters.steps >= this.#memory.steps;
  }
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

/** A metric's texts without what databases refuse. */
export const storedKey = ({ key, category, name, unit, axis, reduction }: Omit<KeyRow, "id">) => ({
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
