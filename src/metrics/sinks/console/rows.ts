import pc from "picocolors";
import {
  cut,
  cutMiddle,
  numberText,
  padEnd,
  padStart,
  printable,
  singular,
  widthOf,
} from "../../../core/index.ts";
import type { Counters } from "../../../schedule/index.ts";
import type { RunEnding, RunInfo, RunProgress } from "../../run-info.ts";
import { type Chosen, changeOf, type Entry, type ShownWindow, valueText } from "./entries.ts";

/*
 * The output of consoles and log files, as rows of coloured spans:
 *
 *   openingRow    run mnist (mnist-7f3a)
 *   tableRows     step 1000                                        on a terminal
 *                   train   loss  0.4429 ↓   accuracy  0.8500 ↑
 *   lineRow       step 1000  train/loss 0.4429  1.2k steps/s       elsewhere
 *   barRow        steps 3000/4000  ██████░░   75 %    1.2k steps/s     0:01 left
 *   endingRow     completed: 4 epochs, 4000 steps in 3.2 s
 */

export type Paint = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "alarm";

/** A piece of text in one colour. Colours are applied last, so that widths are counted without them. */
export interface Span {
  readonly text: string;
  readonly paint?: Paint;
}

export type ConsoleRow = readonly Span[];

/** Colours and signs. */
export interface Style {
  readonly paint: (span: Span) => string;
  readonly up: string;
  readonly down: string;
  readonly same: string;
  readonly ellipsis: string;
  /** Cells of the bar, from empty to full. */
  readonly cells: readonly string[];
  readonly edges: readonly [string, string];
}

export function styleOf({ color, unicode }: { readonly color: boolean; readonly unicode: boolean }): Style {
  const colors = pc.createColors(color);
  const paint = ({ text, paint: name }: Span): string => {
    // Spaces have no colour: a line that is cut or selected stays clean.
    if (name === undefined || text.trim() === "") return text;
    return name === "alarm" ? colors.bold(colors.red(text)) : colors[name](text);
  };
  return unicode
    ? { paint, up: "↑", down: "↓", same: "=", ellipsis: "…", cells: [..."░▏▎▍▌▋▊▉█"], edges: ["", ""] }
    : { paint, up: "+", down: "-", same: "=", ellipsis: "..", cells: [".", "#"], edges: ["[", "]"] };
}

/** The row as it is written. */
export const painted = (row: ConsoleRow, style: Style): string => row.map(style.paint).join("");

/** Columns that a row takes. */
export const rowWidth = (row: ConsoleRow): number => row.reduce((sum, { text }) => sum + widthOf(text), 0);

const blank = (width: number): Span => ({ text: " ".repeat(width) });
const two = blank(2);

/** The first row of a run: its name, and where it was resumed. */
export function openingRow({ name, id, resumedAt }: RunInfo): ConsoleRow {
  const called = printable(name);
  const which = called === id || called === "" ? "" : ` (${printable(id)})`;
  const resumed = resumedAt === undefined ? "" : `, resumed after ${countersText(resumedAt)}`;
  return [{ text: "run " }, { text: called || printable(id), paint: "bold" }, { text: which + resumed }];
}

const outcomePaints: Readonly<Record<RunEnding["outcome"], Paint>> = {
  completed: "green",
  stopped: "yellow",
  interrupted: "yellow",
  failed: "alarm",
};

/** The last row of a run: how it ended, how far it came, how long it took. */
export function endingRow({ outcome, reason, counters }: RunEnding): ConsoleRow {
  const why = reason === undefined || reason === outcome ? "" : ` (${printable(reason, 1000)})`;
  return [
    { text: outcome, paint: outcomePaints[outcome] },
    { text: `${why}: ${countersText(counters)} in ${secondsText(counters.seconds)}` },
  ];
}

/** The counters of a run in words. Those that are 0 or the same as `steps` are left out. */
function countersText(counters: Counters): string {
  const { epoch: _, epochs, steps, seconds: __, ...others } = counters;
  const rest = Object.entries(others).filter(([, count]) => count !== 0 && count !== steps);
  return [
    ...(epochs > 0 ? [counterText("epochs", epochs)] : []),
    counterText("steps", steps),
    ...rest.map(([unit, count]) => counterText(printable(unit), count)),
  ].join(", ");
}

const counterText = (unit: string, count: number): string =>
  `${numberText(count)} ${count === 1 ? singular(unit) : unit}`;

/** Values of a plain line are cut here. */
const longestValue = 200;

/** Title of a window: `step 1000`. */
const titleOf = ({ axis, step }: ShownWindow): Span => ({
  text: `${singular(printable(axis))} ${step}`,
  paint: "bold",
});

