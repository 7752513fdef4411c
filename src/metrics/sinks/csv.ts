import { EspalierError } from "../../core/index.ts";
import type { MetricRecord } from "../record.ts";
import { type FileSinkOptions, type LineFile, lineFile, type WholeLine } from "./files.ts";
import { numeral, rowsOf, type Sink, type StepRow } from "./sink.ts";

/** Columns before the metrics. */
const FIRST = ["step", "axis", "wall"] as const;

/**
 * A wide table: a row for each step of a call, a column for each metric, named by its key. The first three columns
 * are the step, what it counts (`steps`, `epochs`, ...) and the time in ISO format. A field is empty where a metric
 * had no value; numbers that are not finite are `NaN`, `Infinity` and `-Infinity`; texts always stand in quotes;
 * histograms are left out. Quotes, commas and ends of lines are as RFC 4180 has them, lines end with `\n`.
 *
 * A metric that appears later gets a column at the end: the file is then rewritten, once a call. A value that comes
 * late has a row of its own, with its own step. When a run is resumed, the rows after that point are removed: they
 * come again. A new run begins a new file: that of the run before is kept as `metrics.1.csv`, the next as
 * `metrics.2.csv`. Names and texts are data: a spreadsheet that takes `=1+1` for a formula must be told not to.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [csvSink("run/metrics.csv", { categories: ["eval"] })] });
 * ```
 */
export function csvSink(path: string, options: FileSinkOptions = {}): Sink {
  const { files: _, ...general } = options;
  const file = lineFile("csvSink", path, options);
  let columns: ReadonlySet<string> = new Set();
  return {
    ...general,
    name: general.name ?? "csv",
    path: file.path,
    open(run) {
      file.open();
      columnsIn(file);
      file.rewind(run, positionOf, csvRows);
      columns = columnsIn(file);
    },
    write(records) {
      const rows = rowsOf(records, fieldOf);
      const fresh = new Set<string>();
      for (const { values } of rows) for (const key of values.keys()) if (!columns.has(key)) fresh.add(key);
      if (fresh.size > 0) {
        const wider = new Set([...columns, ...fresh]);
        file.replace(widened(file, wider, fresh.size));
        columns = wider;
      }
      if (rows.length > 0) file.append(rows.map((row) => textOf(row, columns)).join(""));
    },
    close() {
      file.close();
    },
  };
}

/** The columns of the file, none where it is empty. Refuses a file that holds another table. */
function columnsIn(file: LineFile): ReadonlySet<string> {
  for (const { text } of csvRows(file.lines())) {
    const columns = csvFields(text);
    if (FIRST.every((name, i) => columns[i] === name)) return new Set(columns.slice(FIRST.length));
    throw new EspalierError(
      "SINK_UNUSABLE",
      `${file.path} is a table of something else: its columns are ${text}`,
      { fix: "give csvSink a file of its own" },
    );
  }
  return new Set();
}

/** The step and axis of a row. Undefined for the header. */
function positionOf({ text, at }: WholeLine): { readonly step: number; readonly axis: string } | undefined {
  if (at === 0) return undefined;
  const [step, axis = ""] = csvFields(text);
  return { step: Number(step), axis };
}

/** The whole file with more columns. */
function* widened(
  file: LineFile,
  columns: Iterable<string>,
  added: number,
): Generator<string, void, undefined> {
  yield `${[...FIRST, ...columns].map(csvField).join(",")}\n`;
  const empty = ",".repeat(added);
  let isHeader = true;
  for (const { text } of csvRows(file.lines())) {
    if (!isHeader) yield `${text}${empty}\n`;
    isHeader = false;
  }
}

/** Histograms have no field. */
function fieldOf(value: MetricRecord["value"]): string | undefined {
  if (typeof value === "string") return csvQuoted(value);
  return typeof value === "number" ? numeral(value) : undefined;
}

function textOf({ step, axis, wall, values }: StepRow, columns: Iterable<string>): string {
  let text = `${step},${csvField(axis)},${new Date(wall).toISOString()}`;
  for (const key of columns) text += `,${values.get(key) ?? ""}`;
  return `${text}\n`;
}

/** A field as RFC 4180 has it: in quotes where it holds a quote, a comma or the end of a line. */
const csvField = (text: string): string => (/[",\r\n]/.test(text) ? csvQuoted(text) : text);

const csvQuoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** The fields of a row, without the end of its line. */
function csvFields(row: string): string[] {
  const fields: string[] = [];
  for (let at = 0; at <= row.length; at++) {
    if (row[at] !== '"') {
      const end = row.indexOf(",", at);
      fields.push(row.slice(at, end < 0 ? row.length : end));
      at = end < 0 ? row.length : end;
      continue;
    }
    let text = "";
    for (at++; at < row.length; at++) {
      if (row[at] === '"' && row[++at] !== '"') break;
      text += row[at];
    }
    fields.push(text);
  }
  return fields;
}

/** Joins lines to rows: a row goes on in the next line as long as a quote is open. */
function* csvRows(lines: Iterable<WholeLine>): Generator<WholeLine, void, undefined> {
  let begun: string[] = [];
  let start = 0;
  let isOpen = false;
  for (const { text, next } of lines) {
    begun.push(text);
    if ((text.split('"').length - 1) % 2 === 1) isOpen = !isOpen;
    if (isOpen) continue;
    yield { text: begun.join("\n"), at: start, next };
    begun = [];
    start = next;
  }
}
