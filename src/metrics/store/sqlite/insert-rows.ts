import type { MetricRecord } from "../../record.ts";
import { bodyOf, columnOf, formOf, forms, identityOf, type NewRows } from "../filing/index.ts";
import { bindable } from "./bindable.ts";
import type { Statements } from "./statements.ts";

/** Rows a statement: more are no faster, as measured. */
const together = 10;
const perRow = 7;

const columns = "block, place, wall, key, step, value, count, identity, form, not_finite, body";
const begin = `insert into metrics (${columns}) values`;
/** Finite numbers, as nearly all are. */
const plain = `${begin} ${Array.from({ length: together }, (_, row) => {
  const own = Array.from({ length: perRow }, (_, index) => `?${2 + perRow * row + index}`).join(", ");
  return `(?1, ${own}, 0, 0, null)`;
}).join(", ")} on conflict do nothing`;
/** One row, whatever it is. */
const any = `${begin} (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`;
const exists = "select 1 from metrics where block = ? and key = ? and step = ? and identity = ?";

/** Puts rows into `metrics`, those that are there already left out. */
export function insertRows(
  statements: Statements,
  { block, place, keys, records, elsewhere }: NewRows,
): void {
  const [addTen, addOne] = [statements.of(plain), statements.of(any)];
  const isFiled = (key: number, step: number, identity: number): boolean =>
    elsewhere.some((other) => statements.of(exists).get(other, key, step, identity) !== undefined);
  const ten: unknown[] = [block];
  for (let index = 0; index < records.length; index++) {
    const record = records[index] as MetricRecord;
    const { wall, value, step, count, notFinite } = record;
    const key = keys[index] as number;
    const form = formOf(value);
    const body = bodyOf(value);
    const identity = identityOf(record, body);
    if (elsewhere.length > 0 && isFiled(key, step, identity)) continue;
    const column = bindable(columnOf(value));
    if (form !== forms.number || notFinite > 0)
      addOne.run(block, place + index, wall, key, step, column, count, identity, form, notFinite, body);
    else if (ten.push(place + index, wall, key, step, column, count, identity) === 1 + together * perRow) {
      addTen.run(...ten);
      ten.length = 1;
    }
  }
  for (let at = 1; at < ten.length; at += perRow)
    addOne.run(block, ...ten.slice(at, at + perRow), forms.number, 0, null);
}
