import {
  checkOptions,
  didYouMean,
  EspalierError,
  messageOf,
  node,
  type Options,
  option,
  shown,
} from "../core/index.ts";
import {
  type Bookmark,
  checkArgument,
  count,
  Dataset,
  type DatasetSource,
  emptyError,
  type Reader,
  rowError,
  sourceError,
} from "./dataset.ts";

/** A file that is read by position. It is opened when it is first read, and closed when nothing refers to it. */
export class DataFile {
  readonly path: string;
  /** Its name for errors. */
  readonly name: string;
  readonly size: number;
  #descriptor: number | undefined;

  constructor(path: string | URL) {
    this.path = absolutePath(path);
    this.name = node.path.basename(this.path);
    const found = node.fs.statSync(this.path, { throwIfNoEntry: false });
    if (!found?.isFile())
      throw new EspalierError("DATA_FILE_MISSING", `there is no file ${this.path}`, {
        fix: "check the path, which is taken from the directory that the program runs in",
      });
    this.size = found.size;
  }

  /** Up to `length` bytes from a position: fewer at the end of the file. */
  read(position: number, length: number): Uint8Array<ArrayBuffer> {
    if (this.#descriptor === undefined) {
      this.#descriptor = node.fs.openSync(this.path, "r");
      descriptors.register(this, this.#descriptor);
    }
    const bytes = new Uint8Array(Math.max(0, Math.min(length, this.size - position)));
    let done = 0;
    while (done < bytes.length) {
      // One call reads less than 2 GiB.
      const most = Math.min(bytes.length - done, 2 ** 30);
      const n = node.fs.readSync(this.#descriptor, bytes, done, most, position + done);
      if (n === 0) throw new Error(`the file has become shorter than the ${this.size} bytes it had`);
      done += n;
    }
    return bytes;
  }
}

export function absolutePath(path: string | URL): string {
  const ok = path instanceof URL || (typeof path === "string" && path !== "");
  checkArgument(ok, "data", path, "the path of a file");
  return path instanceof URL ? node.url.fileURLToPath(path) : node.path.resolve(path);
}

const descriptors = new FinalizationRegistry<number>((descriptor) => node.fs.closeSync(descriptor));

// Files of lines or records, read in blocks that end where a record ends:
//
//   | block, 256 KB: record record record | block: record ...
//     ^ byte                ^ taken
//
// A bookmark is { byte, taken, row }: a reader that is opened from it seeks to the block and takes the next record of it.

const blockBytes = 256 * 1024;
const longestRecord = 64 * 1024 * 1024;

/** A kind of file: how a block becomes records, and a record a row. */
interface RecordFormat<R, T> {
  /** The byte at which the rows begin. */
  begin(): number | Promise<number>;
  /** Records before it. */
  readonly heads?: number;
  /** The byte after the last complete record; 0 where none is complete. */
  end(bytes: Uint8Array): number;
  records(text: string): readonly R[];
  row(record: R): T;
}

function recordReader<R, T>(
  file: DataFile,
  format: RecordFormat<R, T>,
  from: Bookmark | undefined,
): Reader<T> {
  const { name } = file;
  const at = (part: string): number => count(name, from, part);
  let [byte, taken, row] = [at("byte"), at("taken"), at("row")];
  let block: { readonly records: readonly R[]; readonly end: number } | undefined;
  const load = async (): Promise<{ readonly records: readonly R[]; readonly end: number }> => {
    let first: number | undefined;
    try {
      const begin = await format.begin();
      byte ||= begin;
      first = row - taken;
      const bytes = wholeRecords(file, byte, format);
      return { records: format.records(textOf(bytes)), end: byte + bytes.length };
    } catch (cause) {
      const at = cause instanceof BadRecord ? (first ?? -(format.heads ?? 0)) + cause.records : first;
      throw sourceError(name, at, cause);
    }
  };
  /** The records that are left of a block: of the next one at its end, none at the end of the file. */
  const left = async (): Promise<number> => {
    block ??= await load();
    while (taken >= block.records.length) {
      if (block.end >= file.size) return 0;
      byte = block.end;
      taken = 0;
      block = await load();
    }
    return block.records.length - taken;
  };
  return {
    next: async () => {
      if ((await left()) === 0) return undefined;
      const record = block?.records[taken++] as R;
      const index = row++;
      try {
        return { value: format.row(record), index };
      } catch (cause) {
        throw rowError(name, index, cause);
      }
    },
    skip: async (rows) => {
      const end = row + rows;
      for (let most = 1; row < end && most > 0; ) {
        most = Math.min(end - row, await left());
        taken += most;
        row += most;
      }
      return rows - (end - row);
    },
    bookmark: () => ({ byte, taken, row }),
    close: () => undefined,
  };
}

/** The bytes from a position to the end of a record, about a block of them. */
function wholeRecords<R, T>(file: DataFile, byte: number, { end }: RecordFormat<R, T>): Uint8Array {
  for (let length = blockBytes; ; length *= 4) {
    const bytes = file.read(byte, length);
    if (byte + bytes.length >= file.size) return bytes;
    const whole = end(bytes);
    if (whole > 0) return bytes.subarray(0, whole);
    if (length > longestRecord)
      throw new EspalierError("DATA_INVALID", `a record is longer than ${longestRecord / 2 ** 20} MB`, {
        fix: "look for a quote that is not closed, and for line ends that are not \\n",
      });
  }
}

const newline = 10;
const afterNewline = (bytes: Uint8Array): number => bytes.lastIndexOf(newline) + 1;

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new EspalierError("DATA_INVALID", "the text is not UTF-8", { fix: "convert the file to UTF-8" });
  }
}

