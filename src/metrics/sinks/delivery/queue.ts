import { type Clock, EspalierError, node } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunInfo } from "../../run-info.ts";
import { readWrite, type SinkFiles, systemFiles, tryTruncate, wholeLines, writeAll } from "../files.ts";
import { comesAgain, filedUpTo } from "../sink.ts";

/** Records are appended to the spill file in blocks of this size. */
const BLOCK = 500;
/** Milliseconds after which a disk that failed is tried again. */
const DISK_AGAIN = 5_000;

/**
 * Records that wait for a sink, in order: first the batch that was taken, then those in the spill file, then those in
 * memory. Memory is bounded: beyond the bound everything goes to the file, and as long as something is there, all that
 * follows does too. Where the disk fails, the oldest in memory are lost.
 */
export class RecordQueue {
  spill: SpillFile | undefined;
  readonly #clock: Clock;
  /** Records that may wait in memory. */
  readonly #bound: number;
  readonly #lost: (count: number, why: string) => void;
  readonly #memory: MetricRecord[] = [];
  /** The batch that was taken and is not done: whole, or in parts where the sink refused it. */
  #parts: (readonly MetricRecord[])[] = [];
  /** Lines and bytes of the batch in the file, if it is there. */
  #inFile: Pick<SpilledBatch, "lines" | "bytes"> | undefined;
  /** Everything goes to the file, until nothing is left there. */
  #bypassMemory = false;
  #diskAgain = Number.NEGATIVE_INFINITY;
  #noDisk = "there is no spill directory";

  constructor(clock: Clock, bound: number, lost: (count: number, why: string) => void) {
    this.#clock = clock;
    this.#bound = bound;
    this.#lost = lost;
  }

  get inMemory(): number {
    const taken = this.#inFile ? 0 : this.#parts.reduce((sum, part) => sum + part.length, 0);
    return this.#memory.length + taken;
  }

  get onDisk(): number {
    return this.spill?.count ?? 0;
  }

  get isEmpty(): boolean {
    return this.inMemory === 0 && this.onDisk === 0;
  }

