import { numberText, printable, singular } from "../../../core/index.ts";
import { matcherOf } from "../../metric.ts";
import { isHistogram, isScalar, type MetricRecord } from "../../record.ts";

/** A record as it is shown. All texts are printable. */
export interface Entry {
  readonly record: MetricRecord;
  /** Its category and its name within it. */
  readonly group: string;
  readonly label: string;
  readonly key: string;
  readonly unit: string;
  /** The same metric in the window before. Undefined where there is none, or where this value is late. */
  readonly last: MetricRecord | undefined;
  /** A problem with its numbers: "not finite". */
  readonly alarm: string | undefined;
  /** It belongs to a window before this one. */
  readonly late: boolean;
  /** The step it belongs to, if not that of its window. */
  readonly note: string | undefined;
}

/** The entries of one window, and the point at which it ends. */
export interface ShownWindow {
  readonly axis: string;
  readonly step: number;
  readonly entries: readonly Entry[];
}

/**
 * Follows the windows of a run, to show what changed and what came late. Records that had to wait come many windows at
 * a time: they are separated by when their windows were flushed, and where a metric goes on. Metrics that are not
 * reduced, as scores, are shown by the step they belong to.
 */
export function followWindows(): (records: readonly MetricRecord[]) => readonly ShownWindow[] {
  /** The newest of each metric by key, whose texts serve those after it. */
  const before = new Map<string, Entry>();
  return (records) => shownTogether(records).map((window) => followed(window, before));
}

/** Groups of records that are shown together, in order: windows, and scores of one step; both where a window ends there. */
function shownTogether(records: readonly MetricRecord[]): readonly (readonly MetricRecord[])[] {
  const reduced = records.filter(({ reduction }) => reduction !== "none");
  const windows = windowsOf(reduced);
  if (reduced.length === records.length) return windows;
  const indices = new Map<MetricRecord, number>(records.map((record, i) => [record, i]));
  const groups = windows.map((members) => ({ members, order: indices.get(lastIn(members)) ?? 0 }));
  const endings = new Map(windows.map((members) => [momentOf(endOf(members)), members]));
  for (const [order, record] of records.entries()) {
    if (record.reduction !== "none") continue;
    const moment = momentOf(record);
    const known = endings.get(moment);
    if (known) known.push(record);
    else {
      const members: [MetricRecord] = [record];
      endings.set(moment, members);
      groups.push({ members, order });
    }
  }
  return groups.sort((a, b) => a.order - b.order).map(({ members }) => members);
}

type Members = [MetricRecord, ...MetricRecord[]];

function windowsOf(records: readonly MetricRecord[]): Members[] {
  const windows: Members[] = [];
  const steps = new Map<string, number>();
  for (const record of records) {
    const window = windows.at(-1);
    const goesOn = record.step > (steps.get(record.key) ?? Number.POSITIVE_INFINITY);
    if (window?.[0].wall === record.wall && !goesOn) window.push(record);
    else {
      windows.push([record]);
      steps.clear();
    }
    steps.set(record.key, record.step);
  }
  return windows;
}

const lastIn = (members: Members): MetricRecord => members.at(-1) ?? members[0];

const momentOf = ({ wall, axis, step }: MetricRecord): string => `${wall} ${step} ${axis}`;

/** The record with the greatest step, on the axis `steps` where there is one. */
function endOf(records: readonly MetricRecord[]): MetricRecord {
  const axis = records.some((record) => record.axis === "steps") ? "steps" : records[0]?.axis;
  return records
    .filter((record) => record.axis === axis)
    .reduce((last, record) => (record.step > last.step ? record : last));
}

function followed(records: readonly MetricRecord[], before: Map<string, Entry>): ShownWindow {
  const newest = new Map<string, MetricRecord>();
  for (const record of records)
    if (record.step >= (newest.get(record.key)?.step ?? Number.NEGATIVE_INFINITY))
      newest.set(record.key, record);
  const { axis, step } = endOf(records);
  const entries = records.map((record): Entry => {
    const known = before.get(record.key);
    const { group, label, key, unit } = known ?? textsOf(record);
    const late =
      newest.get(record.key) !== record || (known !== undefined && record.step < known.record.step);
    const [last, note] = [late ? undefined : known?.record, noteOf(record, late, axis, step)];
    return { record, group, label, key, unit, last, alarm: alarmOf(record), late, note };
  });
  for (const entry of entries) if (!entry.late) before.set(entry.record.key, entry);
  return { axis, step, entries };
}

function textsOf({ category, name, key, unit = "" }: MetricRecord) {
  const prefix = `${category}/`;
  const label = printable(key.startsWith(prefix) ? key.slice(prefix.length) : name);
  return { group: printable(category), label, key: printable(key), unit: printable(unit) };
}