/**
 * A window in one row: `step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s`. Parts are two spaces apart,
 * so that a program can split it.
 */
export function lineRow(window: ShownWindow, chosen: Chosen, progress: RunProgress | undefined): ConsoleRow {
  const parts: Span[][] = [[titleOf(window)], ...chosen.entries.map(linePart)];
  if (chosen.more > 0) parts.push([{ text: `and ${chosen.more} more` }]);
  if (progress?.rate !== undefined) parts.push([{ text: `${rateText(progress.rate)} steps/s` }]);
  return parts.flatMap((part, i) => (i === 0 ? part : [two, ...part]));
}

function linePart({ record, key, unit, alarm, note }: Entry): Span[] {
  const text = cut(valueText(record, { zeros: false }), longestValue, "...");
  const value = unit === "" ? text : `${text} ${unit}`;
  const where = note === undefined ? "" : ` (${note})`;
  if (alarm === undefined) return [{ text: `${key} ${value}${where}` }];
  return [{ text: `${key} ` }, { text: `${value} (! ${alarm})`, paint: "alarm" }, { text: where }];
}

/** Widths of the parts of a cell. They only grow, so that tables stand under each other. */
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

/** A window as a table: a title, a block of cells for each category, and what is not finite. At most `columns` wide. */
export function tableRows(
  window: ShownWindow,
  chosen: Chosen,
  columns: number,
  style: Style,
  widths: Widths,
): readonly ConsoleRow[] {
  widen(widths, chosen.entries);
  const group = Math.min(widths.group, widestGroup, Math.floor(columns / 4));
  const tail = 1 + widths.value + (widths.unit === 0 ? 0 : 1 + widths.unit) + 2;
  const room = columns - indent - group - 2;
  const label = Math.max(1, Math.min(widths.label, widestLabel, room - tail));
  const perRow = Math.max(1, Math.floor((room + gap) / (label + tail + gap)));
  const margin = blank(indent + group + 2);

  const rows: ConsoleRow[] = [[titleOf(window)]];
  for (const entries of byGroup(chosen.entries)) {
    const name = padEnd(cutMiddle(entries[0]?.group ?? "", group, style.ellipsis), group);
    const cells = entries.map((entry) => ({
      row: cell(entry, label, widths, style),
      isAlone: needsRow(entry),
    }));
    for (const [i, row] of packed(cells, perRow).entries())
      rows.push(
        i === 0 ? [blank(indent), { text: name, paint: "cyan" }, blank(2), ...row] : [margin, ...row],
      );
  }
  if (chosen.more > 0) rows.push([margin, { text: `and ${chosen.more} more`, paint: "dim" }]);
  rows.push(...alarmRows(chosen.entries));
  return rows.map((row) => fitted(row, columns, style));
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

/** Texts, histograms and late values do not fit into a cell. */
const needsRow = ({ record, note }: Entry): boolean => typeof record.value !== "number" || note !== undefined;

/** The entries of each category, in the order in which the first of each comes. */
function byGroup(entries: readonly Entry[]): Iterable<readonly Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.group);
    if (group) group.push(entry);
    else groups.set(entry.group, [entry]);
  }
  return groups.values();
}

function cell(entry: Entry, width: number, widths: Widths, style: Style): ConsoleRow {
  const { record, alarm, note } = entry;
  const paint = alarm === undefined ? {} : ({ paint: "alarm" } as const);
  const label: Span = { text: `${padEnd(cutMiddle(entry.label, width, style.ellipsis), width)} ` };
  const unit = cut(entry.unit, widestUnit, style.ellipsis);
  const value = valueText(record, { zeros: true });
  const where: Span = { text: note === undefined ? "" : ` (${note})`, paint: "dim" };
  if (typeof record.value !== "number")
    return [label, { text: unit === "" ? value : `${value} ${unit}`, ...paint }, where];
  const change = changeOf(entry);
  return [
    label,
    { text: padStart(value, widths.value), ...paint },
    alarm === undefined
      ? { text: ` ${change === undefined ? " " : style[change]}`, paint: "dim" }
      : { text: " !", paint: "alarm" },
    { text: widths.unit === 0 ? "" : ` ${padEnd(unit, widths.unit)}` },
    where,
  ];
}

