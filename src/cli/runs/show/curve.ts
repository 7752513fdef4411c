import type { MetricRow, StatsStore } from "../../../metrics/index.ts";
import type { Point } from "../text/sparkline.ts";

/** A metric over a run. */
export interface Curve {
  readonly key: string;
  readonly unit: string | undefined;
  readonly axis: string;
  /** Points that the store has, and how many of them this was made from. */
  readonly points: number;
  readonly read: number;
  /** Of finite values; undefined without any. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  /** The newest, which may be NaN; undefined of texts. */
  readonly last: number | undefined;
  readonly lastStep: number;
  /** Values that were not finite. */
  readonly notFinite: number;
  /** The newest text, of a metric of texts. */
  readonly text: string | undefined;
  readonly series: readonly Point[];
}

/** Reads one metric of a run, evenly chosen points of it where it has more than `most`. Of a histogram, its mean. */
export async function readCurve(
  store: StatsStore,
  run: string,
  { key, points }: { readonly key: string; readonly points: number },
  most: number,
): Promise<Curve | undefined> {
  const rows = await store.series(run, key, points > most ? { points: most } : {});
  const newest = rows.at(-1);
  if (newest === undefined) return undefined; // Removed since by a run that went on before it.
  const series = rows.flatMap((row) => {
    const value = numberOf(row);
    return value === undefined ? [] : [{ step: row.step, value }];
  });
  const finite = series.map(({ value }) => value).filter(Number.isFinite);
  return {
    key,
    unit: newest.unit,
    axis: newest.axis,
    points,
    read: rows.length,
    min: extreme(finite, Math.min),
    max: extreme(finite, Math.max),
    last: numberOf(newest),
    lastStep: newest.step,
    notFinite: rows.reduce((sum, { notFinite }) => sum + notFinite, 0),
    text: newest.text,
    series,
  };
}

/** The number that stands for a row; undefined of a text. */
export function numberOf({ value, histogram }: MetricRow): number | undefined {
  if (value !== undefined || typeof histogram !== "object") return value;
  return histogram.sum / histogram.count;
}

const extreme = (values: readonly number[], pick: (a: number, b: number) => number): number | undefined =>
  values.length === 0 ? undefined : values.reduce((a, b) => pick(a, b));

/** At most so many points of a series, evenly chosen, the last among them. */
export function thinned(series: readonly Point[], most: number): readonly Point[] {
  if (series.length <= most) return series;
  const stride = (series.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, i) => series[Math.round(i * stride)]).filter(
    (point): point is Point => point !== undefined,
  );
}
