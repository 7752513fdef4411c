import type { Kysely } from "kysely";
import { readValue } from "../filing/index.ts";
import type { Tables } from "../schema/index.ts";
import type { MetricRow } from "../stats-store.ts";

/** A metric of a run. */
export interface Key {
  readonly id: number;
  readonly key: string;
  readonly category: string;
  readonly name: string;
  readonly unit: string;
  readonly axis: string;
  readonly reduction: string;
}

/**
 * The metrics of a run by their ids, or only those with one key. They are asked for apart from their values: joined to
 * them, a planner likes to begin with the values, which are many.
 */
export async function keysOf(
  tables: Kysely<Tables>,
  run: number,
  key?: string,
): Promise<ReadonlyMap<number, Key>> {
  let query = tables.selectFrom("metric_keys").selectAll().where("run", "=", run);
  if (key !== undefined) query = query.where("key", "=", key);
  return new Map((await query.execute()).map((row) => [row.id, row]));
}

/** Values of a run's metrics. */
export const pointsOf = (tables: Pick<Kysely<Tables>, "selectFrom">, run: number) =>
  tables
    .selectFrom("metric_blocks as b")
    .innerJoin("metrics as m", "m.block", "b.id")
    .where("b.run", "=", run)
    .select(pointColumns);

export const pointColumns = [
  "m.key",
  "m.step",
  "m.place",
  "m.wall",
  "m.value",
  "m.form",
  "m.body",
  "m.count",
  "m.not_finite",
] as const;

export interface Point {
  readonly key: number;
  readonly step: number;
  readonly place: number;
  readonly wall: number;
  readonly value: number | null;
  readonly form: number;
  readonly body: string | null;
  readonly count: number;
  readonly not_finite: number;
}

/** Points as the store gives them. */
export const metricRows = (keys: ReadonlyMap<number, Key>, points: readonly Point[]): MetricRow[] =>
  points.map((point) => metricRow(keys.get(point.key) as Key, point));

const metricRow = ({ key, category, name, unit, axis, reduction }: Key, point: Point): MetricRow => ({
  ...{ key, category, name, axis, reduction },
  unit: unit === "" ? undefined : unit,
  step: point.step,
  wall: point.wall,
  ...readValue(point),
  count: point.count,
  notFinite: point.not_finite,
});
