import { printable } from "../../../core/index.ts";
import { countText, numberText } from "../text/numbers.ts";
import type { Style } from "../text/style.ts";
import { headedTable } from "../text/table.ts";
import { callText, dateText } from "../text/times.ts";
import { curveLines } from "./curves-text.ts";
import { factLines } from "./facts-text.ts";
import { healthLines } from "./health-text.ts";
import type { Shown } from "./read.ts";

/** Rows of a section that are shown; the newest of them. */
const MOST_ROWS = 5;

/** What `espalier show` prints. */
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
