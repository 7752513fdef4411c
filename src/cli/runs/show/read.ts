import type {
  CheckpointRow,
  EvaluationRow,
  HookTimingRow,
  InterventionRow,
  MetricRow,
  StatsStore,
} from "../../../metrics/index.ts";
import { matching, telling } from "../choose-metrics.ts";
import { readSigns } from "../signs.ts";
import { type RunSummary, summarize } from "../summary.ts";
import { type Curve, readCurve, thinned } from "./curve.ts";

/** Curves that are shown where nothing is asked for. */
const MOST_CURVES = 12;

/** Points that are held at once, whatever is asked for: a terminal shows a hundred columns a curve. */
const MOST_POINTS = 250_000;

/** Everything `espalier show` shows of a run. */
export interface Shown {
  readonly run: RunSummary;
  readonly curves: readonly Curve[];
  /** Metrics in all. */
  readonly metrics: number;
  readonly timings: readonly HookTimingRow[];
  readonly evaluations: readonly EvaluationRow[];
  readonly checkpoints: readonly CheckpointRow[];
  readonly interventions: readonly InterventionRow[];
  /** The newest of each metric that monitors filed. */
  readonly health: readonly MetricRow[];
}

/** Reads what is shown of a run; `metric` chooses curves. */
export async function readShown(
  store: StatsStore,
  asked: string,
  { now, metric }: { readonly now: number; readonly metric?: readonly string[] },
): Promise<Shown> {
  const row = await store.run(asked);
  const latest = await store.latest(row.id);
  const signs = await readSigns(store, row, latest);
  const metrics = await store.metrics(row.id);
  const chosen = metric ? matching(metrics, metric) : telling(metrics).slice(0, MOST_CURVES);
  const most = Math.max(200, Math.floor(MOST_POINTS / chosen.length));
  const curves: Curve[] = [];
  for (const one of chosen) {
    const curve = await readCurve(store, row.id, one, most);
    if (curve) curves.push(curve);
  }
  return {
    run: summarize(row, latest, { now, ...(signs && { signs }) }),
    curves,
    metrics: metrics.length,
    timings: await store.hookTimings(row.id),
    evaluations: await store.list(row.id, "evaluation"),
    checkpoints: await store.list(row.id, "checkpoint"),
    interventions: await store.list(row.id, "intervention"),
    health: latest.filter(({ category }) => category === "health"),
  };
}

/** Points of a curve in JSON; all of them are what `espalier export` is for. */
const JSON_POINTS = 200;

/** What `--json` prints. */
export const shownJson = (shown: Shown): unknown => ({
  ...shown,
  curves: shown.curves.map((curve) => ({ ...curve, series: thinned(curve.series, JSON_POINTS) })),
});