  push(records: readonly MetricRecord[]): void {
    for (const record of records) this.#memory.push(record);
    if (this.onDisk > 0 || this.#bypassMemory || this.#memory.length > this.#bound) this.toDisk();
    const excess = this.#memory.length - this.#bound;
    if (excess <= 0) return;
    this.#memory.splice(0, excess);
    this.#lost(excess, this.#noDisk);
  }

  /** Takes a batch that never waited: the queue is empty. */
  hold(records: readonly MetricRecord[]): void {
    this.#parts = [records];
  }

  /** The oldest batch: the same until `done` or `split`. Empty where nothing waits. */
  take(most: number): readonly MetricRecord[] {
    while (this.#parts.length === 0) {
      if (this.spill && this.spill.count > 0) {
        const batch = this.spill.first(most);
        // Where the file ends before it should, another program has cut it.
        const lines = batch.lines === 0 ? this.spill.count : batch.lines;
        const unreadable = batch.lines === 0 ? lines : batch.unreadable;
        if (unreadable > 0) this.#lost(unreadable, `${this.spill.path} cannot be read`);
        this.#inFile = { lines, bytes: batch.bytes };
        this.#parts = [batch.records];
        if (batch.records.length === 0) this.done();
      } else {
        if (this.#memory.length === 0) return [];
        this.hold(this.#memory.splice(0, most));
      }
    }
    return this.#parts[0] ?? [];
  }

  /** Removes the batch: it is filed, or never will be. False where it had been given up meanwhile. */
  done(): boolean {
    const isKnown = this.#parts.shift() !== undefined;
    if (isKnown && this.#parts.length === 0) {
      if (this.#inFile) this.spill?.drop(this.#inFile);
      this.#inFile = undefined;
      if (this.onDisk === 0) this.#bypassMemory = false;
    }
    return isKnown;
  }

  /** Halves the batch. False where it is a single record. */
  split(): boolean {
    const [first, ...others] = this.#parts;
    if (first === undefined || first.length < 2) return false;
    const middle = first.length >> 1;
    this.#parts = [first.slice(0, middle), first.slice(middle), ...others];
    return true;
  }

  /** Moves everything to the file, as far as the disk takes it. With `force` even if it failed a moment ago. */
  toDisk(force = false): void {
    const now = this.#clock.now();
    this.#bypassMemory = true;
    if (!this.spill || (!force && now < this.#diskAgain)) return;
    try {
      if (this.#parts.length > 0 && !this.#inFile) {
        const records = this.#parts.flat();
        this.#inFile = { lines: records.length, bytes: this.spill.append(records) };
      }
      while (this.#memory.length > 0) {
        this.spill.append(this.#memory.slice(0, BLOCK));
        this.#memory.splice(0, BLOCK);
      }
    } catch (error) {
      this.#diskAgain = now + DISK_AGAIN;
      this.#noDisk = `they cannot be put to disk either: ${error instanceof Error ? error.message : error}`;
    }
  }

  /** Gives up what is in memory. */
  loseMemory(): void {
    const left = this.inMemory;
    if (!this.#inFile) this.#parts = [];
    this.#memory.length = 0;
    if (left > 0) this.#lost(left, this.#noDisk);
  }
}

/** Options of {@link SpillFile}. */
export interface SpillOptions {
  readonly sink: string;
  readonly run: Pick<RunInfo, "id" | "resumedAt" | "filedUpTo">;
  /** Largest size of the file. */
  readonly bytes: number;
  readonly files?: SinkFiles | undefined;
}

/** The first records of a spill file, and the lines and bytes that they take. */
interface SpilledBatch {
  readonly records: readonly MetricRecord[];
  /** More than records, where some come again anyway or cannot be read. */
  readonly lines: number;
  readonly unreadable: number;
  readonly bytes: number;
}

/** Opens the file of a sink and a run in a directory that many may share. */
export const openSpillFile = (directory: string, options: SpillOptions): SpillFile =>
  new SpillFile(
    node.path.join(
      directory,
      `${encodeURIComponent(options.sink)}.${encodeURIComponent(options.run.id)}.jsonl`,
    ),
    options,
  );

/**
 * Records on disk, oldest first. The first line names their run and the position up to which they were filed; it has a
 * fixed length and is overwritten in place, so that the next process goes on where this one was. There is no file while
 * nothing waits.
 */
export class SpillFile {
  readonly path: string;
  readonly #options: SpillOptions;
  readonly #files: SinkFiles;
  #file: number | undefined;
  #read: number;
  #end: number;
  /** Up to here the lines are of an earlier process. */
  #inheritedEnd = 0;
  /** Lines that wait. */
  count = 0;

  /** Continues the file that an earlier process left. */
  constructor(path: string, options: SpillOptions) {
    this.path = path;
    this.#options = options;
    this.#files = options.files ?? systemFiles();
    this.#read = this.#end = this.#header(0).length;
    if (this.#files.existsSync(path)) this.#inherit();
  }

  /** Appends all of them or, where it throws, none. Returns how many bytes they take. */
  append(records: readonly MetricRecord[]): number {
    const bytes = Buffer.from(`${records.map(lineOf).join("\n")}\n`);
    if (this.#end + bytes.length > this.#options.bytes)
      throw new EspalierError("SPILL_FULL", `${this.path} would exceed ${this.#options.bytes} bytes`);
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

  /** The oldest records, from at most `most` lines. */
  first(most: number): SpilledBatch {
    const isInherited = this.#read < this.#inheritedEnd;
    const records: MetricRecord[] = [];
    let [lines, unreadable, next] = [0, 0, this.#read];
    const to = isInherited ? this.#inheritedEnd : this.#end;
    for (const line of wholeLines(this.#files, this.#opened(), this.#read, to)) {
      const record = recordOf(line.text);
      if (record === undefined) unreadable++;
      else if (!isInherited || !comesAgain(record, filedUpTo(this.#options.run))) records.push(record);
      next = line.next;
      if (++lines === most) break;
    }
    return { records, lines, unreadable, bytes: next - this.#read };
  }

  /** Removes the oldest: they are filed. */
  drop({ lines, bytes }: Pick<SpilledBatch, "lines" | "bytes">): void {
    this.count -= lines;
    this.#read += bytes;
    const isEmpty = this.#read >= this.#end;
    try {
      if (isEmpty) {
        this.close();
        this.#files.rmSync(this.path);
      } else writeAll(this.#files, this.#opened(), this.#header(this.#read), 0);
    } catch {
      // This process knows what it has filed. Should it die, the next files these twice: better than not at all.
    }
    if (!isEmpty) return;
    this.#read = this.#end = this.#header(0).length;
    this.#inheritedEnd = 0;
  }

  close(): void {
    if (this.#file !== undefined) this.#files.closeSync(this.#file);
    this.#file = undefined;
  }

  #header(read: number): Buffer {
    const { sink, run } = this.#options;
    const start = JSON.stringify({ spill: 1, sink, run: run.id }).slice(0, -1);
    return Buffer.from(`${start},"read":${String(read).padStart(16)}}\n`);
  }

  #opened(): number {
    if (this.#file !== undefined) return this.#file;
    this.#files.mkdirSync(node.path.dirname(this.path), { recursive: true });
    const file = this.#files.openSync(this.path, readWrite());
    try {
      if (this.count === 0) {
        tryTruncate(this.#files, file, 0);
        writeAll(this.#files, file, this.#header(this.#read), 0);
      }
    } catch (error) {
      this.#files.closeSync(file);
      throw error;
    }
    this.#file = file;
    return file;
  }

  #inherit(): void {
    const file = this.#files.openSync(this.path, "r+");
    try {
      const { size } = this.#files.fstatSync(file);
      const header = Buffer.alloc(Math.min(this.#end, size));
      this.#files.readSync(file, header, 0, header.length, 0);
      // A file without a complete first line holds no records.
      if (size <= this.#end) return;
      const read = Number(/(\d+)\}\n$/.exec(header.toString())?.[1]);
      if (!header.equals(this.#header(read)))
        throw new EspalierError(
          "SPILL_FOREIGN",
          `${this.path} holds no values of run ${this.#options.run.id}`,
          { fix: "move the file away" },
        );
      const empty = this.#end;
      this.#read = this.#end = read;
      for (const { next } of wholeLines(this.#files, file, read, size)) {
        this.count++;
        this.#end = next;
      }
      if (this.count === 0) this.#read = this.#end = empty;
      this.#inheritedEnd = this.#end;
      tryTruncate(this.#files, file, this.#end);
    } finally {
      this.#files.closeSync(file);
    }
  }
}

/** NaN, infinity and -0, which JSON does not have, are objects with this one member. */
const MARK = "$number";

/** A record as one line of JSON that `recordOf` reads back exactly. */
const lineOf = (record: MetricRecord): string =>
  JSON.stringify(record, isPlainRecord(record) ? undefined : marked);

/** The record of a line. Undefined where the line is none. */
function recordOf(line: string): MetricRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(line, line.includes(`"${MARK}"`) ? unmarked : undefined);
    if (typeof parsed !== "object" || parsed === null || !("key" in parsed) || !("step" in parsed))
      return undefined;
    return { unit: undefined, ...parsed } as MetricRecord;
  } catch {
    return undefined;
  }
}

const isPlain = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0);

/** True where JSON keeps every number of the record, which is far faster to check here than with a replacer. */
function isPlainRecord({ value, step, counters }: MetricRecord): boolean {
  if (typeof value === "object" || (typeof value === "number" && !isPlain(value)) || !isPlain(step))
    return false;
  for (const unit in counters) if (!isPlain(counters[unit] ?? 0)) return false;
  return true;
}

const marked = (_name: string, value: unknown): unknown =>
  typeof value !== "number" || isPlain(value)
    ? value
    : { [MARK]: Object.is(value, -0) ? "-0" : String(value) };

const unmarked = (_name: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && MARK in value ? Number(value[MARK]) : value;
