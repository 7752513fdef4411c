import type { MetricRecord } from "../../record.ts";

/** What JSON has no number for is an object of this one member. Texts stay texts, whatever they say. */
const MARK = "$number";

const isPlain = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0);

const marked = (_name: string, value: unknown): unknown =>
  typeof value !== "number" || isPlain(value)
    ? value
    : { [MARK]: Object.is(value, -0) ? "-0" : String(value) };

const unmarked = (_name: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && MARK in value ? Number(value[MARK]) : value;

/** Whether JSON keeps the record as it is, which is far quicker than looking at every number of it. */
function isPlainRecord({ value, step, counters }: MetricRecord): boolean {
  if (typeof value === "object" || (typeof value === "number" && !isPlain(value)) || !isPlain(step))
    return false;
  for (const unit in counters) if (!isPlain(counters[unit] ?? 0)) return false;
  return true;
}

/** A record as one line of JSON that {@link recordOf} reads back exactly, with NaN, infinity and -0. */
export const lineOf = (record: MetricRecord): string =>
  JSON.stringify(record, isPlainRecord(record) ? undefined : marked);

/** The record of a line. Throws where the line is not one. */
export function recordOf(line: string): MetricRecord {
  const parsed: unknown = JSON.parse(line, line.includes(`"${MARK}"`) ? unmarked : undefined);
  if (typeof parsed !== "object" || parsed === null || !("key" in parsed) || !("step" in parsed))
    throw new SyntaxError("not a record");
  return { unit: undefined, ...parsed } as MetricRecord;
}
