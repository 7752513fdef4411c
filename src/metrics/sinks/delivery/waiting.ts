import type { Clock } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { SpillFile, Taken } from "./spill.ts";

/** Records are appended to a file so many at a time. */
const BLOCK = 500;
/** Milliseconds after which a disk that refused is asked again. */
const DISK_AGAIN = 5_000;

export interface WaitingChoice {
  readonly clock: Clock;
  /** How many may be in memory. */
  readonly most: number;
  /** Called as records are lost, with how many and why. */
  readonly lost: (count: number, why: string) => void;
}

/**
 * Records that wait for a sink, in order: first those in the file, then those in memory. Memory is bounded: what is
 * too much goes to the file, and once something is there, all that follows does. Where the disk refuses, the oldest
 * in memory are lost.
 */
export class Waiting {
  readonly #choice: WaitingChoice;
  spill: SpillFile | undefined;
  #memory: MetricRecord[] = [];
  #head = 0;
  /** What was taken and is not done: all at once, or in parts where all at once was refused. */
  #parts: (readonly MetricRecord[])[] = [];
  /** Where in the file it is, if it is there. */
  #place: Pick<Taken, "lines" | "bytes"> | undefined;
  /** All that comes goes to the file, until nothing is left there. */
  #straight = false;
  #diskAgain = Number.NEGATIVE_INFINITY;
  #noDisk = "there is no spill directory";

  constructor(choice: WaitingChoice) {
    this.#choice = choice;
  }

  get inMemory(): number {
    return this.#memory.length - this.#head + (this.#place ? 0 : count(this.#parts));
  }

  get onDisk(): number {
    return this.spill?.count ?? 0;
  }

  get isEmpty(): boolean {
    return this.inMemory === 0 && this.onDisk === 0;
  }

  push(records: readonly MetricRecord[]): void {
    for (const record of records) this.#memory.push(record);
    const most = this.#choice.most;
    if (this.onDisk > 0 || this.#straight || this.#memory.length - this.#head > most) this.toDisk();
    const excess = this.#memory.length - this.#head - most;
    if (excess > 0) this.#lose(excess);
  }

  /** Puts in front what a call was made with that is not over, or has failed. Nothing waits before it. */
  hold(records: readonly MetricRecord[]): void {
    this.#parts = [records];
  }

  /** The oldest: the same until `done`, `split` or `refuse`. Empty where nothing waits. */
  take(most: number): readonly MetricRecord[] {
    while (this.#parts.length === 0) {
      if (this.spill && this.spill.count > 0) {
        const taken = this.spill.first(most);
        // The file ends before it should: somebody cut it.
        const lines = taken.lines === 0 ? this.spill.count : taken.lines;
        const unreadable = taken.lines === 0 ? lines : taken.unreadable;
        if (unreadable > 0) this.#choice.lost(unreadable, `${this.spill.path} cannot be read`);
        this.#place = { lines, bytes: taken.bytes };
        this.#parts = [taken.records];
        if (taken.records.length === 0) this.done();
      } else {
        if (this.#memory.length === this.#head) return [];
        const records = this.#memory.slice(this.#head, this.#head + most);
        this.#forget(records.length);
        this.hold(records);
      }
    }
    return this.#parts[0] ?? [];
  }

  /** What was taken is filed, or never will be. False where it had been given up meanwhile. */
  done(): boolean {
    const known = this.#parts.shift() !== undefined;
    if (known && this.#parts.length === 0) {
      if (this.#place) this.spill?.drop(this.#place);
      this.#place = undefined;
      if (this.onDisk === 0) this.#straight = false;
    }
    return known;
  }

  /** What was taken comes in two parts, or, where it is a single record, not again: then it is false. */
  split(): boolean {
    const [first, ...others] = this.#parts;
    if (first === undefined || first.length < 2) return false;
    const middle = first.length >> 1;
    this.#parts = [first.slice(0, middle), first.slice(middle), ...others];
    return true;
  }

  /** Puts everything into the file, as far as the disk takes it. With `force` even where it has just refused. */
  toDisk(force = false): void {
    const now = this.#choice.clock.now();
    this.#straight = true;
    if (!this.spill || (!force && now < this.#diskAgain)) return;
    try {
      if (this.#parts.length > 0 && !this.#place) {
        const records = this.#parts.flat();
        this.#place = { lines: records.length, bytes: this.spill.append(records) };
      }
      while (this.#memory.length > this.#head) {
        const block = this.#memory.slice(this.#head, this.#head + BLOCK);
        this.spill.append(block);
        this.#forget(block.length);
      }
    } catch (error) {
      this.#diskAgain = now + DISK_AGAIN;
      this.#noDisk = `they cannot be put to disk either: ${error instanceof Error ? error.message : error}`;
    }
  }

  /** Gives up what is in memory. */
  loseMemory(): void {
    const left = this.inMemory;
    if (!this.#place) this.#parts = [];
    this.#memory = [];
    this.#head = 0;
    if (left > 0) this.#choice.lost(left, this.#noDisk);
  }

  #lose(excess: number): void {
    this.#forget(excess);
    this.#choice.lost(excess, this.#noDisk);
  }

  #forget(records: number): void {
    this.#head += records;
    // Now and then, so that the cost of a record stays the same.
    if (this.#head * 2 < this.#memory.length) return;
    this.#memory = this.#memory.slice(this.#head);
    this.#head = 0;
  }
}

const count = (parts: readonly (readonly MetricRecord[])[]): number =>
  parts.reduce((sum, part) => sum + part.length, 0);
