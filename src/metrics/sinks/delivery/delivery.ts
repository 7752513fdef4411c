import { EspalierError } from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../../run-info.ts";
import type { Sink } from "../sink.ts";
import { BackOff } from "./back-off.ts";
import { Calls } from "./calls.ts";
import { type DeliveryLimits, type DeliveryOptions, deliveryLimits } from "./delivery-options.ts";
import { DeliveryReport, type DeliveryState } from "./delivery-report.ts";
import { spillFile } from "./spill.ts";
import { systemTimers, type Timers } from "./timers.ts";
import { Waiting } from "./waiting.ts";

export type { DeliveryLimits, DeliveryOptions } from "./delivery-options.ts";
export type { DeliveryState } from "./delivery-report.ts";

const MESSAGES = 100;
/** A sink that refuses so many records, and takes none in between, refuses everything. */
const REFUSALS = 20;

/**
 * Brings records to a sink, whatever the sink does: one call at a time, in order, again after a failure. Training is
 * never held up by it and never hears of it. A sink may also say that making a call again is of no use, by throwing
 * an EspalierError with the code `SINK_REFUSED` (these records will never do: they are lost, the others are not) or
 * `SINK_UNUSABLE` (nothing will do: no call is made any more, what comes goes to disk for the next process).
 *
 * @example
 * ```ts
 * const delivery = new Delivery(jsonlSink("metrics.jsonl"), { clock: systemClock, warn, spill: "run/spill" });
 * delivery.open(run);
 * delivery.send(records);
 * await delivery.close({ outcome: "completed", counters });
 * ```
 */
export class Delivery {
  readonly sink: Sink;
  readonly #options: DeliveryOptions;
  readonly #limits: DeliveryLimits;
  readonly #timers: Timers;
  readonly #report: DeliveryReport;
  readonly #waiting: Waiting;
  readonly #calls: Calls;
  readonly #backOff: BackOff;
  readonly #messages: string[] = [];
  #run: RunInfo | undefined;
  #opened = false;
  #unusable = false;
  #refusals = 0;
  #ending: RunEnding | undefined;
  #sinkClosed = false;
  #closed: Promise<void> | undefined;
  /** Ends the waiting of `close`. */
  #leave: (() => void) | undefined;
  #over = false;