const linesOf = (text: string): string[] => {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

/** The rows of a file of records, a stream that can start anywhere. */
const recordFile = <R, T>(
  kind: string,
  file: DataFile,
  format: RecordFormat<R, T>,
  options: object = {},
  textBecause?: DatasetSource<T>["textBecause"],
): Dataset<T> =>
  new Dataset({
    name: file.name,
    recipe: { kind, args: [file.path, options] },
    open: (_pass, from) => recordReader(file, format, from),
    textBecause,
  });

/**
 * The lines of a text file, a stream that can start anywhere.
 *
 * @example
 * ```ts
 * for await (const line of textFile("stories.txt").take(3)) console.log(line);
 * ```
 */
export const textFile = (path: string | URL): Dataset<string> =>
  recordFile("textFile", new DataFile(path), { ...lineFormat, row: (line) => line });

const lineFormat = { begin: () => 0, end: afterNewline, records: linesOf };

/**
 * The values of a file with a JSON value on each line, a stream that can start anywhere. Empty lines do not count.
 *
 * @example
 * ```ts
 * const reviews = jsonl<{ text: string; stars: number }>("reviews.jsonl");
 * ```
 */
export const jsonl = <T = Readonly<Record<string, unknown>>>(path: string | URL): Dataset<T> =>
  recordFile("jsonl", new DataFile(path), {
    ...lineFormat,
    records: (text) => linesOf(text).filter((line) => line.trim() !== ""),
    row: (line) => JSON.parse(line) as T,
  });

/** A row of a table: values by column. */
export type Row = Readonly<Record<string, string | number | boolean>>;

/** Values for cells without one, by column. Columns that are not there must have a value in each row. */
export type MissingValues = Readonly<Record<string, string | number | boolean>>;

const csvTypes = ["number", "text", "boolean"] as const;
type CsvType = (typeof csvTypes)[number];

const anObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const missingOption = option.made<MissingValues>(
  'values by column, such as { age: 0, city: "unknown" }',
  anObject,
  {},
);
const csvTable = {
  /** The types of columns. Default: guessed from the beginning of the file. */
  types: option.made<Readonly<Record<string, CsvType>>>(
    'types by column, "number", "text" or "boolean", such as { zip: "text" }',
    (value) =>
      anObject(value) && Object.values(value as object).every((type) => csvTypes.includes(type as CsvType)),
    {},
  ),
  /** Values for empty cells, by column. Default: an empty cell is an error. */
  missing: missingOption,
  /** Names of the columns of a file whose first row is not them. */
  header: option.made<readonly string[]>("a list of names", Array.isArray, {}),
  /** Default: ",". */
  separator: option.text({ default: "," }),
};

/** Options of {@link csv}. */
export interface CsvOptions extends Options<typeof csvTable> {}

/** The columns of a file, and where its rows begin. */
interface CsvHead {
  readonly names: readonly string[];
  readonly types: readonly CsvType[];
  /** The first cell that is no number, of each column whose type was guessed. */
  readonly texts: ReadonlyMap<string, string>;
  readonly begin: number;
}

/**
 * The rows of a CSV file by the names in its first row, a stream that can start anywhere. Numbers are numbers, and
 * "true" and "false" booleans, where all of a column's values in the first 256 KB are.
 *
 * @example
 * ```ts
 * const houses = csv("houses.csv", { types: { zip: "text" }, missing: { garage: 0 } });
 * ```
 */
export function csv<T extends Row = Row>(path: string | URL, options: CsvOptions = {}): Dataset<T> {
  checkOptions("csv", options, csvTable);
  const file = new DataFile(path);
  const { separator = csvTable.separator.default } = options;
  let head: CsvHead | undefined;
  let parse: CsvParser = () => [];
  const format: RecordFormat<readonly string[], T> = {
    begin: async () => {
      if (!head) {
        parse = await csvParser(separator);
        head = csvHead(file, options, parse);
      }
      return head.begin;
    },
    heads: options.header ? 0 : 1,
    end: endOfRecord,
    records: (text) => parse(text),
    row: (cells) => csvRow(head as CsvHead, cells, options.missing ?? {}) as T,
  };
  return recordFile("csv", file, format, options, (column) => head?.texts.get(column));
}

type CsvParser = (text: string) => readonly (readonly string[])[];

/** A record that cannot be cut into cells, behind so many others. */
class BadRecord extends EspalierError {
  readonly records: number;
  constructor(cause: unknown, records: number) {
    // Lines are counted from the beginning of a block.
    super("DATA_INVALID", messageOf(cause).replace(/ at line \d+/, ""), {
      fix: 'put each cell that has a quote in it in quotes, with its own quotes doubled: "5"" pipe"',
      cause,
    });
    this.records = records;
  }
}

/** Cells of a text, by csv-parse; texts without quotes are cut at separators, which is several times as fast. */
async function csvParser(delimiter: string): Promise<CsvParser> {
  const { parse } = await import("csv-parse/sync");
  const options = { delimiter, relax_column_count: true, skip_empty_lines: true };
  return (text) => {
    if (!text.includes('"'))
      return linesOf(text).flatMap((line) => (line === "" ? [] : [line.split(delimiter)]));
    try {
      return parse(text, { ...options, record_delimiter: ["\r\n", "\n"] });
    } catch (cause) {
      throw new BadRecord(cause, Number((cause as { readonly records?: number }).records));
    }
  };
}

/** Line ends with an even number of quotes before them: others are within a quoted cell. */
function endOfRecord(bytes: Uint8Array, first = false): number {
  let [quoted, end] = [false, 0];
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === 34) quoted = !quoted;
    else if (bytes[i] === newline && !quoted) {
      end = i + 1;
      if (first) return end;
    }
  }
  return end;
}

