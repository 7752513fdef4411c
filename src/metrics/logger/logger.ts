import {
  type Clock,
  checkOptions,
  EspalierError,
  type Options,
  option,
  printableText,
  shown,
  systemClock,
  toStandardError,
} from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import { healthMetrics } from "../health/monitor.ts";
import { hookMetrics, type MetricDeclaration } from "../metric.ts";
import type { Reduction } from "../record.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";
import {
  Delivery,
  type DeliveryLimits,
  deliveryLimits,
  type SinkSummary,
} from "../sinks/delivery/delivery.ts";
import { clockOption, type Sink } from "../sinks/sink.ts";
import { ReadQueue, type ReadTensor } from "./read-queue.ts";
import { checkValue, type HostValue, kindOf, type LoggedValue, type Series, toValue } from "./series.ts";
import { SinkRoute, Windows } from "./windows.ts";

/*
 * The way of a metric:
 *
 *   log(values, at, category)   every value finds its metric: owner, kind, reduction        series.ts
 *     |                         values on a device are queued, and those logged after them   read-queue.ts
 *   accumulate                  in the open window of each schedule                          windows.ts, accumulator.ts
 *     |                         a window is due with the first value of a later step
 *   flush                       one record per metric and window, to each sink that wants it
 *     |
 *   deliver                     queue, retry, spill to disk                                  ../sinks/delivery/
 */

const loggerOptions = {
  sinks: option.list<Sink, { readonly required: true }>("a list of sinks, such as [consoleSink()]", {
    required: true,
  }),
  /** Declarations of metrics: see `declareMetric`. */
  metrics: option.list<MetricDeclaration>("a list of what declareMetric gives", {}),
  /** Directory where values that a failing sink cannot take wait for it. Without it they wait in memory, up to a bound. */
  spill: option.text({}),
  /** Limits of delivery that differ from the defaults: how long a sink is waited for, how much waits. */
  delivery: option.group<Partial<DeliveryLimits>>(deliveryLimits, {}),
  clock: clockOption,
  /** Called once for each sink that fails, and for values that are lost. Default: writes to standard error. */
  warn: option.function<(text: string) => void>("a function of a text", {}),
};

/** Options of {@link Logger}. */
export interface LoggerOptions extends Options<typeof loggerOptions> {}

/** Values to log, by name. */
export type LoggedValues = Readonly<Record<string, LoggedValue | unknown>>;

/** Values as they come stacked from the device, or as numbers: the first axis of each is the row. */
export interface LoggedRows {
  readonly values: Readonly<Record<string, Tensor | Float32Array>>;
  readonly rows: number;
  /** Index of the first row. Default: 0. */
  readonly from?: number;
  /** Counters of a row; the first that counts is 0. */
  readonly at: (row: number) => Counters;
  /** NaN means that there was nothing to report: such rows are left out. Default: false. */
  readonly nanIsNone?: boolean;
  /** Reductions by name, for metrics that are not declared. Default: what fits the values. */
  readonly reductions?: Readonly<Record<string, Reduction>>;
}

/** Logs in the name of one owner. */
export interface OwnedLogger {
  log(values: LoggedValues, at: number | Counters, category?: string): void;
  logRows(stack: LoggedRows, category?: string): void;
}

/** Counts of logged values, by what became of them. */
export interface LoggerSummary {
  readonly sinks: readonly SinkSummary[];
  /** Values that were undefined or null, and those that could not be read from the device. */
  readonly missing: number;
  readonly unreadable: number;
}

/** Calls of `log` that may wait for the device before `relief` asks for a pause. */
const mostPending = 1024;

/** Categories that differ from run to run: their windows are not part of the exact state. */
const timed: readonly string[] = ["time", "system"];
const isTimed = ({ category }: Series): boolean => timed.includes(category);
const isExact = (series: Series): boolean => !isTimed(series);

/**
 * The one place where metrics are logged. Call `log` whenever there are values, however often; the logger accumulates
 * them in windows, and when the window of a sink ends, gives it one value per metric. A window ends with all values of
 * its last step, and which hook came first makes no difference.
 *
 * A metric belongs to the first that logs it: a second writer is an error that names both, so that no value ever
 * overwrites another.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [consoleSink(), jsonlSink("runs/metrics.jsonl")] });
 * logger.log({ loss: 0.3, accuracy: 0.9 }, step);
 * logger.log({ accuracy: 0.8 }, step, "validation");
 * await logger.close();
 * ```
 */
export class Logger implements Stateful {
  readonly #options: LoggerOptions;
  readonly #clock: Clock;
  readonly #warn: (text: string) => void;
  readonly #routes: SinkRoute[] = [];
  readonly #windows: Windows;
  readonly #reads: ReadQueue;
  readonly #owned = new Map<string, OwnedLogger>();
  #run: RunInfo | undefined;
  #missing = 0;
  #unreadable = 0;
  #closed: Promise<LoggerSummary> | undefined;

