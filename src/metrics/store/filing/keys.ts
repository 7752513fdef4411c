import type { MetricRecord } from "../../record.ts";
import { storable } from "../json-text.ts";
import { ask, type Filing } from "./request.ts";

/** What is the same for all records of a metric; where it is not, because a resumed run declares it anew, it has two. */
export interface KeyRow {
  readonly id: number;
  readonly key: string;
  readonly category: string;
  readonly name: string;
  readonly unit: string;
  readonly axis: string;
  readonly reduction: string;
}

/** Ids of the metrics of one run, as far as they are known to be in the database. */
export class KnownKeys {
  readonly #rows = new Map<string, KeyRow[]>();

  find({ key, category, name, unit = "", axis, reduction }: MetricRecord): number | undefined {
    const rows = this.#rows.get(key);
    if (rows !== undefined)
      for (const row of rows)
        if (
          row.unit === unit &&
          row.axis === axis &&
          row.reduction === reduction &&
          row.name === name &&
          row.category === category
        )
          return row.id;
    return undefined;
  }

  add(row: KeyRow): void {
    const rows = this.#rows.get(row.key);
    if (rows) rows.push(row);
    else this.#rows.set(row.key, [row]);
  }
}

/** The ids of the records' metrics, in their order, and those that are new to `known`. */
export function* idsOf(
  run: number,
  records: readonly MetricRecord[],
  known: KnownKeys,
): Filing<{ readonly ids: readonly number[]; readonly fresh: readonly KeyRow[] }> {
  const ids = new Array<number>(records.length);
  let fresh: Map<string, KeyRow> | undefined;
  for (let index = 0; index < records.length; index++) {
    const record = records[index] as MetricRecord;
    let id = known.find(record);
    if (id === undefined) {
      fresh ??= new Map();
      const named = JSON.stringify(textsOf(record));
      let row = fresh.get(named);
      if (!row) {
        const { key, category, name, unit = "", axis, reduction } = record;
        row = { id: yield* fileKey(run, record), key, category, name, unit, axis, reduction };
        fresh.set(named, row);
      }
      id = row.id;
    }
    ids[index] = id;
  }
  return { ids, fresh: [...(fresh?.values() ?? [])] };
}

const columns = "run, key, category, name, unit, axis, reduction";

function* fileKey(run: number, record: MetricRecord): Filing<number> {
  const texts = textsOf(record);
  const [added] = yield* ask<{ id: number }>(
    `insert into {metric_keys} (${columns}) values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing returning id`,
    run,
    ...texts,
  );
  if (added) return added.id;
  const where = columns
    .split(", ")
    .map((column) => `${column} = ?`)
    .join(" and ");
  const [there] = yield* ask<{ id: number }>(`select id from {metric_keys} where ${where}`, run, ...texts);
  return (there as { id: number }).id;
}

const textsOf = ({ key, category, name, unit = "", axis, reduction }: MetricRecord): readonly string[] =>
  [key, category, name, unit, axis, reduction].map(storable);