function csvHead(
  file: DataFile,
  { header, types = {}, missing = {} }: CsvOptions,
  parse: CsvParser,
): CsvHead {
  const bytes = wholeRecords(file, 0, { end: endOfRecord } as RecordFormat<unknown, unknown>);
  const rows = parse(textOf(bytes));
  const names = header ?? rows[0];
  if (!names) throw emptyError(file.name);
  if (!header && names.some((name) => name.includes("\r")))
    throw new EspalierError("DATA_INVALID", "its lines end with \\r alone, so that it is one line", {
      fix: "save it with line ends that are \\n or \\r\\n",
    });
  let begin = 0;
  // Behind the names, and empty lines before them.
  while (!header && begin < bytes.length && parse(textOf(bytes.subarray(0, begin))).length === 0)
    begin += endOfRecord(bytes.subarray(begin), true) || bytes.length;
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new EspalierError("DATA_INVALID", `the column "${twice}" is there twice`, {
      fix: "give each column a name of its own, in the file or by the option header",
    });
  for (const name of Object.keys({ ...types, ...missing }))
    if (!names.includes(name)) throw unknownColumn(name, names);
  const sample = header ? rows : rows.slice(1);
  const cells = names.map((_, i) => sample.map((row) => row[i] ?? ""));
  const texts = names.flatMap((name, i) => {
    const row = cells[i]?.findIndex((cell) => !isMissing(cell, true) && !isNumber(cell)) ?? -1;
    return row < 0 || Object.hasOwn(types, name)
      ? []
      : [[name, `row ${row} is ${shown(cells[i]?.[row])}`] as const];
  });
  return {
    names,
    types: names.map((name, i) => types[name] ?? guess(cells[i] ?? [])),
    texts: new Map(texts),
    begin,
  };
}