  constructor(sink: Sink, options: DeliveryOptions) {
    const { clock, warn, timers = systemTimers } = options;
    this.sink = sink;
    this.#options = options;
    this.#limits = { ...deliveryLimits, ...options.limits };
    this.#timers = timers;
    this.#report = new DeliveryReport(sink.name, warn);
    this.#waiting = new Waiting({
      clock,
      most: this.#limits.records,
      lost: (count, why) => this.#report.lost(count, why),
    });
    const { deadline, retry } = this.#limits;
    this.#calls = new Calls(clock, timers, 1000 * deadline);
    this.#backOff = new BackOff(clock, timers, [1000 * retry[0], 1000 * retry[1]], () => this.#goOn());
  }

  /** Before all else. What an earlier process of this run left on disk comes first. */
  open(run: RunInfo): void {
    if (this.#run) return;
    this.#run = run;
    const { spill, files } = this.#options;
    const { spillBytes: bytes } = this.#limits;
    try {
      if (spill !== undefined)
        this.#waiting.spill = spillFile(spill, { sink: this.sink.name, run, bytes, files });
    } catch (error) {
      this.#report.noSpill(error);
    }
    this.#goOn();
  }

  /** Hands the records of a window on, at once where nothing waits, or keeps them. Never throws. */
  send(records: readonly MetricRecord[]): void {
    if (records.length === 0) return;
    if (this.#over) this.#report.lost(records.length, "they came after the end of the run");
    else {
      if (this.#opened && !this.#unusable && this.#waiting.isEmpty) this.#waiting.hold(records);
      else this.#waiting.push(records);
      this.#goOn();
    }
  }

  /** Shows how far the run is, where that can be done now. */
  progress(progress: RunProgress): void {
    if (this.#opened && !this.#calls.busy && !this.#over) this.#attempt(() => this.sink.progress?.(progress));
  }

  /** Says something to those who read the sink, as soon as it is free. */
  message(text: string): void {
    if (!this.sink.message || this.#over) return;
    if (this.#messages.push(text) > MESSAGES) this.#messages.shift();
    if (this.#opened && !this.#calls.busy) this.#sayMessages();
  }

  /** Waits until all is filed, but not for ever: what is left by then stays on disk. Never rejects. */
  close(ending: RunEnding): Promise<void> {
    this.#closed ??= this.#close(ending);
    return this.#closed;
  }

  state(): DeliveryState {
    return this.#report.state(this.#waiting.inMemory, this.#waiting.onDisk);
  }

  /** Makes the call that is next, if it is time for one. At most one, so that nobody waits for a long queue. */
  #goOn(): void {
    const run = this.#run;
    if (!run || this.#calls.busy || this.#over || this.#unusable || this.#sinkClosed) return;
    if (!this.#backOff.isDue) return;
    this.#backOff.cancel();
    if (!this.#opened) this.#openSink(run);
    else {
      this.#sayMessages();
      try {
        const batch = this.#waiting.take(this.#limits.batch);
        if (batch.length > 0) this.#write(batch);
        else if (this.#ending) this.#closeSink(this.#ending);
      } catch (error) {
        // The disk does not give back what it took.
        this.#failed(error, false);
      }
    }
  }

  #openSink(run: RunInfo): void {
    this.#call(
      () => this.sink.open?.(run),
      () => {
        this.#opened = true;
      },
    );
  }

  #write(batch: readonly MetricRecord[]): void {
    this.#call(
      () => this.sink.write(batch),
      () => {
        if (!this.#waiting.done()) this.#report.found(batch.length);
        this.#report.written(batch.length);
        this.#refusals = 0;
      },
      (error) => {
        if (this.#waiting.split()) return;
        this.#waiting.done();
        this.#report.refused(error);
        if (++this.#refusals === REFUSALS) this.#giveUp();
      },
    );
  }

  #closeSink(ending: RunEnding): void {
    this.#call(
      () => this.sink.close?.(ending),
      () => {
        this.#sinkClosed = true;
        this.#leave?.();
      },
    );
  }

  #call(make: () => unknown, done: () => void, refused?: (error: unknown) => void): void {
    let overdue = false;
    this.#calls.make(make, {
      done: (held) => {
        this.#backOff.failures = 0;
        done();
        this.#report.took(held, 1000 * this.#limits.slow);
        this.#report.works(this.#waiting.inMemory + this.#waiting.onDisk);
        this.#answered();
      },
      failed: (error) => {
        if (refused && codeOf(error) === "SINK_REFUSED") {
          refused(error);
          this.#answered();
        } else this.#failed(error, overdue);
      },
      overdue: () => {
        overdue = true;
        this.#count(new EspalierError("SINK_SILENT", `no answer for ${this.#limits.deadline} s`));
        this.#waiting.toDisk();
      },
    });
  }

  #answered(): void {
    if (this.#over) this.#abandon();
    else if (!this.#waiting.isEmpty || this.#ending) this.#backOff.soon();
  }

  #failed(error: unknown, counted: boolean): void {
    if (!counted) this.#count(error);
    const code = codeOf(error);
    if (this.#over) this.#abandon();
    else if (code === "SINK_UNUSABLE" || code === "SINK_REFUSED") this.#giveUp();
    else {
      if (this.#backOff.failures >= this.#limits.toDiskAfter) this.#waiting.toDisk();
      this.#backOff.retry();
    }
  }

  /** Makes no call any more: what waits and what comes is for the next process. */
  #giveUp(): void {
    this.#unusable = true;
    this.#waiting.toDisk();
    this.#leave?.();
  }

  #count(error: unknown): void {
    this.#backOff.failures++;
    const path = this.#waiting.spill?.path;
    const kept = `what it does not take waits, up to ${this.#limits.records} values in memory, `;
    this.#report.failed(error, kept + (path === undefined ? "and is then lost" : `and then in ${path}`));
  }

  #sayMessages(): void {
    for (const text of this.#messages.splice(0)) this.#attempt(() => this.sink.message?.(text));
  }

  /** A call that is made once, whatever comes of it. */
  #attempt(call: () => unknown): void {
    const failed = (error: unknown): void => this.#count(error);
    try {
      const answer = call();
      if (answer instanceof Promise) answer.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  async #close(ending: RunEnding): Promise<void> {
    this.#ending = ending;
    if (this.#run && !this.#unusable) {
      const left = new Promise<void>((resolve) => {
        this.#leave = resolve;
      });
      const closing = 1000 * this.#limits.closing;
      const inTime = this.#timers.set(() => this.#leave?.(), closing, { keepAlive: true });
      this.#backOff.cancel();
      this.#goOn();
      await left;
      inTime();
    }
    this.#over = true;
    this.#backOff.cancel();
    this.#waiting.toDisk(true);
    this.#waiting.loseMemory();
    if (!this.#calls.busy) this.#abandon();
    this.#report.closed(this.#waiting.onDisk, this.#waiting.spill?.path);
    this.#waiting.spill?.close();
  }

  /** Closes a sink that did not take everything, so that it lets go of what it holds. Nobody waits for it. */
  #abandon(): void {
    const ending = this.#ending;
    if (!this.#opened || this.#sinkClosed || !ending) return;
    this.#sinkClosed = true;
    this.#attempt(() => this.sink.close?.(ending));
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof EspalierError ? error.code : undefined;
