import { cut, printable } from "../../../core/index.ts";
import type { MetricRow } from "../../../metrics/index.ts";
import { byInterest } from "../choose-metrics.ts";
import { numberOf } from "../show/curve.ts";
import { numberText } from "../text/numbers.ts";
import type { Style } from "../text/style.ts";
import { timeText } from "../text/times.ts";

/** Values of one line. */
const MOST_VALUES = 8;

/** A line for all values of one category that were filed together: `12:03:45  train  updates 1200  loss 0.5`. */
export function tailLines(rows: readonly MetricRow[], { colors }: Pick<Style, "colors">): readonly string[] {
  const groups = new Map<string, MetricRow[]>();
  for (const row of rows) {
    const where = JSON.stringify([row.wall, row.category, row.axis, row.step]);
    const group = groups.get(where);
    if (group) group.push(row);
    else groups.set(where, [row]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const shown = byInterest(group).slice(0, MOST_VALUES);
    const more = group.length - shown.length;
    return [
      [
        colors.dim(timeText(first.wall)),
        printable(first.category),
        colors.dim(`${printable(first.axis)} ${first.step}`),
        ...shown.map((row) => `${printable(row.name)} ${valueText(row)}`),
        ...(more > 0 ? [`and ${more} more`] : []),
      ].join("  "),
    ];
  });
}

function valueText(row: MetricRow): string {
  const value = numberOf(row);
  return value === undefined ? cut(printable(row.text ?? ""), 60, "...") : numberText(value);
}
