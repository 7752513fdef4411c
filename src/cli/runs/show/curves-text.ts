import { cut, printable } from "../../../core/index.ts";
import { columns } from "../../columns.ts";
import { amountText, countText, numberText } from "../text/numbers.ts";
import { notFiniteMark, sparkline } from "../text/sparkline.ts";
import type { Style } from "../text/style.ts";
import { headedTable } from "../text/table.ts";
import type { Curve } from "./curve.ts";

/** Columns a curve has where the terminal leaves room, and where it does not. */
const WIDEST = 48;
const NARROWEST = 12;
const LONGEST_KEY = 40;

/** A line for each curve: key, sparkline, least, greatest and last value, and where it ends. */
export function curveLines(curves: readonly Curve[], metrics: number, style: Style): readonly string[] {
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
  const taken = 4 + Math.max(...columns([headings, ...cells]).map((line) => line.length));
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

/** What the lines do not say themselves. */
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
