import type { MetricRecord } from "../../record.ts";
import { jsonOf } from "./records.ts";

/** What stands on one row: values of one step of one axis, as JSON. */
export interface Row {
  readonly axis: string;
  readonly step: number;
  readonly wall: number;
  /** Seconds that the run had taken, where that is known. */
  readonly seconds: number | undefined;
  readonly values: Map<string, string>;
}

/** Records by axis and step, in the order in which they came. Two values of one metric stand on two rows. */
export function rowsOf(records: readonly MetricRecord[]): readonly Row[] {
  const rows: Row[] = [];
  const newest = new Map<string, Row>();
  let row: Row | undefined;
  for (const record of records) {
    const { axis, step, key, wall } = record;
    if (row?.step !== step || row.axis !== axis) row = newest.get(`${axis} ${step}`);
    if (!row || row.values.has(key)) {
      row = { axis, step, wall, seconds: record.counters.seconds || undefined, values: new Map() };
      rows.push(row);
      newest.set(`${axis} ${step}`, row);
    }
    row.values.set(key, jsonOf(record.value));
  }
  return rows;
}