export const unknownColumn = (name: string, names: readonly string[]): EspalierError =>
  new EspalierError("DATA_COLUMN_UNKNOWN", `there is no column "${name}"${didYouMean(name, names)}`, {
    fix: `the columns are ${names.join(", ")}`,
  });

const decimal = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** Numbers with leading zeros are texts: codes, which would lose them. */
const isNumber = (cell: string): boolean => decimal.test(cell) && !/^\s*[+-]?0\d/.test(cell);

/** The type of a column. */
function guess(cells: readonly string[]): CsvType {
  const present = cells.filter((cell) => !isMissing(cell, true));
  if (present.length === 0) return "text";
  if (present.every(isNumber)) return "number";
  return present.every((cell) => cell === "true" || cell === "false") ? "boolean" : "text";
}

const missingNumbers = new Set(["", "NA", "N/A", "NaN", "nan", "null", "None"]);
const isMissing = (cell: string, numeric: boolean): boolean =>
  numeric ? missingNumbers.has(cell.trim()) : cell === "";

function csvRow({ names, types }: CsvHead, cells: readonly string[], missing: MissingValues): Row {
  if (cells.length !== names.length)
    throw new EspalierError(
      "DATA_RAGGED",
      `it has ${cells.length} cells, and there are ${names.length} columns`,
      { fix: "give each row a cell for each column, in quotes where it has the separator in it" },
    );
  const row: Record<string, string | number | boolean> = {};
  for (const [i, name] of names.entries()) {
    const cell = cells[i] as string;
    const type = types[i] as CsvType;
    row[name] = isMissing(cell, type !== "text")
      ? missingValue(name, cell, missing)
      : typed(name, cell, type);
  }
  return row;
}

export function missingValue(
  column: string,
  cell: unknown,
  missing: MissingValues,
): string | number | boolean {
  const value = Object.hasOwn(missing, column) ? missing[column] : undefined;
  if (value !== undefined) return value;
  throw new EspalierError("DATA_MISSING", `the column "${column}" has no value, it is ${shown(cell)}`, {
    fix: `say what stands for it, missing: { ${JSON.stringify(column)}: 0 }, or take the row out`,
  });
}

function typed(column: string, cell: string, type: CsvType): string | number | boolean {
  if (type === "text") return cell;
  if (type === "number" && decimal.test(cell)) return Number(cell);
  if (type === "boolean" && (cell === "true" || cell === "false")) return cell === "true";
  throw new EspalierError("DATA_INVALID", `the column "${column}" is ${shown(cell)}, which is no ${type}`, {
    fix: `correct it, or read the column as text: types: { ${JSON.stringify(column)}: "text" }`,
  });
}
