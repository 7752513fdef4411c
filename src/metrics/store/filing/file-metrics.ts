import { EspalierError } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import { jsonOf } from "../json-text.ts";
import { type Head, openBlock } from "./blocks.ts";
import { idsOf, KnownKeys } from "./keys.ts";
import { ask, type Filing, tell } from "./request.ts";

/** What a store remembers of a run that it files, so that it need not ask. */
export interface RunMemory {
  readonly keys: KnownKeys;
  /** Steps up to which the run's counters are filed. */
  steps: number;
}

export const newMemory = (): RunMemory => ({ keys: new KnownKeys(), steps: Number.NEGATIVE_INFINITY });

const findHead = `select h.run, h.places, h.sealed_wall, h.block, h.block_rows, h.first_wall, h.last_wall
  from {runs} r join {run_heads} h on h.run = r.number where r.id = ?{lock}`;
const findBlocks = `select id from {metric_blocks}
  where run = ? and sealed = 1 and first_wall <= ? and last_wall >= ?`;
const columns = "places = ?, sealed_wall = ?, block = ?, block_rows = ?, first_wall = ?, last_wall = ?";
const advance = `update {run_heads} set ${columns} where run = ?`;
const advanceCounters = `update {run_heads} set ${columns}, counters = ? where run = ?`;

/** Files records of a run. What is to be remembered is handed back, to be kept once the transaction is over. */
export function* fileMetrics(
  id: string,
  records: readonly MetricRecord[],
  memory: RunMemory,
): Filing<() => void> {
  const [head] = yield* ask<Head>(findHead, id);
  if (!head) throw unknownRun(id);
  const { run, places } = head;
  const [from, to] = wallsOf(records);
  const { ids, fresh } = yield* idsOf(run, records, memory.keys);
  const { block, rows, walls, sealedWall } = yield* openBlock(head, from);

  // What is later than all that is sealed is in none of these blocks.
  const couldBeThere = sealedWall !== null && from <= sealedWall;
  const others = couldBeThere ? yield* ask<{ id: number }>(findBlocks, run, to, from) : [];
  const elsewhere = others.map((other) => other.id);
  yield { rows: { block, place: places + 1, keys: ids, records, elsewhere } };

  const now = [places + records.length, sealedWall, block, rows + records.length] as const;
  const [first, last] = [Math.min(from, ...walls), Math.max(to, ...walls)];
  const { counters } = furthestOf(records);
  const further = counters.steps >= memory.steps;
  if (further) yield* tell(advanceCounters, ...now, first, last, jsonOf(counters), run);
  else yield* tell(advance, ...now, first, last, run);
  return () => {
    for (const row of fresh) memory.keys.add(row);
    if (further) memory.steps = counters.steps;
  };
}

function wallsOf(records: readonly MetricRecord[]): readonly [number, number] {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { wall } of records) {
    if (wall < from) from = wall;
    if (wall > to) to = wall;
  }
  return [from, to];
}

function furthestOf(records: readonly MetricRecord[]): MetricRecord {
  let furthest = records[0] as MetricRecord;
  for (const record of records) if (record.counters.steps >= furthest.counters.steps) furthest = record;
  return furthest;
}

export const unknownRun = (id: string, hint = ""): EspalierError =>
  new EspalierError("STATS_UNKNOWN_RUN", `there is no run "${id}"${hint}`, {
    fix: "see which there are with `espalier runs`, or file it first with startRun",
  });