  constructor(options: LoggerOptions) {
    checkOptions("Logger", options, loggerOptions);
    const { sinks, metrics = [], clock = systemClock, warn = toStandardError } = options;
    this.#options = options;
    this.#clock = clock;
    this.#warn = (text) => warn(printableText(text));
    this.#windows = new Windows([...metrics, ...healthMetrics, ...hookMetrics], clock, () =>
      this.#openUnnamed(),
    );
    this.#reads = new ReadQueue((error) => this.#countUnreadable(error));
    for (const sink of sinks) this.add(sink);
  }

  /** Adds a sink, at any time. It gets what is logged from now on. */
  add(sink: Sink): void {
    if (this.#routes.some((route) => route.sink.name === sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `there are two sinks named "${sink.name}"`, {
        fix: "give one of them another name: jsonlSink(path, { name })",
      });
    const other = this.#routes.find(({ sink: { path } }) => path !== undefined && path === sink.path)?.sink;
    if (other)
      throw new EspalierError(
        "SINK_PATH_TAKEN",
        `the sinks "${other.name}" and "${sink.name}" both write ${sink.path}`,
        { fix: "give each of them a file of its own" },
      );
    const { spill, delivery: limits } = this.#options;
    const delivery = new Delivery(sink, { clock: this.#clock, warn: this.#warn, spill, limits });
    const route = new SinkRoute(sink, delivery);
    this.#windows.add(route);
    this.#routes.push(route);
    if (this.#run) this.#openRoute(route, this.#run);
  }

  /** The names of the sinks. */
  get sinks(): readonly string[] {
    return this.#routes.map(({ sink }) => sink.name);
  }

  /**
   * Logs values at a step of the run, or at its counters. A step that goes back is no error: a value whose window has
   * ended is filed under its own step.
   */
  log(values: LoggedValues, at: number | Counters, category = "train"): void {
    this.#log(values, at, category, "program");
  }

  /** A logger that logs in the name of an owner: each hook's context logs in that of the hook. */
  as(owner: string): OwnedLogger {
    let owned = this.#owned.get(owner);
    if (!owned) {
      owned = {
        log: (values, at, category = "train") => this.#log(values, at, category, owner),
        logRows: (stack, category = "train") => this.#logRows(stack, category, owner),
      };
      this.#owned.set(owner, owned);
    }
    return owned;
  }

  /** Tells the sinks which run it is. Without it, they get a run called "run" with the first window. */
  open(run: RunInfo): void {
    this.#run = run;
    for (const route of this.#routes) this.#openRoute(route, run);
  }

  /** Shows how far the run is, in sinks that show it. */
  progress(progress: RunProgress): void {
    for (const { delivery } of this.#routes) delivery.progress(progress);
  }

  /** Shows a message in sinks that people read. */
  message(text: string): void {
    for (const { delivery } of this.#routes) delivery.message(text);
  }

  /** The newest values of metrics that are numbers, by key. */
  latest(): Readonly<Record<string, number>> {
    return this.#windows.latest();
  }

  /** A promise to wait for where so much waits for the device that logging should pause. */
  relief(): Promise<void> | undefined {
    return this.#reads.length > mostPending ? this.#reads.drain() : undefined;
  }

  /** Ends all windows now and sends them to the sinks. */
  flush(): Promise<void> {
    return this.#reads.afterwards(() => this.#windows.flushAll());
  }

  /** Flushes everything. Returns when the sinks are done, or have been given up: see the summary. */
  close(ending: Partial<RunEnding> = {}): Promise<LoggerSummary> {
    this.#closed ??= (async () => {
      await this.flush();
      const end: RunEnding = { outcome: "completed", counters: this.#windows.now, ...ending };
      // A run that ended early may not have come to the metrics that a sink wants.
      if (end.outcome === "completed" || end.outcome === "stopped")
        for (const route of this.#routes) {
          const warning = route.nothingWanted(this.#windows.book.all);
          if (warning !== undefined) this.#warn(warning);
        }
      await Promise.all(this.#routes.map(({ delivery }) => delivery.close(end)));
      return this.summary();
    })();
    return this.#closed;
  }

  /** True once `close` was called: what is logged from then on is lost. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  summary(): LoggerSummary {
    return {
      sinks: this.#routes.map(({ delivery }) => delivery.summary()),
      missing: this.#missing,
      unreadable: this.#unreadable,
    };
  }

  /** Its open windows, with which those of a resumed run go on. */
  getState(): StateTree | Promise<StateTree> {
    return this.#stateWhenRead(isExact);
  }

  setState(state: StateTree): void {
    this.#windows.setState(state, isExact);
  }

  /** The open windows of metrics that differ from run to run: times, and what the machine was doing. */
  readonly time: Stateful = {
    getState: () => this.#stateWhenRead(isTimed),
    setState: (state) => this.#windows.setState(state, isTimed),
  };

  #stateWhenRead(choose: (series: Series) => boolean): StateTree | Promise<StateTree> {
    if (this.#reads.isEmpty) return this.#windows.getState(choose);
    let state: StateTree = null;
    // What is logged while it is read belongs to a later step.
    const ready = this.#reads.afterwards(() => {
      state = this.#windows.getState(choose);
    });
    return ready.then(() => state);
  }

  /** Takes all values, and throws the first error about one of them afterwards. */
  #log(values: LoggedValues, at: number | Counters, category: string, owner: string): void {
    const counters = typeof at === "number" ? this.#countersAt(at) : at;
    const { book } = this.#windows;
    const known = book.category(category);
    const isIdle = this.#reads.isEmpty;
    if (isIdle) this.#windows.advanceTo(counters);
    const pending: { readonly series: Series; readonly value: HostValue | Tensor }[] = [];
    let firstError: unknown;
    for (const name in values) {
      try {
        const given = values[name];
        const value = typeof given === "number" ? given : toValue(given, category, name);
        if (value === undefined) {
          this.#missing++;
          continue;
        }
        const series = known.get(name) ?? book.add(category, name, kindOf(value), owner);
        // Most values are numbers, as were those before.
        if (typeof value !== "number" || series.kind !== "number" || series.owner !== owner)
          checkValue(series, owner, kindOf(value));
        if (isIdle && (typeof value !== "object" || !(value instanceof Tensor))) {
          this.#windows.accumulate(series, value, counters);
          continue;
        }
        // The caller may reuse its array.
        const isArrayLike = typeof value === "object" && !(value instanceof Tensor);
        pending.push({ series, value: isArrayLike ? Array.from(value) : value });
      } catch (error) {
        firstError ??= error;
      }
    }
    if (pending.length > 0) {
      const accumulate = (read: ReadTensor): void => {
        this.#windows.advanceTo(counters);
        for (const { series, value } of pending) {
          const numbers = value instanceof Tensor ? read(value) : value;
          if (numbers === undefined) continue;
          const isSingle = typeof numbers === "object" && value instanceof Tensor && value.size === 1;
          this.#windows.accumulate(series, isSingle ? Number(numbers[0]) : numbers, counters);
        }
      };
      const tensors = pending.map(({ value }) => value).filter(isTensor);
      this.#reads.add(tensors, accumulate, this.#windows.mayEnd(counters));
    }
    if (firstError !== undefined) throw firstError;
  }

  #logRows(stack: LoggedRows, category: string, owner: string): void {
    const { values, rows, from = 0, at, nanIsNone = false, reductions = {} } = stack;
    if (rows === 0) return;
    const { book } = this.#windows;
    const known = book.category(category);
    const series = Object.entries(values).map(([name, stacked]) => {
      const kind = stacked instanceof Tensor && stacked.ndim > 1 ? "many" : "number";
      const found = known.get(name) ?? book.add(category, name, kind, owner, reductions[name]);
      checkValue(found, owner, kind);
      return found;
    });
    const given = Object.values(values);
    const sizes = given.map((value) =>
      value instanceof Tensor && value.ndim > 1 ? value.size / (value.shape[0] ?? 1) : undefined,
    );
    const accumulate = (read: ReadTensor): void => {
      const stacks = given.map((value) => (value instanceof Tensor ? read(value) : value));
      for (let row = from; row < from + rows; row++) {
        const counters = at(row - from);
        this.#windows.advanceTo(counters);
        for (let i = 0; i < series.length; i++) {
          const stack = stacks[i];
          if (stack === undefined) continue;
          const size = sizes[i];
          const value =
            size === undefined ? Number(stack[row]) : stack.subarray(row * size, (row + 1) * size);
          if (nanIsNone && Number.isNaN(value)) continue;
          this.#windows.accumulate(series[i] as Series, value, counters); // One for each value.
        }
      }
    };
    this.#reads.add(given.filter(isTensor), accumulate, this.#windows.mayEnd(at(rows - 1)));
  }

  #countersAt(step: number): Counters {
    const { now } = this.#windows;
    if (step === now.steps) return now;
    if (Number.isFinite(step) && step >= 0) return { ...now, steps: step };
    throw new EspalierError("STEP_INVALID", `the step is ${shown(step)}`, {
      fix: "give a number from 0 on, or the counters of a run",
    });
  }

  #countUnreadable(error: unknown): void {
    if (this.#unreadable++ === 0)
      this.#warn(`a logged value could not be read from its device and is missing: ${String(error)}`);
  }

  #openRoute(route: SinkRoute, run: RunInfo): void {
    const filedUpTo = run.resumedAt && this.#windows.flushedUpTo(route, run.resumedAt);
    route.delivery.open(filedUpTo ? { ...run, filedUpTo } : run);
  }

  #openUnnamed(): void {
    if (!this.#run) this.open({ id: "run", name: "run", startedAt: this.#clock.wall(), config: null });
  }
}

const isTensor = (value: unknown): value is Tensor => value instanceof Tensor;

/** The logger under the name that document 004 gives it. */
export { Logger as SmartLogger };
