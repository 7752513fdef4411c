import { amountText, countText, numberText } from "../text/numbers.ts";
import { plain, shortened } from "../text/plain.ts";
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
  const words = curves.map((curve) => {
    const { min, max, last, text, unit, lastStep, axis } = curve;
    const value = (number: number | undefined): string => (number === undefined ? "" : numberText(number));
    return {
      key: shortened(plain(curve.key), LONGEST_KEY),
      values: [value(min), value(max), text === undefined ? value(last) : shortened(plain(text), 30)],
      place: `${unit ? `${unit}  ` : ""}${amountText(lastStep, axis)}`,
    };
  });
  const heads = ["min", "max", "last", "at"];
  const widest = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length));
  const taken =
    widest(["metric", ...words.map(({ key }) => key)]) +
    heads.reduce(
      (sum, head, i) => sum + 2 + widest([head, ...words.map(({ values, place }) => values[i] ?? place)]),
      2,
    );
  const width = Math.max(NARROWEST, Math.min(WIDEST, style.width - taken));
  const rows = curves.map(({ series }, i) => [
    words[i]?.key ?? "",
    sparkline(series, { width, ascii: style.ascii }),
    ...(words[i]?.values ?? []),
    words[i]?.place ?? "",
  ]);
  return [
    ...headedTable(["metric", "curve", ...heads], rows, style.colors),
    ...notes(curves, metrics, style).map(style.colors.dim),
  ];
}

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