/** Changes that cannot be seen in four digits are none. */
export function changeOf({ last, record: now }: Entry): "up" | "down" | "same" | undefined {
  if (!last || !isScalar(last) || !isScalar(now)) return undefined;
  if (!Number.isFinite(last.value) || !Number.isFinite(now.value)) return undefined;
  const zeros = { zeros: true };
  if (numberText(last.value, zeros) === numberText(now.value, zeros)) return "same";
  return now.value > last.value ? "up" : "down";
}

function alarmOf(record: MetricRecord): string | undefined {
  if (record.notFinite > 0) return `${record.notFinite} of ${record.count} values not finite`;
  if (isScalar(record) && !Number.isFinite(record.value)) return "not finite";
  return isHistogram(record) && !Number.isFinite(record.value.sum) ? "not finite" : undefined;
}

function noteOf(record: MetricRecord, late: boolean, axis: string, step: number): string | undefined {
  const isOnAxis = record.axis === axis;
  // A score stands under its own step, which says enough.
  if (isOnAxis && (!late || (record.reduction === "none" && record.step === step))) return undefined;
  const position = `${singular(printable(record.axis))} ${record.step}`;
  return late ? `late, ${position}` : position;
}

/** The value as text: a number, a text in quotes, or mean and range of a histogram. */
export function valueText({ value }: MetricRecord, options: { readonly zeros: boolean }): string {
  if (typeof value === "number") return numberText(value, options);
  if (typeof value === "string") return `"${printable(value)}"`;
  if (value.count === 0) return "no values";
  const mean = numberText(value.sum / value.count);
  return `mean ${mean} in [${numberText(value.min)}, ${numberText(value.max)}]`;
}

/** Options of {@link chooser}. */
export interface ChooserOptions {
  /** Patterns of metrics that are shown before all others, and always. */
  readonly important: readonly string[];
  /** Metrics shown in all. */
  readonly limit: number;
  /** Categories that are left out, except for what is important. Default: none. */
  readonly leftOut?: readonly string[];
}

/** The entries of a window that are shown. */
export interface Chosen {
  readonly entries: readonly Entry[];
  /** Number of entries left out. */
  readonly more: number;
}

export type Chooser = (entries: readonly Entry[]) => Chosen;

/**
 * Chooses what is shown: what the user calls important, the loss, scores of validation, of evaluation and of episodes,
 * then the others: training, rollouts, and last the rest. A metric that is not finite is never left out for one that is.
 * The order is the same whatever the values are.
 */
export function chooser({ important, limit, leftOut = [] }: ChooserOptions): Chooser {
  const match = matcherOf(important, "important");
  /** By key, because matching takes as long as all the rest. */
  const standings = new Map<string, { readonly asked: number | undefined; readonly rank: number }>();
  const standingOf = (record: MetricRecord) => {
    const standing = standings.get(record.key) ?? { asked: match(record), rank: rankOf(record) };
    standings.set(record.key, standing);
    return standing;
  };
  return (entries) => {
    const ranked = entries.flatMap((entry) => {
      const { asked, rank } = standingOf(entry.record);
      if (asked === undefined && leftOut.includes(entry.record.category)) return [];
      const own = entry.late ? latest : rank;
      return { entry, asked, rank: asked === undefined ? own : asked - important.length };
    });
    const urgency = ({ entry, rank }: (typeof ranked)[number]): number =>
      entry.alarm !== undefined && rank > 0 ? 0.5 : rank;
    const room = Math.max(limit, ranked.filter(({ asked }) => asked !== undefined).length);
    // Sorting keeps what is equal in its order.
    const urgent = ranked.length > room && ranked.toSorted((a, b) => urgency(a) - urgency(b)).slice(0, room);
    const chosen = urgent ? ranked.filter((each) => urgent.includes(each)) : ranked;
    chosen.sort((a, b) => a.rank - b.rank);
    return { entries: chosen.map(({ entry }) => entry), more: ranked.length - chosen.length };
  };
}

const validation = /^(val|valid|validation|eval|evaluation|test)\b/i;

/** Categories about the machine and about speed: they say nothing of how good the model is. */
export const machineCategories: readonly string[] = ["system", "time"];

/** The rank of late values, behind all others. */
const latest = 5;

function rankOf({ category, name, value }: MetricRecord): number {
  if (/(^|\/)loss$/i.test(name)) return validation.test(category) ? 1 : 0;
  if (validation.test(category)) return /^eval/i.test(category) ? 2.5 : 2;
  if (typeof value !== "number") return 4.5;
  if (category === "rollout") return name === "episode.return" ? 2.7 : 3.7;
  if (/loss/i.test(name)) return 3;
  return category === "train" ? 3.5 : 4;
}