/** Cells side by side, `perRow` of them; those that do not fit into a cell have a row of their own. */
function packed(
  cells: readonly { readonly row: ConsoleRow; readonly isAlone: boolean }[],
  perRow: number,
): readonly ConsoleRow[] {
  const rows: Span[][] = [];
  let free = 0;
  for (const { row, isAlone } of cells) {
    const last = rows.at(-1);
    if (isAlone || free === 0 || last === undefined) rows.push([...row]);
    else last.push(blank(gap), ...row);
    if (isAlone) free = 0;
    else free = free === 0 ? perRow - 1 : free - 1;
  }
  return rows;
}

function alarmRows(entries: readonly Entry[]): readonly ConsoleRow[] {
  const alarmed = entries.filter(({ alarm }) => alarm !== undefined);
  const said = alarmed.slice(0, mostAlarms).map(({ key, alarm }) => `! ${key}: ${alarm}`);
  if (alarmed.length > said.length) said.push(`! and ${alarmed.length - said.length} more not finite`);
  return said.map((text) => [blank(indent), { text, paint: "alarm" }]);
}

/** The row without spaces at its end, cut where it is too wide. */
function fitted(row: ConsoleRow, columns: number, style: Style): ConsoleRow {
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

const narrowestBar = 8;
const widestBar = 40;

/**
 * How far the run is, in one row at most `columns` wide: what is done of what, the bar, the share, the rate, the time
 * left. Where there is little room, first the rate goes, then the bar, then the time. Numbers keep their positions.
 */
export function barRow(progress: RunProgress, columns: number, style: Style): ConsoleRow {
  const { rate, left } = progress;
  const share = shareOf(progress);
  const counter: Span = { text: doneText(progress) };
  const speed: ConsoleRow = rate === undefined ? [] : [{ text: `  ${padStart(rateText(rate), 6)} steps/s` }];
  if (share === undefined) return firstFitting([[counter, ...speed], [counter]], columns);

  const percent: Span = { text: `  ${padStart(String(Math.floor(share * 100)), 3)} %` };
  const time: ConsoleRow =
    left === undefined ? [] : [{ text: `  ${padStart(clockText(left), 7)} left`, paint: "dim" }];
  for (const others of [
    [percent, ...speed, ...time],
    [percent, ...time],
  ]) {
    const room = columns - rowWidth([counter, ...others]) - 2 - style.edges.join("").length;
    if (room >= narrowestBar)
      return [counter, blank(2), ...bar(share, Math.min(room, widestBar), style), ...others];
  }
  return firstFitting([[counter, percent, ...time], [counter, percent], [percent]], columns);
}

function bar(share: number, width: number, { cells, edges }: Style): ConsoleRow {
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

function doneText({ unit, done, total }: RunProgress): string {
  const text = (count: number): string => (unit === "seconds" ? clockText(count) : String(Math.floor(count)));
  const name = printable(unit);
  if (total === undefined || !Number.isFinite(total)) return `${name} ${text(done)}`;
  const all = text(total);
  return `${name} ${padStart(text(done), all.length)}/${all}`;
}

/** The first of the rows that fits; else the last, cut. */
function firstFitting(rows: readonly ConsoleRow[], columns: number): ConsoleRow {
  const found = rows.find((row) => rowWidth(row) <= columns);
  if (found) return found;
  const text = (rows.at(-1) ?? []).map((span) => span.text).join("");
  return [{ text: cut(text.trim(), columns, "") }];
}

const scales = ["", "k", "M", "G", "T"];

/** A rate per second in few characters: `0.25`, `12.3`, `1.2k`, `34.0M`. */
export function rateText(rate: number): string {
  if (!Number.isFinite(rate) || rate < 0) return "?";
  if (rate > 0 && rate < 0.995)
    return rate < 0.001 ? rate.toExponential(0) : String(Number(rate.toPrecision(2)));
  let scaled = rate;
  let scale = 0;
  // 999.96 is written 1000.0, which is 1.0k.
  while (scaled >= 999.95 && scale < scales.length - 1) {
    scaled /= 1000;
    scale++;
  }
  return scaled.toFixed(1) + scales[scale];
}

/** A duration as a clock shows it: `0:07`, `12:34`, `1:02:03`, `2d 03:04`. */
export function clockText(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "?";
  const whole = Math.round(seconds);
  const two = (count: number): string => String(count % 60).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)}d ${String(hours % 24).padStart(2, "0")}:${two(minutes)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole)}` : `${minutes}:${two(whole)}`;
}

/** A duration in seconds, and as a clock shows it where it is long: `12.3 s`, `75.0 s (1:15)`. */
export function secondsText(seconds: number): string {
  if (!Number.isFinite(seconds)) return "an unknown time";
  const text = `${seconds < 0.1 ? numberText(seconds) : seconds.toFixed(1)} s`;
  return seconds < 60 ? text : `${text} (${clockText(seconds)})`;
}
