import {
  type Clock,
  codeOf,
  EspalierError,
  messageOf,
  option,
  resolveOptions,
  type Settings,
} from "../../../core/index.ts";
import type { MetricRecord } from "../../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../../run-info.ts";
import type { SinkFiles } from "../files.ts";
import type { Sink } from "../sink.ts";
import { openSpillFile, RecordQueue } from "./queue.ts";

/*
 * Between the logger and one sink:
 *
 *   send(records)     puts them into the queue: bounded memory, then a file (queue.ts)
 *   #next()           makes one call to the sink: open, write the oldest batch, or close
 *     it returns      the batch leaves the queue, the next call follows soon
 *     it throws       the same call again after 0.1 s, 0.2 s, ... 30 s; after 3 failures the queue goes to disk
 *     SINK_REFUSED    the batch is halved until the bad record is alone; that record is lost
 *     SINK_UNUSABLE   no call is made any more; records go to disk for the next process
 *     no answer       counts as a failure, but the call is not repeated: it may still succeed
 *   close(ending)     waits for the queue to empty, at most 10 s, and not for a path that the file system refuses; what
 *                     is left stays on disk
 *
 *   state   opening --> open <--> failing        a call succeeds, a call fails
 *           any of them --> unusable             the sink has been given up
 *           any of them --> closed               close() is over
 */

type State = "opening" | "open" | "failing" | "unusable" | "closed";

const isSeconds = (value: unknown): boolean => typeof value === "number" && value >= 0;

const limit = <const D extends number>(value: D) => option.number({ min: 0, infinite: true, default: value });

type RetryTimes = readonly [first: number, longest: number];

/** The limits with their defaults. */
export const deliveryLimits = {
  /** Records that wait in memory. Default: 10,000. */
  records: limit(10_000),
  /** Records of one call, where several windows wait. Default: 1,000. */
  batch: option.integer({ min: 1, default: 1_000 }),
  /** Seconds after which a call without an answer counts as failed. Default: 30. */
  deadline: limit(30),
  /** Seconds for which `close` waits. Default: 10. */
  closing: limit(10),
  /** Seconds before a failed call is repeated: at first, and at most. It doubles in between. Default: `[0.1, 30]`. */
  retry: option.made<RetryTimes, { readonly default: RetryTimes }>(
    "two times in seconds, such as [0.1, 30]",
    (value) => Array.isArray(value) && value.length === 2 && value.every(isSeconds),
    { default: [0.1, 30] },
  ),
  /** Failures in a row after which the queue goes to disk, in case the process dies. Default: 3. */
  toDiskAfter: limit(3),
  /** Largest size of a spill file in bytes. Default: 2^30, a gibibyte. */
  spillBytes: limit(2 ** 30),
  /** A synchronous call that takes more seconds holds training up, which is warned of. Default: 0.05. */
  slow: limit(0.05),
};

/**
 * Limits of delivery. All times are in seconds.
 *
 * @example
 * ```ts
 * // A service that may be away for minutes: two of them for an answer, one for what is left at the end.
 * const logger = new Logger({ sinks, delivery: { deadline: 120, closing: 60 } });
 * ```
 */
export interface DeliveryLimits extends Settings<typeof deliveryLimits> {}

/** Timers as an injected part, so that retries can be tested without waiting. */
export interface Timers {
  /** Calls `action` after some milliseconds. Returns a function that cancels it. */
  set(action: () => void, milliseconds: number, options?: { readonly keepAlive?: boolean }): () => void;
}

/** Node takes longer timeouts for none at all. It is 24 days. */
const longestTimeout = 2 ** 31 - 1;

