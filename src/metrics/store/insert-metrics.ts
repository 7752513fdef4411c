import type { Compilable, Kysely, Selectable } from "kysely";
import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import type { Tables } from "./database.ts";
import { jsonOf, storable } from "./stored-values.ts";

// Inserts records of a run, each once. In one transaction:
//
//   head             the run's row in run_heads; Postgres locks it, so that writers of a run take turns
//   key              ids of metrics that this store has not seen yet
//   sealBlock,       where the open block is full: it is closed, with its sums, and the next begins
//   sumBlock, addBlock
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
      .select(["run", "places", "sealed_wall", "block", "block_rows", "first_wall", "last_wall"])
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
  sumBlock: prepare(({ block }: { block: number }) =>
    tables
      .insertInto("metric_sums")
      .columns(["block", "key", "points", "last_step"])
      .expression(({ selectFrom }) =>
        selectFrom("metrics")
          .select(({ fn }) => [
            "block",
            "key",
            fn.countAll<number>().as("points"),
            fn.max("step").as("last_step"),
          ])
          .where("block", "=", block)
          .groupBy(["block", "key"]),
      ),
  ),
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
  advance: prepare(({ run, counters, places, sealedWall, block, rows, first, last }: Advance) =>
    tables
      .updateTable("run_heads")
      .set(({ fn, ref, val }) => ({
        places,
        sealed_wall: sealedWall,
        block,
        block_rows: rows,
        first_wall: first,
        last_wall: last,
        counters: fn.coalesce(val(counters), ref("counters")),
      }))
      .where("run", "=", run),
  ),
});
export type InsertQueries = ReturnType<typeof insertQueries>;

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

/** A head after an insert. */
interface Advance {
  readonly run: number;
  readonly places: number;
  readonly sealedWall: number | null;
  readonly block: number;
  readonly rows: number;
  readonly first: number;
  readonly last: number;
  /** Null where they stay: the run has been further. */
  readonly counters: string | null;
}

/**
 * Rows after which a block is sealed, as soon as a later moment comes, and after which at any moment. More let a window
 * touch more pages of the file, fewer make a query look at more blocks.
 */
const [enough, most] = [500, 8000];

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
  /** Whether a sealed block may hold some of the records: what is later than all that is sealed is in none. */
  readonly mayBeSealed: boolean;
  readonly #head: Head;
  readonly #memory: RunMemory;
  readonly #sealedWall: number | null;
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

  advance(block: number): Advance {
    const { run, places, block_rows, first_wall, last_wall } = this.#head;
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
