import type { Counters } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import { type FileSinkOptions, lineFile, type WholeLine } from "./files.ts";
import { numeral, type Sink } from "./sink.ts";

/**
 * A file with one line of JSON for each metric and window:
 *
 * ```json
 * {"key":"train/loss","category":"train","name":"loss","unit":"nats","axis":"steps","reduction":"mean","step":100,
 *  "value":0.25,"count":100,"notFinite":0,"wall":1700000000000,"counters":{"epoch":0,"steps":100}}
 * ```
 *
 * (in one line). Numbers that JSON does not have are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. A text
 * stands under `text` and a histogram under `histogram`, instead of `value`. `unit` is missing where there is none.
 * Each line is in the file when training goes on. When a run is resumed, the lines after that point are removed: they
 * come again. A new run begins a new file: that of the run before is kept as `metrics.1.jsonl`, the next as
 * `metrics.2.jsonl`.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [jsonlSink("run/metrics.jsonl")] });
 * ```
 */
export function jsonlSink(path: string, options: FileSinkOptions = {}): Sink {
  const { files: _, ...general } = options;
  const file = lineFile("jsonlSink", path, options);
  const lineOf = lineWriter();
  return {
    ...general,
    name: general.name ?? "jsonl",
    path: file.path,
    open(run) {
      file.open();
      file.rewind(run, positionOf);
    },
    write(records) {
      if (records.length > 0) file.append(records.map(lineOf).join(""));
    },
    close() {
      file.close();
    },
  };
}

/** The step and axis of a line. Undefined for a line that another program wrote. */
function positionOf({ text }: WholeLine): { readonly step: number; readonly axis: string } | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null || !("step" in parsed && "axis" in parsed)) return;
    const { step, axis } = parsed;
    return typeof step === "number" && typeof axis === "string" ? { step, axis } : undefined;
  } catch {
    return undefined;
  }
}

/** Encodes records as lines of JSON. Keeps the text of what is the same from line to line. */
function lineWriter(): (record: MetricRecord) => string {
  const beginnings = new Map<string, { readonly of: MetricRecord; readonly text: string }>();
  let end: { readonly counters: Counters; readonly wall: number; readonly text: string } | undefined;
  return (record) => {
    let beginning = beginnings.get(record.key);
    if (!beginning || !isSameMetric(beginning.of, record)) {
      beginning = { of: record, text: beginningOf(record) };
      beginnings.set(record.key, beginning);
    }
    const { step, counters, count, notFinite, wall } = record;
    if (end?.counters !== counters || end.wall !== wall) {
      const text = `"wall":${jsonNumeral(wall)},"counters":${JSON.stringify(counters, notFiniteAsText)}}\n`;
      end = { counters, wall, text };
    }
    return (
      `${beginning.text},"step":${jsonNumeral(step)},${valueMember(record)},"count":${count},` +
      `"notFinite":${notFinite},${end.text}`
    );
  };
}

const isSameMetric = (one: MetricRecord, other: MetricRecord): boolean =>
  one.name === other.name &&
  one.category === other.category &&
  one.unit === other.unit &&
  one.axis === other.axis &&
  one.reduction === other.reduction;

/** The members that are the same for all records of a metric. */
const beginningOf = ({ key, category, name, unit, axis, reduction }: MetricRecord): string =>
  JSON.stringify({ key, category, name, unit, axis, reduction }).slice(0, -1);

function valueMember({ value }: MetricRecord): string {
  if (typeof value === "number") return `"value":${jsonNumeral(value)}`;
  if (typeof value === "string") return `"text":${JSON.stringify(value)}`;
  const members = Object.entries(value).map(([name, part]: [string, number | readonly number[]]) => {
    const text = typeof part === "number" ? jsonNumeral(part) : `[${part.map(jsonNumeral).join(",")}]`;
    return `${JSON.stringify(name)}:${text}`;
  });
  return `"histogram":{${members.join(",")}}`;
}

/** A number in JSON; NaN and infinity as texts. */
const jsonNumeral = (value: number): string => (Number.isFinite(value) ? numeral(value) : `"${value}"`);

/** Counters are never -0, and JSON.stringify is faster. */
const notFiniteAsText = (_name: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
