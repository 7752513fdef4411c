import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { MetricRecord } from "../../record.ts";
import type { SinkFiles } from "../files.ts";
import { StagedFile } from "../wire/index.ts";
import { EventBytes } from "./event-bytes.ts";
import { numberPrefix, SUMMARY, writeValue } from "./values.ts";

/** Bytes that are gathered before they go to the file, within one call. */
const PIECE = 1 << 20;

/** What a run of TensorBoard's knows of a metric. */
interface Series {
  readonly prefix: Uint8Array;
  /** Its last step in the file, and its last step once this call is committed. */
  committed: number;
  last: number;
}

const NEVER = Number.NEGATIVE_INFINITY;

/** One run of TensorBoard's: a directory, into which a process writes one event file. */
export class EventRun {
  readonly #file: StagedFile;
  readonly #out = new EventBytes(2 * PIECE);
  readonly #series = new Map<string, Series>();
  readonly #changed: Series[] = [];
  #event: { readonly step: number; readonly wall: number; readonly summary: number } | undefined;

  /** Makes the file. What earlier files hold from the step `again` on is void. */
  constructor(files: SinkFiles, directory: string, wall: number, again: number | undefined) {
    this.#file = new StagedFile(files, join(directory, freeName(directory, wall)));
    try {
      this.#out.fileVersion(wall);
      if (again !== undefined) this.#out.sessionStart(wall, again);
      this.stage();
      this.commit();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Whether the metric has a value at this step or after it. */
  isPast({ key, step }: MetricRecord): boolean {
    const series = this.#series.get(key);
    return series !== undefined && step <= series.last;
  }

  add(record: MetricRecord): void {
    const series = this.#series.get(record.key) ?? this.#begin(record.key);
    const first = series.last === NEVER;
    if (series.last === series.committed) this.#changed.push(series);
    series.last = Math.max(series.last, record.step);
    this.#at(record.wall, record.step);
    if (first || typeof record.value !== "number") writeValue(this.#out, record, first);
    else {
      this.#out.raw(series.prefix);
      this.#out.rawFloat(record.value);
    }
  }

  /** An event of one value that is no metric's. */
  addOther(wall: number, write: (out: EventBytes) => void): void {
    this.#at(wall, 0);
    write(this.#out);
    this.#endEvent();
  }

  /** Everything is in the file, though not for good. */
  stage(): void {
    this.#endEvent();
    this.#file.stage(this.#out.bytes());
    this.#out.clear();
  }

  commit(): void {
    this.#file.commit();
    for (const series of this.#changed) series.committed = series.last;
    this.#changed.length = 0;
  }

  drop(): void {
    this.#event = undefined;
    this.#out.clear();
    this.#file.drop();
    for (const series of this.#changed) series.last = series.committed;
    this.#changed.length = 0;
  }

  close(): void {
    this.#file.close();
  }

  #begin(key: string): Series {
    const series: Series = { prefix: numberPrefix(key), committed: NEVER, last: NEVER };
    this.#series.set(key, series);
    return series;
  }

  /** What is of one step and one time is one event. */
  #at(wall: number, step: number): void {
    if (this.#event?.step === step && this.#event.wall === wall) return;
    this.#endEvent();
    if (this.#out.length >= PIECE) this.stage();
    this.#out.beginEvent(wall, step);
    this.#event = { step, wall, summary: this.#out.begin(SUMMARY) };
  }

  #endEvent(): void {
    if (!this.#event) return;
    this.#out.end(this.#event.summary);
    this.#out.endEvent();
    this.#event = undefined;
  }
}

const named = /^events\.out\.tfevents\.(\d+)\./;

/** Event files of a directory. None where there is no directory. */
export function eventFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => named.test(name));
  } catch {
    return [];
  }
}

let made = 0;

/** Readers take files by name: the new one comes last, whatever the clock says and whoever wrote the others. */
function freeName(directory: string, wall: number): string {
  const taken = eventFiles(directory).map((name) => Number(named.exec(name)?.[1]));
  const seconds = Math.max(Math.floor(wall / 1000), ...taken.map((time) => time + 1));
  return `events.out.tfevents.${String(seconds).padStart(10, "0")}.${hostname()}.${process.pid}.${made++}`;
}