/** The timers of Node. By default they do not keep the process alive. */
const systemTimers: Timers = {
  set(action, milliseconds, { keepAlive = false } = {}) {
    if (milliseconds === 0 && !keepAlive) {
      // A timeout of 0 is one of a millisecond, in which a sink that answers at once could take many batches.
      const immediate = setImmediate(action).unref();
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(action, Math.min(milliseconds, longestTimeout));
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Options of {@link Delivery}. */
export interface DeliveryOptions {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  /** Directory for what a failing sink does not take. Without it the oldest beyond `limits.records` are lost. */
  readonly spill?: string | undefined;
  readonly limits?: Partial<DeliveryLimits> | undefined;
  /** Default: those of Node, as with `files`. */
  readonly timers?: Timers | undefined;
  readonly files?: SinkFiles | undefined;
}

/** Messages that wait for a busy sink. */
const MESSAGES = 100;
/** A sink that refuses this many records, and takes none in between, refuses everything. */
const REFUSALS = 20;
/** Slow synchronous calls before it is warned of. */
const SLOW_CALLS = 3;

/**
 * Brings records to a sink: one call at a time, in order, repeated after a failure. Never throws, and never holds
 * training up.
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
  readonly #queue: RecordQueue;
  readonly #messages: string[] = [];
  #state: State = "opening";
  #run: RunInfo | undefined;
  /** A call has not answered yet. */
  #busy = false;
  /** The sink's own open() has succeeded, and its close() has not been called. */
  #sinkOpen = false;
  #refusals = 0;
  #slowCalls = 0;
  /** Failed calls in a row, up to now. */
  #failures = 0;
  /** When the next call is due, also where a busy process lets no timer run. */
  #due = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;
  /** Records filed and lost, failed calls, and the last error. */
  readonly #counts = { written: 0, lost: 0, failures: 0, lastError: undefined as string | undefined };
  /** Kinds of trouble that were warned of: each is said once. */
  readonly #said = new Set<string>();
  #ending: RunEnding | undefined;
  #closed: Promise<void> | undefined;
  /** Ends the waiting of `close`. */
  #stopWaiting: (() => void) | undefined;

  constructor(sink: Sink, options: DeliveryOptions) {
    const { clock, timers = systemTimers } = options;
    this.sink = sink;
    this.#options = options;
    this.#limits = resolveOptions("delivery", options.limits ?? {}, deliveryLimits);
    this.#timers = timers;
    this.#queue = new RecordQueue(clock, this.#limits.records, (count, why) => this.#lose(count, why));
  }

  /** Opens the sink for a run. What an earlier process of this run left on disk is delivered first. */
  open(run: RunInfo): void {
    if (this.#run) return;
    this.#run = run;
    const { spill, files } = this.#options;
    const { spillBytes } = this.#limits;
    try {
      if (spill !== undefined)
        this.#queue.spill = openSpillFile(spill, { sink: this.sink.name, run, bytes: spillBytes, files });
    } catch (error) {
      this.#say("spill", `has no place on disk for what it may not take: ${this.#note(error)}`);
    }
    this.#next();
  }

  /** Delivers the records of a window, at once where nothing waits. */
  send(records: readonly MetricRecord[]): void {
    if (records.length === 0) return;
    if (this.#state === "closed") {
      this.#lose(records.length, "they came after the end of the run");
      return;
    }
    if (this.#state === "open" && this.#queue.isEmpty) this.#queue.hold(records);
    else this.#queue.push(records);
    this.#next();
  }

  /** Shows how far the run is, unless the sink is busy. */
  progress(progress: RunProgress): void {
    if (this.#sinkOpen && !this.#busy) this.#attempt(() => this.sink.progress?.(progress));
  }

  /** Shows a message to people who read the sink, as soon as it is free. */
  message(text: string): void {
    if (!this.sink.message || this.#state === "closed") return;
    if (this.#messages.push(text) > MESSAGES) this.#messages.shift();
    if (this.#sinkOpen && !this.#busy) this.#showMessages();
  }

  /** Waits until everything is delivered, `limits.closing` seconds at most. Never rejects. */
  close(ending: RunEnding): Promise<void> {
    this.#closed ??= this.#close(ending);
    return this.#closed;
  }

  summary(): SinkSummary {
    return {
      name: this.sink.name,
      waiting: this.#queue.inMemory,
      spilled: this.#queue.onDisk,
      ...this.#counts,
    };
  }

  /** Makes the next call if one is due. At most one, so that the caller does not wait for a long queue. */
  #next(): void {
    const run = this.#run;
    if (!run || this.#busy || this.#state === "unusable" || this.#state === "closed") return;
    if (this.#options.clock.now() < this.#due) return;
    this.#cancelNext();
    if (!this.#sinkOpen) {
      this.#call(
        () => this.sink.open?.(run),
        () => {
          this.#sinkOpen = true;
        },
      );
      return;
    }
    this.#showMessages();
    try {
      const batch = this.#queue.take(this.#limits.batch);
      if (batch.length > 0) this.#write(batch);
      else if (this.#ending) this.#closeSink(this.#ending);
    } catch (error) {
      // The spill file cannot be read.
      this.#failed(error, false);
    }
  }

  /** Has the next call made after some milliseconds. */
  #nextAfter(wait: number): void {
    this.#cancelNext();
    this.#due = this.#options.clock.now() + wait;
    this.#cancelTimer = this.#timers.set(() => {
      this.#cancelNext();
      this.#next();
    }, wait);
  }

  #cancelNext(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #write(batch: readonly MetricRecord[]): void {
    this.#call(
      () => this.sink.write(batch),
      () => {
        // It may have been counted as lost when the run ended.
        if (!this.#queue.done()) this.#counts.lost -= batch.length;
        this.#counts.written += batch.length;
        this.#refusals = 0;
      },
      (error) => {
        if (this.#queue.split()) return;
        this.#queue.done();
        this.#counts.failures++;
        this.#lose(1, `it refuses them: ${this.#note(error)}`);
        if (++this.#refusals === REFUSALS) this.#giveUp();
      },
    );
  }

  #closeSink(ending: RunEnding): void {
    this.#call(
      () => this.sink.close?.(ending),
      () => {
        this.#sinkOpen = false;
        this.#state = "closed";
        this.#stopWaiting?.();
      },
    );
  }

  /**
   * Makes a call that may be asynchronous. One that does not answer is not abandoned: as long as it may still succeed,
   * repeating it could file records twice.
   */
  #call(make: () => unknown, done: () => void, refused?: (error: unknown) => void): void {
    const { clock } = this.#options;
    const started = clock.now();
    let isOverdue = false;
    const failed = (error: unknown): void => {
      if (refused && codeOf(error) === "SINK_REFUSED") {
        refused(error);
        this.#answered();
      } else this.#failed(error, isOverdue);
    };
    let answer: unknown;
    try {
      answer = make();
    } catch (error) {
      failed(error);
      return;
    }
    const milliseconds = clock.now() - started;
    const succeeded = (): void => {
      this.#failures = 0;
      done();
      this.#warnSlow(milliseconds);
      if (this.#said.has("failed")) this.#say("works", `works again${this.#waitingText()}`);
      if (this.#state !== "closed") this.#state = "open";
      this.#answered();
    };
    if (!isPromise(answer)) {
      succeeded();
      return;
    }
    this.#busy = true;
    const cancelDeadline = this.#timers.set(() => {
      isOverdue = true;
      this.#countFailure(new EspalierError("SINK_SILENT", `no answer for ${this.#limits.deadline} s`));
      this.#queue.toDisk();
    }, 1000 * this.#limits.deadline);
    const settled =
      <A extends readonly unknown[]>(then: (...args: A) => void) =>
      (...args: A): void => {
        cancelDeadline();
        this.#busy = false;
        then(...args);
      };
    answer.then(settled(succeeded), settled(failed));
  }

  /** After a call that need not be repeated: goes on with the next one. */
  #answered(): void {
    if (this.#state === "closed") this.#abandonSink();
    else if (!this.#queue.isEmpty || this.#ending) this.#nextAfter(0);
  }

  #failed(error: unknown, isCounted: boolean): void {
    if (!isCounted) this.#countFailure(error);
    const code = codeOf(error);
    if (this.#state === "closed") this.#abandonSink();
    else if (code === "SINK_UNUSABLE" || code === "SINK_REFUSED" || (this.#ending && isPathRefused(error)))
      this.#giveUp();
    else {
      const { toDiskAfter, retry } = this.#limits;
      const [first, longest] = retry;
      if (this.#failures >= toDiskAfter) this.#queue.toDisk();
      this.#nextAfter(1000 * Math.min(longest, first * 2 ** Math.min(this.#failures - 1, 50)));
    }
  }

  #countFailure(error: unknown): void {
    this.#failures++;
    if (this.#state === "opening" || this.#state === "open") this.#state = "failing";
    const path = this.#queue.spill?.path;
    const kept = `what it does not take waits, up to ${this.#limits.records} values in memory, `;
    const rest = path === undefined ? "and is then lost" : `and then in ${path}`;
    this.#counts.failures++;
    this.#say("failed", `fails: ${this.#note(error)}. Training goes on; ${kept}${rest}`);
  }

  /** Makes no call any more: what waits and what comes goes to disk for the next process. */
  #giveUp(): void {
    this.#state = "unusable";
    this.#queue.toDisk();
    this.#stopWaiting?.();
  }

  #showMessages(): void {
    for (const text of this.#messages.splice(0)) this.#attempt(() => this.sink.message?.(text));
  }

  /** Makes a call once, whatever comes of it. */
  #attempt(call: () => unknown): void {
    const failed = (error: unknown): void => this.#countFailure(error);
    try {
      const answer = call();
      if (answer instanceof Promise) answer.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  async #close(ending: RunEnding): Promise<void> {
    this.#ending = ending;
    if (this.#run && this.#state !== "unusable")
      await new Promise<void>((resolve) => {
        const cancel = this.#timers.set(resolve, 1000 * this.#limits.closing, { keepAlive: true });
        this.#stopWaiting = () => {
          cancel();
          resolve();
        };
        this.#cancelNext();
        this.#next();
      });
    this.#state = "closed";
    this.#cancelNext();
    this.#queue.toDisk(true);
    this.#queue.loseMemory();
    if (!this.#busy) this.#abandonSink();
    this.#warnMissing();
    this.#queue.spill?.close();
  }

  /** Closes a sink that did not take everything, so that it frees what it holds. Its answer is not waited for. */
  #abandonSink(): void {
    const ending = this.#ending;
    if (!this.#sinkOpen || !ending) return;
    this.#sinkOpen = false;
    this.#attempt(() => this.sink.close?.(ending));
  }

  /** Keeps an error for the summary. Returns it in one line. */
  #note(error: unknown): string {
    const text = messageOf(error).replace(/\s*\n\s*/g, "; ");
    this.#counts.lastError = text;
    return text;
  }

  #lose(count: number, why: string): void {
    this.#counts.lost += count;
    this.#say("lost", `loses values: ${why}`);
  }

  #waitingText(): string {
    const waiting = this.#queue.inMemory + this.#queue.onDisk;
    return waiting > 0 ? `; what waited comes now: ${values(waiting)}` : "";
  }

  #warnSlow(milliseconds: number): void {
    const longest = 1000 * this.#limits.slow;
    if (milliseconds <= longest || ++this.#slowCalls < SLOW_CALLS) return;
    const last = `the last one ${Math.round(milliseconds)} ms`;
    this.#say("slow", `holds training up: ${SLOW_CALLS} calls took over ${longest} ms, ${last}`);
  }

  #warnMissing(): void {
    const { written, lost, lastError } = this.#counts;
    const { onDisk, spill } = this.#queue;
    const cause = lastError === undefined ? "" : ` (${lastError})`;
    if (onDisk > 0)
      this.#say(
        "left",
        `has not taken ${values(onDisk)}${cause}: they are in ${spill?.path} until the run is resumed`,
      );
    if (lost > 0) this.#say("missing", `is missing ${values(lost)} of ${written + lost + onDisk}`);
  }

  #say(kind: string, text: string): void {
    if (this.#said.has(kind)) return;
    this.#said.add(kind);
    try {
      this.#options.warn(`sink "${this.sink.name}" ${text}`);
    } catch {
      // A warning that cannot be shown must not stop delivery.
    }
  }
}

const isPromise = (answer: unknown): answer is PromiseLike<unknown> =>
  typeof answer === "object" && answer !== null && "then" in answer && typeof answer.then === "function";

const pathRefusals = ["EACCES", "EEXIST", "EISDIR", "ENOENT", "ENOTDIR", "EPERM", "EROFS"];

/** True for an error of the file system that stays until somebody does something about the path. */
const isPathRefused = (error: unknown): boolean =>
  error instanceof Error &&
  (pathRefusals.includes((error as NodeJS.ErrnoException).code ?? "") || isPathRefused(error.cause));

/** Counts of the records of one sink, by what became of them. */
export interface SinkSummary {
  readonly name: string;
  /** Records filed by this process. */
  readonly written: number;
  /** Records in memory that are not filed yet. */
  readonly waiting: number;
  /** Records on disk that are not filed yet. They come next, or in the next process of the run. */
  readonly spilled: number;
  /** Records that will never be filed. */
  readonly lost: number;
  /** Calls that failed. */
  readonly failures: number;
  readonly lastError: string | undefined;
}

const values = (count: number): string => `${count} value${count === 1 ? "" : "s"}`;
