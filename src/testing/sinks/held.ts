import { EspalierError } from "../../core/index.ts";
import type { Histogram, MetricRecord } from "../../metrics/index.ts";

/** A value as a sink's own reader finds it. */
export interface HeldValue {
  readonly key: string;
  /** Left out by sinks that do not keep it. */
  readonly step?: number;
  readonly value: number | string | Histogram;
}

/** What a sink can hold. Default: numbers, all of them, as they are. */
export interface SinkKeeps {
  readonly texts?: boolean;
  readonly histograms?: boolean;
  /** Only the newest value of each metric. */
  readonly newestOnly?: boolean;
  /** False where a value does not tell its step. */
  readonly steps?: boolean;
  /** False where nothing is left once the process has ended. */
  readonly resumes?: boolean;
  /** False where a value of an earlier step cannot be filed under it. */
  readonly late?: boolean;
  /** False where what was filed cannot be removed when a run is resumed. What comes again must still stand once. */
  readonly forgets?: boolean;
  /** What becomes of a number: `Math.fround` where it is kept in single precision. Default itself. */
  readonly number?: (value: number) => number;
}

/** What of the records a sink should hold, in their order. */
export function expected(records: readonly MetricRecord[], keeps: SinkKeeps): HeldValue[] {
  const held = records.filter(
    ({ value }) =>
      typeof value === "number" || (typeof value === "string" ? keeps.texts : keeps.histograms) === true,
  );
  return (keeps.newestOnly ? newest(held) : held).map(({ key, step, value }) => ({
    key,
    ...(keeps.steps !== false && { step }),
    value: typeof value === "number" ? (keeps.number?.(value) ?? value) : value,
  }));
}

function newest(records: readonly MetricRecord[]): MetricRecord[] {
  const byKey = new Map<string, MetricRecord>();
  for (const record of records)
    if (record.step >= (byKey.get(record.key)?.step ?? Number.NEGATIVE_INFINITY))
      byKey.set(record.key, record);
  return [...byKey.values()];
}

const shown = (values: readonly HeldValue[]): string[] =>
  values.map(({ key, step, value }) => {
    const number = Object.is(value, -0) ? "-0" : String(value);
    return `${key}${step === undefined ? "" : ` @${step}`} = ${typeof value === "object" ? JSON.stringify(value) : number}`;
  });

const byKey = (values: readonly HeldValue[]): HeldValue[] =>
  values.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));

/** Checks that a sink holds these values and no others, each metric's in this order. */
export function sameInOrder(found: readonly HeldValue[], wanted: readonly HeldValue[], what: string): void {
  const [is, should] = [shown(byKey(found)), shown(byKey(wanted))];
  const at = should.findIndex((text, i) => text !== is[i]);
  if (at < 0 && is.length === should.length) return;
  const place = at < 0 ? should.length : at;
  throw new EspalierError(
    "CONFORMANCE",
    `${what}: of ${is.length} values number ${place} is ${is[place] ?? "missing"}, where of ${should.length} ` +
      `${should[place] ?? "none"} was expected`,
  );
}

const byStep = (values: readonly HeldValue[]): HeldValue[] =>
  values.toSorted((a, b) => (a.step ?? 0) - (b.step ?? 0));

/** The same, in the order of their steps: for those that a sink may file in between. */
export const same = (found: readonly HeldValue[], wanted: readonly HeldValue[], what: string): void =>
  sameInOrder(byStep(found), byStep(wanted), what);
