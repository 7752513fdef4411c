import { amountText, countText, cut, numberText, printable, tableLines } from "../../core/index.ts";
import type { MetricRow, StatsStore } from "../../metrics/index.ts";
import type { Style } from "../terminal.ts";
import { ageText, callText, dateText, durationText, headedTable } from "../text.ts";
import { matching, telling } from "./choose-metrics.ts";
import { outcomeText, type RunSummary, readSigns, summarize } from "./list.ts";
import { notFiniteMark, type Point, sparkline } from "./sparkline.ts";

const MOST_CURVES = 12;

/** Points that are held at once, whatever is asked for: a terminal shows a hundred columns a curve. */
const MOST_POINTS = 250_000;

export type Shown = Awaited<ReturnType<typeof readShown>>;

/** Reads everything that is shown of a run; `metric` chooses curves. */
export async function readShown(
  store: StatsStore,
  asked: string,
  { now, metric }: { readonly now: number; readonly metric?: readonly string[] },
) {
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

export const shownJson = (shown: Shown): unknown => ({
  ...shown,
  curves: shown.curves.map((curve) => ({ ...curve, series: thinned(curve.series, JSON_POINTS) })),
});

type Curve = NonNullable<Awaited<ReturnType<typeof readCurve>>>;

/** Reads one metric of a run, evenly chosen points of it where it has more than `most`. Of a histogram, its mean. */
async function readCurve(
  store: StatsStore,
  run: string,
  { key, points }: { readonly key: string; readonly points: number },
  most: number,
) {
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
    /** Points that the store has, and how many of them this was made from. */
    points,
    read: rows.length,
    /** Of finite values; undefined without any. */
    min: extreme(finite, Math.min),
    max: extreme(finite, Math.max),
    /** The newest, which may be NaN; undefined of texts. */
    last: numberOf(newest),
    lastStep: newest.step,
    notFinite: rows.reduce((sum, { notFinite }) => sum + notFinite, 0),
    /** The newest text, of a metric of texts. */
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

/** At most `most` points of a series, evenly chosen, the last among them. */
export function thinned(series: readonly Point[], most: number): readonly Point[] {
  if (series.length <= most) return series;
  const stride = (series.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, i) => series[Math.round(i * stride)]).filter(
    (point): point is Point => point !== undefined,
  );
}

/** Rows of a section that are shown; the newest of them. */
const MOST_ROWS = 5;

export function showText(shown: Shown, now: number, style: Style): readonly string[] {
  const { colors } = style;
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ["metrics", curveLines(shown.curves, shown.metrics, style)],
    ["hooks", timingLines(shown, style)],
    section(
      colors,
      "evaluations",
      shown.evaluations,
      ["step", "name", "scores"],
      ({ step, name, scores }) => [countText(step), name, listText(scores)],
    ),
    section(
      colors,
      "checkpoints",
      shown.checkpoints,
      ["step", "saved", "path"],
      ({ step, wall, path, uri }) => [
        countText(step),
        dateText(wall),
        uri === undefined ? path : `${path} (${uri})`,
      ],
    ),
    section(colors, "interventions", shown.interventions, ["step", "when", "who", "what"], (row) => [
      countText(row.step),
      dateText(row.wall),
      row.who,
      `${row.what}${row.details === undefined ? "" : ` ${JSON.stringify(row.details)}`}`,
    ]),
    ["health", healthLines(shown, now)],
  ];
  return [
    colors.bold(printable(shown.run.name)),
    ...factLines(shown.run, style).map((line) => `  ${line}`),
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ["", colors.bold(title), ...lines.map((line) => `  ${line}`)],
    ),
  ];
}

function timingLines({ timings, run }: Shown, { colors }: Style): readonly string[] {
  if (timings.length === 0) return [];
  const rows = timings
    .toSorted((a, b) => b.total - a.total)
    .map(({ hook, count, mean, p99, max, total }) => [
      hook,
      countText(count),
      ...[mean, p99, max, total].map(callText),
      run.duration > 0 ? `${((100 * total) / run.duration).toFixed(1)} %` : "",
    ]);
  return headedTable(["hook", "calls", "mean", "p99", "max", "total", "of the run"], rows, colors);
}

