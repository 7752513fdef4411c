import { bodyOf, columnOf, formOf, identityOf, type NewRows } from "../filing/index.ts";

/** Columns of `metrics` that differ from row to row, with their types. */
const columns = {
  place: "bigint",
  key: "bigint",
  step: "float8",
  identity: "bigint",
  wall: "float8",
  value: "float8",
  form: "bigint",
  body: "text",
  count: "bigint",
  not_finite: "bigint",
} as const;
const names = Object.keys(columns).join(", ");
const lists = Object.values(columns)
  .map((type, index) => `$${index + 2}::${type}[]`)
  .join(", ");

/** So many rows a statement: a text of some megabytes at most. */
const together = 10_000;

const insert = `insert into espalier.metrics (block, ${names})
  select $1::bigint, n.* from unnest(${lists}) as n (${names})
  where not exists (
    select 1 from espalier.metrics o
    where o.block = any ($${Object.keys(columns).length + 2}::bigint[]) and o.key = n.key and o.step = n.step
      and o.identity = n.identity)
  order by n.place on conflict do nothing`;

/** Statements that put rows into `metrics`, those that are there already left out. */
export function* rowInserts({ block, place, keys, records, elsewhere }: NewRows) {
  for (let from = 0; from < records.length; from += together) {
    const lists: (number | string | null)[][] = Object.keys(columns).map(() => []);
    for (const [index, record] of records.slice(from, from + together).entries()) {
      const { value, step, wall, count, notFinite } = record;
      const body = bodyOf(value);
      const row = [place + from + index, keys[from + index] as number, step, identityOf(record, body), wall];
      [...row, columnOf(value), formOf(value), body, count, notFinite].forEach((part, column) =>
        lists[column]?.push(part),
      );
    }
    const texts = lists.map((list, column) =>
      names.split(", ")[column] === "body" ? list : arrayText(list),
    );
    yield { sql: insert, parameters: [block, ...texts, arrayText(elsewhere)] };
  }
}

/** A list of numbers as Postgres writes it, which is faster than letting pg quote each. */
const arrayText = (list: readonly (number | string | null)[]): string =>
  `{${list.map((part) => (part === null ? "NULL" : String(part))).join(",")}}`;
