import { cut, padStart, printable } from "../../../core/index.ts";
import type { RunProgress } from "../../run-info.ts";
import { durationText, rateText } from "./numbers.ts";
import { type Row, rowWidth, type Span, type Style } from "./style.ts";

const narrowest = 8;
const widest = 40;

/**
 * How far the run is, in one row no wider than `columns`: what is done of what, the bar, the share, the rate, the time
 * left. Where there is little room, first the rate goes, then the bar, then the time. Numbers keep their places.
 */
export function barRow(progress: RunProgress, columns: number, style: Style): Row {
  const share = shareOf(progress);
  const counter: Span = { text: counterText(progress) };
  const rate: Span[] =
    progress.rate === undefined ? [] : [{ text: `  ${padStart(rateText(progress.rate), 6)} steps/s` }];
  if (share === undefined) return fitting([[counter, ...rate], [counter]], columns);

  const percent: Span = { text: `  ${padStart(String(Math.floor(share * 100)), 3)} %` };
  const left: Span[] =
    progress.left === undefined
      ? []
      : [{ text: `  ${padStart(durationText(progress.left), 7)} left`, paint: "dim" }];
  for (const others of [
    [percent, ...rate, ...left],
    [percent, ...left],
  ]) {
    const room = columns - rowWidth([counter, ...others]) - 2 - style.edges.join("").length;
    if (room >= narrowest)
      return [counter, { text: "  " }, ...bar(share, Math.min(room, widest), style), ...others];
  }
  return fitting([[counter, percent, ...left], [counter, percent], [percent]], columns);
}

function bar(share: number, width: number, { cells, edges }: Style): Row {
  const parts = cells.length - 1;
  const filled = Math.floor(share * width * parts);
  const whole = Math.floor(filled / parts);
  const part = whole < width ? filled % parts : 0;
  const full = (cells[parts] ?? "").repeat(whole) + (part > 0 ? (cells[part] ?? "") : "");
  const empty = (cells[0] ?? "").repeat(width - whole - (part > 0 ? 1 : 0));
  return [
    { text: edges[0] },
    { text: full, paint: "green" },
    { text: empty, paint: "dim" },
    { text: edges[1] },
  ];
}

/** The share that is done, from 0 to 1. */
function shareOf({ done, total }: RunProgress): number | undefined {
  if (total === undefined || !Number.isFinite(total)) return undefined;
  if (total <= 0) return 1;
  return Math.min(1, Math.max(0, done / total || 0));
}

function counterText({ unit, done, total }: RunProgress): string {
  const text = (count: number): string =>
    unit === "seconds" ? durationText(count) : String(Math.floor(count));
  const name = printable(unit);
  if (total === undefined || !Number.isFinite(total)) return `${name} ${text(done)}`;
  const all = text(total);
  return `${name} ${padStart(text(done), all.length)}/${all}`;
}

/** The first of the rows that fits; the last is cut. */
function fitting(rows: readonly Row[], columns: number): Row {
  const found = rows.find((row) => rowWidth(row) <= columns);
  return (
    found ?? [
      {
        text: cut(
          (rows.at(-1) ?? [])
            .map(({ text }) => text)
            .join("")
            .trim(),
          columns,
          "",
        ),
      },
    ]
  );
}
