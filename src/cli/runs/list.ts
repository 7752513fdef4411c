import { printable } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import { outcomeText } from "./outcome.ts";
import { readSigns } from "./signs.ts";
import { type RunSummary, summarize } from "./summary.ts";
import { amountText, countText, numberText } from "./text/numbers.ts";
import type { Style } from "./text/style.ts";
import { headedTable } from "./text/table.ts";
import { dateText, durationText } from "./text/times.ts";

/** What `espalier runs` is asked for. */
export interface ListOptions {
  readonly limit: number;
  readonly metric?: string;
  readonly now: number;
}

/** The newest runs of a store, and whether there are more. */
export async function listRuns(
  store: StatsStore,
  { limit, ...options }: ListOptions,
): Promise<{ readonly runs: readonly RunSummary[]; readonly more: boolean }> {
  const rows = await store.runs({ limit: limit + 1 });
  const runs: RunSummary[] = [];
  for (const row of rows.slice(0, limit)) {
    const latest = await store.latest(row.id);
    const signs = await readSigns(store, row, latest);
    runs.push(summarize(row, latest, { ...options, ...(signs && { signs }) }));
  }
  return { runs, more: rows.length > limit };
}

/** The table that `espalier runs` prints. */
export function listText(
  location: string,
  { runs, more }: Awaited<ReturnType<typeof listRuns>>,
  { limit, metric }: ListOptions,
  { colors }: Pick<Style, "colors">,
): readonly string[] {
  if (runs.length === 0) return [printable(`${location} holds no runs`, 1000)];
  const rows = runs.map((run) => [
    run.id,
    run.name,
    outcomeText(run),
    dateText(run.startedAt),
    durationText(run.duration),
    extentText(run.counters),
    metricText(run, metric),
  ]);
  return [
    ...headedTable(["run", "name", "outcome", "started", "duration", "done", metric ?? usual], rows, colors),
    ...(more ? [colors.dim(`the newest ${countText(limit)}; --limit N lists more`)] : []),
  ];
}

/** `3 epochs, 1,200 updates`, or `1,200 steps` where no more is known. */
function extentText(counters: RunSummary["counters"]): string {
  const known = (units: readonly string[]): readonly string[] =>
    units.flatMap((unit) => (counters[unit] ? [amountText(counters[unit], unit)] : []));
  const usual = known(["epochs", "updates"]);
  return (usual.length > 0 ? usual : known(["steps"])).join(", ");
}

/** What runs are told apart by unless another metric is asked for. */
const usual = "train/loss";

/** The value alone where the heading says what it is. */
function metricText({ metric }: RunSummary, asked = usual): string {
  if (metric?.value === undefined) return "";
  const value = numberText(metric.value);
  return metric.key === asked ? value : `${value} (${metric.key})`;
}
