import { dirname, join } from "node:path";
import { EspalierError } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunInfo } from "../../run-info.ts";
import { READ_WRITE, type SinkFiles, systemFiles, tryTruncate, wholeLines, writeAll } from "../files.ts";
import { comesAgain, filedUpTo } from "../sink.ts";
import { lineOf, recordOf } from "./record-line.ts";

export interface SpillChoice {
  readonly sink: string;
  readonly run: Pick<RunInfo, "id" | "resumedAt" | "filedUpTo">;
  /** How large the file may become. */
  readonly bytes: number;
  readonly files?: SinkFiles | undefined;
}

/** The first records of a file, and the lines and bytes that they take. */
export interface Taken {
  readonly records: readonly MetricRecord[];
  /** More than records, where lines come again anyway or cannot be read. */
  readonly lines: number;
  readonly unreadable: number;
  readonly bytes: number;
}

/**
 * Records on disk that wait for a sink, oldest first. The first line says whose they are and up to where they were
 * filed; it has a fixed length and is written in place, so that the next process goes on where this one was. There is
 * no file while nothing waits.
 */
export class SpillFile {
  readonly path: string;
  readonly #choice: SpillChoice;
  readonly #files: SinkFiles;
  #file: number | undefined;
  #read: number;
  #end: number;
  /** Up to here the lines are of an earlier process. */
  #old = 0;
  /** Lines that wait. */
  count = 0;

  /** Takes up what an earlier process left. */
  constructor(path: string, choice: SpillChoice) {
    this.path = path;
    this.#choice = choice;
    this.#files = choice.files ?? systemFiles;
    this.#read = this.#end = this.#head(0).length;
    if (this.#files.existsSync(path)) this.#takeUp();
  }

  /** Appends all of them or, where it throws, none. Tells how many bytes they take. */
  append(records: readonly MetricRecord[]): number {
    const bytes = Buffer.from(`${records.map(lineOf).join("\n")}\n`);
    if (this.#end + bytes.length > this.#choice.bytes)
      throw new EspalierError("SPILL_FULL", `${this.path} would exceed ${this.#choice.bytes} bytes`);
    const file = this.#opened();
    try {
      writeAll(this.#files, file, bytes, this.#end);
    } catch (error) {
      tryTruncate(this.#files, file, this.#end);
      throw error;
    }
    this.#end += bytes.length;
    this.count += records.length;
    return bytes.length;
  }

  /** The oldest, from at most so many lines. */
  first(most: number): Taken {
    const inherited = this.#read < this.#old;
    const records: MetricRecord[] = [];
    let [lines, unreadable, next] = [0, 0, this.#read];
    const to = inherited ? this.#old : this.#end;
    for (const line of wholeLines(this.#files, this.#opened(), this.#read, to)) {
      const record = readable(line.text);
      if (record === undefined) unreadable++;
      else if (!inherited || !comesAgain(record, filedUpTo(this.#choice.run))) records.push(record);
      next = line.next;
      if (++lines === most) break;
    }
    return { records, lines, unreadable, bytes: next - this.#read };
  }

  /** Forgets the oldest: they are filed. */
  drop({ lines, bytes }: Pick<Taken, "lines" | "bytes">): void {
    this.count -= lines;
    this.#read += bytes;
    const empty = this.#read >= this.#end;
    try {
      if (empty) {
        this.close();
        this.#files.rmSync(this.path);
      } else writeAll(this.#files, this.#opened(), this.#head(this.#read), 0);
    } catch {
      // This process knows what it has filed. Should it die, the next files these once more: better than not at all.
    }
    if (!empty) return;
    this.#read = this.#end = this.#head(0).length;
    this.#old = 0;
  }

  close(): void {
    if (this.#file !== undefined) this.#files.closeSync(this.#file);
    this.#file = undefined;
  }

  #head(read: number): Buffer {
    const { sink, run } = this.#choice;
    const said = JSON.stringify({ spill: 1, sink, run: run.id }).slice(0, -1);
    return Buffer.from(`${said},"read":${String(read).padStart(16)}}\n`);
  }

  #opened(): number {
    if (this.#file !== undefined) return this.#file;
    this.#files.mkdirSync(dirname(this.path), { recursive: true });
    const file = this.#files.openSync(this.path, READ_WRITE);
    try {
      if (this.count === 0) {
        tryTruncate(this.#files, file, 0);
        writeAll(this.#files, file, this.#head(this.#read), 0);
      }
    } catch (error) {
      this.#files.closeSync(file);
      throw error;
    }
    this.#file = file;
    return file;
  }

  #takeUp(): void {
    const file = this.#files.openSync(this.path, "r+");
    try {
      const { size } = this.#files.fstatSync(file);
      const head = Buffer.alloc(Math.min(this.#end, size));
      this.#files.readSync(file, head, 0, head.length, 0);
      // A file without a whole first line was never written to.
      if (size <= this.#end) return;
      const read = Number(/(\d+)\}\n$/.exec(head.toString())?.[1]);
      if (!head.equals(this.#head(read)))
        throw new EspalierError(
          "SPILL_FOREIGN",
          `${this.path} holds no values of run ${this.#choice.run.id}`,
          {
            fix: "move the file away",
          },
        );
      const empty = this.#end;
      this.#read = this.#end = read;
      for (const { next } of wholeLines(this.#files, file, read, size)) {
        this.count++;
        this.#end = next;
      }
      if (this.count === 0) this.#read = this.#end = empty;
      this.#old = this.#end;
      tryTruncate(this.#files, file, this.#end);
    } finally {
      this.#files.closeSync(file);
    }
  }
}

/** The file of a sink and a run in a directory that many may share. */
export const spillFile = (directory: string, choice: SpillChoice): SpillFile =>
  new SpillFile(
    join(directory, `${encodeURIComponent(choice.sink)}.${encodeURIComponent(choice.run.id)}.jsonl`),
    choice,
  );

function readable(line: string): MetricRecord | undefined {
  try {
    return recordOf(line);
  } catch {
    return undefined;
  }
}
