import type { MetricRecord, MetricRow, StatsStore } from "../../../metrics/index.ts";
import type { Counters } from "../../../schedule/index.ts";

/** Rows that are read at once. */
const PAGE = 5000;

/** All metrics of a run as its logger gave them to sinks: as they came, windows never cut in two. */
export async function* recordsOf(
  store: Pick<StatsStore, "since">,
  run: string,
): AsyncGenerator<readonly MetricRecord[]> {
  const recordOf = recordMaker();
  let held: readonly MetricRecord[] = [];
  let place = 0;
  for (let more = true; more; ) {
    const { rows, next } = await store.since(run, place, PAGE);
    place = next;
    more = rows.length === PAGE;
    const records = [...held, ...rows.map(recordOf)];
    // The last window of a page may go on in the next one.
    const wall = records.at(-1)?.wall;
    const whole = more ? records.findLastIndex((record) => record.wall !== wall) + 1 : records.length;
    held = records.slice(whole);
    if (whole > 0) yield records.slice(0, whole);
  }
}

/** Makes records of rows. Those of one step share their counters. */
function recordMaker(): (row: MetricRow) => MetricRecord {
  let last: { readonly axis: string; readonly step: number; readonly counters: Counters } | undefined;
  return (row) => {
    const { category, name, key, unit, step, axis, wall, count, notFinite } = row;
    if (last?.step !== step || last.axis !== axis)
      // The store keeps the one that it is filed under. Zeros for the others would be made up.
      last = { axis, step, counters: { [axis]: step } as Counters };
    const { counters } = last;
    const value = row.value ?? row.text ?? row.histogram ?? Number.NaN;
    const reduction = row.reduction as MetricRecord["reduction"];
    return { category, name, key, unit, step, axis, counters, wall, value, reduction, count, notFinite };
  };
}
