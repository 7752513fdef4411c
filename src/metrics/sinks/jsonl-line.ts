import type { Counters } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";

/** JSON has no word for NaN and infinity: they are texts. */
function numeral(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? "-0" : String(value);
}

function filed({ value }: MetricRecord): string {
  if (typeof value === "number") return `"value":${numeral(value)}`;
  return typeof value === "string" ? `"text":${JSON.stringify(value)}` : `"histogram":${objectOf(value)}`;
}

/** What is no number in JSON is a text; counters are never -0, and JSON.stringify is the faster. */
const inWords = (_name: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;

/** As JSON.stringify, which has no -0. */
const objectOf = (numbers: object): string =>
  `{${Object.entries(numbers)
    .map(([name, value]: [string, number | readonly number[]]) => {
      const text = typeof value === "number" ? numeral(value) : `[${value.map(numeral).join(",")}]`;
      return `${JSON.stringify(name)}:${text}`;
    })
    .join(",")}}`;

/** What is the same for all records of a metric comes first, so that it is put into words once. */
function beginningOf({ key, category, name, unit, axis, reduction }: MetricRecord): string {
  return JSON.stringify({ key, category, name, unit, axis, reduction }).slice(0, -1);
}

/** Writes records as lines of JSON. Keeps what is the same from line to line. */
export function jsonlWriter(): (record: MetricRecord) => string {
  const beginnings = new Map<string, { readonly of: MetricRecord; readonly text: string }>();
  let last: { readonly counters: Counters; readonly text: string } | undefined;
  return (record) => {
    let beginning = beginnings.get(record.key);
    if (!beginning || !isSameMetric(beginning.of, record)) {
      beginning = { of: record, text: beginningOf(record) };
      beginnings.set(record.key, beginning);
    }
    const { step, counters, count, notFinite, wall } = record;
    if (last?.counters !== counters) last = { counters, text: JSON.stringify(counters, inWords) };
    return (
      `${beginning.text},"step":${numeral(step)},${filed(record)},"count":${count},"notFinite":${notFinite},` +
      `"wall":${numeral(wall)},"counters":${last.text}}\n`
    );
  };
}

const isSameMetric = (one: MetricRecord, other: MetricRecord): boolean =>
  one.name === other.name &&
  one.category === other.category &&
  one.unit === other.unit &&
  one.axis === other.axis &&
  one.reduction === other.reduction;