const listText = (values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${numberText(value)}`)
    .join(", ");

/** The newest rows of something, and how many there are. */
function section<R>(
  colors: Style["colors"],
  title: string,
  rows: readonly R[],
  heads: readonly string[],
  cells: (row: R) => readonly string[],
): readonly [string, readonly string[]] {
  if (rows.length === 0) return [title, []];
  const shown = rows.slice(-MOST_ROWS);
  const heading =
    rows.length > shown.length ? `${title} (the last ${shown.length} of ${countText(rows.length)})` : title;
  return [heading, headedTable(heads, shown.map(cells), colors)];
}

/** The facts about a run before its metrics, each with its name. */
function factLines(run: RunSummary, { width, colors }: Style): readonly string[] {
  const counted = Object.entries(run.counters).filter(
    ([unit, count]) => count > 0 && unit !== "epoch" && unit !== "seconds",
  );
  const all: readonly (readonly [string, string])[] = [
    ["run", run.id],
    ["outcome", `${outcomeText(run)}${run.reason ? `: ${run.reason.split("\n")[0]}` : ""}`],
    ["started", dateText(run.startedAt)],
    ["duration", durationText(run.duration)],
    ["resumed", run.resumes === 0 ? "" : run.resumes === 1 ? "once" : `${run.resumes} times`],
    ["counters", counted.map(([unit, count]) => amountText(count, unit)).join(", ")],
    ["config", configText(run.config, Math.max(40, width - 14))],
  ];
  const { green, red, yellow } = colors;
  const running = run.silent ? yellow : green;
  const colored = { running, completed: green, stopped: yellow, interrupted: yellow, failed: red }[
    run.outcome
  ];
  return tableLines(
    all.filter(([, text]) => text !== ""),
    { longest: Math.max(200, width) },
  ).map((line) => (line.startsWith("outcome ") ? colored(line) : line));
}

/** Settings in one line: `lr 0.001, net.layers [64,64]`. */
function configText(config: RunSummary["config"], length: number): string {
  const leaves = (value: typeof config, path: string): readonly string[] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([name, part]) => leaves(part, path === "" ? name : `${path}.${name}`))
      : [`${path} ${typeof value === "string" ? value : JSON.stringify(value)}`.trim()];
  return config === null ? "" : cut(leaves(config, "").join(", "), length, "...");
}

/** Columns a curve has where the terminal leaves room, and where it does not. */
const WIDEST = 48;
const NARROWEST = 12;
const LONGEST_KEY = 40;

/** A line for each curve: key, sparkline, least, greatest and last value, and where it ends. */
function curveLines(curves: readonly Curve[], metrics: number, style: Style): readonly string[] {
  if (metrics === 0) return ["no metrics yet"];
  if (curves.length === 0) return notes(curves, metrics, style).map(style.colors.dim);
  const hasUnits = curves.some(({ unit }) => unit !== undefined);
  const headings = ["metric", "min", "max", "last", ...(hasUnits ? ["unit"] : []), "at"];
  const cells = curves.map(({ key, min, max, last, text, unit = "", lastStep, axis }) => [
    cut(printable(key), LONGEST_KEY, "..."),
    valueText(min),
    valueText(max),
    text === undefined ? valueText(last) : cut(printable(text), 30, "..."),
    ...(hasUnits ? [unit] : []),
    amountText(lastStep, axis),
  ]);
  // The indent of the section, and the gap beside the curve.
  const taken = 4 + Math.max(...tableLines([headings, ...cells]).map((line) => line.length));
  const width = Math.max(NARROWEST, Math.min(WIDEST, style.width - taken));
  const rows = cells.map((row, i) =>
    row.toSpliced(1, 0, sparkline(curves[i]?.series ?? [], { width, ascii: style.ascii })),
  );
  return [
    ...headedTable(headings.toSpliced(1, 0, "curve"), rows, style.colors),
    ...notes(curves, metrics, style).map(style.colors.dim),
  ];
}

const valueText = (value: number | undefined): string => (value === undefined ? "" : numberText(value));

function notes(curves: readonly Curve[], metrics: number, { ascii }: Style): readonly string[] {
  const broken = curves.some(({ series }) => series.some(({ value }) => !Number.isFinite(value)));
  const thin = curves.some(({ read, points }) => read < points);
  const others = metrics - curves.length;
  return [
    ...(broken ? [`${notFiniteMark(ascii)} a value that is not finite`] : []),
    ...(thin
      ? ["long curves are drawn from evenly chosen points, the lowest and the highest among them"]
      : []),
    ...(others > 0
      ? [
          `${countText(others)} more ${others === 1 ? "metric" : "metrics"}: --metric KEY shows some, --metric "*" all`,
        ]
      : []),
  ];
}

/** The health of a run: its heartbeat, values that are not finite, counts of monitors. */
function healthLines({ run, curves, health }: Shown, now: number): readonly string[] {
  const broken = curves.filter(({ notFinite }) => notFinite > 0);
  const rows: readonly (readonly string[])[] = [
    ["heartbeat", heartbeatText(run, now)],
    ...(broken.length === 0
      ? []
      : [["not finite", broken.map(({ key, notFinite }) => `${key} ${countText(notFinite)}`).join(", ")]]),
    ...health.map(({ name, value, text, unit, step, axis }) => [
      name,
      `${text ?? (value === undefined ? "" : numberText(value))}${unit ? ` ${unit}` : ""}, at ${amountText(step, axis)}`,
    ]),
  ];
  return tableLines(rows);
}

function heartbeatText({ heartbeat, endedAt }: Shown["run"], now: number): string {
  if (heartbeat === undefined) return "none was filed";
  return endedAt === undefined
    ? `${ageText(now - heartbeat)} ago`
    : `the last one ${ageText(endedAt - heartbeat)} before the end`;
}
