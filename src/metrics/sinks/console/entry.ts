import { printable } from "../../../core/index.ts";
import { isHistogram, isScalar, type MetricRecord } from "../../record.ts";
import { oneOf, significant } from "./numbers.ts";

/** A record as it is shown. All texts are printable. */
export interface Entry {
  readonly record: MetricRecord;
  /** Its category and its name within it. */
  readonly group: string;
  readonly label: string;
  readonly key: string;
  readonly unit: string;
  /** Against the window before. */
  readonly change: "up" | "down" | "same" | undefined;
  /** What is wrong with its numbers. */
  readonly alarm: string | undefined;
  /** It belongs to a window before this one. */
  readonly late: boolean;
  /** Where it belongs, if not to the step of its window. */
  readonly note: string | undefined;
}

/** What one window holds: the point it ends at, and its records. */
export interface Shown {
  readonly axis: string;
  readonly step: number;
  readonly entries: readonly Entry[];
}

/**
 * Follows a run's windows, to say what changed and what came late. Records that had to wait come many windows at a
 * time: they are taken apart by when their windows were closed, and where a metric goes on. What is not reduced, as
 * scores are, is shown by the step it belongs to.
 */
export function followWindows(): (records: readonly MetricRecord[]) => readonly Shown[] {
  const before = new Map<string, MetricRecord>();
  return (records) => shownTogether(records).map((window) => followed(window, before));
}

/** Records that are shown together, in order: windows, and scores of one step; both where a window ends at that step. */
function shownTogether(records: readonly MetricRecord[]): readonly (readonly MetricRecord[])[] {
  const windows = windowsOf(records.filter(({ reduction }) => reduction !== "none"));
  const places = new Map<MetricRecord, number>(records.map((record, i) => [record, i]));
  const parts = windows.map((of) => ({ of, place: places.get(of.at(-1) as MetricRecord) ?? 0 }));
  const endings = new Map(windows.map((of) => [momentOf(lastOf(of)), of]));
  for (const [place, record] of records.entries()) {
    if (record.reduction !== "none") continue;
    const moment = momentOf(record);
    const known = endings.get(moment);
    if (known) known.push(record);
    else {
      const of = [record];
      endings.set(moment, of);
      parts.push({ of, place });
    }
  }
  return parts.sort((a, b) => a.place - b.place).map(({ of }) => of);
}

const momentOf = ({ wall, axis, step }: MetricRecord): string => `${wall} ${step} ${axis}`;

/** The record at the step that a window is shown under. */
function lastOf(window: readonly MetricRecord[]): MetricRecord {
  const axis = axisOf(window);
  const onAxis = window.filter((record) => record.axis === axis);
  return onAxis.reduce((last, record) => (record.step > last.step ? record : last));
}

const axisOf = (window: readonly MetricRecord[]): string =>
  window.some(({ axis }) => axis === "steps") ? "steps" : (window[0]?.axis ?? "steps");

function windowsOf(records: readonly MetricRecord[]): MetricRecord[][] {
  const windows: MetricRecord[][] = [];
  const steps = new Map<string, number>();
  for (const record of records) {
    const window = windows.at(-1);
    const goesOn = record.step > (steps.get(record.key) ?? Number.POSITIVE_INFINITY);
    if (window?.[0]?.wall === record.wall && !goesOn) window.push(record);
    else {
      windows.push([record]);
      steps.clear();
    }
    steps.set(record.key, record.step);
  }
  return windows;
}

function followed(records: readonly MetricRecord[], before: Map<string, MetricRecord>): Shown {
  const newest = new Map<string, MetricRecord>();
  for (const record of records)
    if (record.step >= (newest.get(record.key)?.step ?? Number.NEGATIVE_INFINITY))
      newest.set(record.key, record);
  const { axis, step } = lastOf(records);
  const entries = records.map((record) => {
    const last = before.get(record.key);
    const late = newest.get(record.key) !== record || (last !== undefined && record.step < last.step);
    return {
      record,
      group: printable(record.category),
      label: labelOf(record),
      key: printable(record.key),
      unit: printable(record.unit ?? ""),
      change: late ? undefined : changeOf(last, record),
      alarm: alarmOf(record),
      late,
      note: noteOf(record, late, { axis, step }),
    };
  });
  for (const { record, late } of entries) if (!late) before.set(record.key, record);
  return { axis, step, entries };
}

function noteOf(
  record: MetricRecord,
  late: boolean,
  shown: { readonly axis: string; readonly step: number },
): string | undefined {
  const { axis, step, reduction } = record;
  const place = `${oneOf(printable(axis))} ${step}`;
  // A score stands under its own step, which says enough.
  if (reduction === "none" && axis === shown.axis && step === shown.step) return undefined;
  return late ? `late, ${place}` : axis === shown.axis ? undefined : place;
}

/** The value in words: a number, a text, or what a histogram comes to. */
export function valueText({ value }: MetricRecord, options: { readonly zeros: boolean }): string {
  if (typeof value === "number") return significant(value, options);
  if (typeof value === "string") return `"${printable(value)}"`;
  if (value.count === 0) return "no values";
  const [mean, min, max] = [value.sum / value.count, value.min, value.max].map((number) =>
    significant(number, { zeros: false }),
  );
  return `mean ${mean} in [${min}, ${max}]`;
}

function labelOf({ category, name, key }: MetricRecord): string {
  const prefix = `${category}/`;
  return printable(key.startsWith(prefix) ? key.slice(prefix.length) : name);
}

/** Changes that cannot be read off the four digits are none. */
function changeOf(last: MetricRecord | undefined, now: MetricRecord): Entry["change"] {
  if (!last || !isScalar(last) || !isScalar(now)) return undefined;
  if (!Number.isFinite(last.value) || !Number.isFinite(now.value)) return undefined;
  if (significant(last.value, { zeros: true }) === significant(now.value, { zeros: true })) return "same";
  return now.value > last.value ? "up" : "down";
}

function alarmOf(record: MetricRecord): string | undefined {
  if (record.notFinite > 0) return `${record.notFinite} of ${record.count} values not finite`;
  if (isScalar(record) && !Number.isFinite(record.value)) return "not finite";
  return isHistogram(record) && !Number.isFinite(record.value.sum) ? "not finite" : undefined;
}
