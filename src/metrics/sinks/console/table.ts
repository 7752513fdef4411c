import { cut, cutMiddle, padEnd, padStart, printable, widthOf } from "../../../core/index.ts";
import type { Chosen } from "./choice.ts";
import { type Entry, type Shown, valueText } from "./entry.ts";
import { oneOf } from "./numbers.ts";
import type { Row, Span, Style } from "./style.ts";

/** How wide the parts of a cell are. They only grow, so that tables stand under each other. */
export interface Widths {
  group: number;
  label: number;
  value: number;
  unit: number;
}

export const firstWidths = (): Widths => ({ group: 0, label: 0, value: 8, unit: 0 });

const widestGroup = 12;
const widestLabel = 24;
const widestUnit = 10;
const indent = 2;
const gap = 3;
const mostAlarms = 4;

/** A window as rows: a title, the groups one under the other, and what is not finite. `columns` is never exceeded. */
export function tableRows(
  window: Shown,
  chosen: Chosen,
  columns: number,
  style: Style,
  widths: Widths,
): readonly Row[] {
  widen(widths, chosen.entries);
  const group = Math.min(widths.group, widestGroup, Math.floor(columns / 4));
  const tail = 1 + widths.value + (widths.unit === 0 ? 0 : 1 + widths.unit) + 2;
  const room = columns - indent - group - 2;
  const label = Math.max(1, Math.min(widths.label, widestLabel, room - tail));
  const perRow = Math.max(1, Math.floor((room + gap) / (label + tail + gap)));
  const margin: Span = { text: " ".repeat(indent + group + 2) };

  const rows: Row[] = [[{ text: `${oneOf(printable(window.axis))} ${window.step}`, paint: "bold" }]];
  for (const entries of grouped(chosen.entries)) {
    const cells = entries.map((entry) => ({ row: cell(entry, label, widths, style), own: needsRow(entry) }));
    const lines = packed(cells, perRow);
    const name = padEnd(cutMiddle(entries[0]?.group ?? "", group, style.ellipsis), group);
    lines.forEach((row, i) => {
      const first: Row = [{ text: " ".repeat(indent) }, { text: name, paint: "cyan" }, { text: "  " }];
      rows.push([...(i === 0 ? first : [margin]), ...row]);
    });
  }
  if (chosen.more > 0) rows.push([margin, { text: `and ${chosen.more} more`, paint: "dim" }]);
  rows.push(...alarmRows(chosen.entries));
  return rows.map((row) => fitted(row, columns, style));
}

/** The entries of each category, in the order in which the first of each comes. */
function grouped(entries: readonly Entry[]): Iterable<readonly Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.group);
    if (group) group.push(entry);
    else groups.set(entry.group, [entry]);
  }
  return groups.values();
}

function widen(widths: Widths, entries: readonly Entry[]): void {
  for (const entry of entries) {
    widths.group = Math.max(widths.group, widthOf(entry.group));
    widths.label = Math.max(widths.label, widthOf(entry.label));
    if (needsRow(entry)) continue;
    widths.value = Math.max(widths.value, widthOf(valueText(entry.record, { zeros: true })));
    widths.unit = Math.max(widths.unit, Math.min(widestUnit, widthOf(entry.unit)));
  }
}

/** Whatever does not fit into a cell: texts, histograms, and what belongs elsewhere. */
const needsRow = ({ record, note }: Entry): boolean => typeof record.value !== "number" || note !== undefined;

function cell(entry: Entry, width: number, widths: Widths, style: Style): Row {
  const { record, alarm, note, change } = entry;
  const paint = alarm === undefined ? {} : ({ paint: "alarm" } as const);
  const label: Span = { text: `${padEnd(cutMiddle(entry.label, width, style.ellipsis), width)} ` };
  const unit = cut(entry.unit, widestUnit, style.ellipsis);
  const value = valueText(record, { zeros: true });
  if (typeof record.value !== "number") {
    const where = note === undefined ? "" : ` (${note})`;
    return [label, { text: value + (unit && ` ${unit}`), ...paint }, { text: where, paint: "dim" }];
  }
  return [
    label,
    { text: padStart(value, widths.value), ...paint },
    alarm === undefined
      ? { text: ` ${change === undefined ? " " : style[change]}`, paint: "dim" }
      : { text: " !", paint: "alarm" },
    { text: widths.unit === 0 ? "" : ` ${padEnd(unit, widths.unit)}` },
    ...(note === undefined ? [] : [{ text: ` (${note})`, paint: "dim" } as const]),
  ];
}

/** Cells side by side, `perRow` of them; those that need a row have one. */
function packed(
  cells: readonly { readonly row: Row; readonly own: boolean }[],
  perRow: number,
): readonly Row[] {
  const rows: Span[][] = [];
  let free = 0;
  for (const { row, own } of cells) {
    const last = rows.at(-1);
    if (own || free === 0 || last === undefined) rows.push([...row]);
    else last.push({ text: " ".repeat(gap) }, ...row);
    if (own) free = 0;
    else free = free === 0 ? perRow - 1 : free - 1;
  }
  return rows;
}

function alarmRows(entries: readonly Entry[]): readonly Row[] {
  const alarmed = entries.filter(({ alarm }) => alarm !== undefined);
  const said = alarmed.slice(0, mostAlarms).map(({ key, alarm }) => `! ${key}: ${alarm}`);
  if (alarmed.length > said.length) said.push(`! and ${alarmed.length - said.length} more not finite`);
  return said.map((text) => [{ text: " ".repeat(indent) }, { text, paint: "alarm" }]);
}

/** The row without spaces at its end, cut where it is too wide. */
function fitted(row: Row, columns: number, style: Style): Row {
  const fit: Span[] = [];
  let left = columns;
  for (const span of row) {
    const text = cut(span.text, left, style.ellipsis);
    fit.push({ ...span, text });
    left -= widthOf(text);
    if (text !== span.text) break;
  }
  while (fit.at(-1)?.text.trim() === "") fit.pop();
  const last = fit.pop();
  return last === undefined ? [] : [...fit, { ...last, text: last.text.trimEnd() }];
}
