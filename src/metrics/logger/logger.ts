import { type Clock, checkNames, EspalierError, shown, systemClock } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import { healthMetrics } from "../health/declarations.ts";
import { hookMetrics } from "../hook/declarations.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";
import { Delivery } from "../sinks/delivery/delivery.ts";
import { deliveryLimits } from "../sinks/delivery/delivery-options.ts";
import type { Sink } from "../sinks/sink.ts";
import { checkKind, kindOf, twoWriters } from "./checks.ts";
import { readable } from "./logged-value.ts";
import type {
  LoggedRows,
  LoggedValues,
  LoggerOptions,
  LoggerSummary,
  OwnedLogger,
} from "./logger-options.ts";
import { Outlet } from "./outlet.ts";
import type { Series } from "./series.ts";
import { isTensor, type Read, Timeline, type Waiting } from "./timeline.ts";
import { Windows } from "./windows.ts";

/** Categories of what no two runs share: their windows are not part of the exact state. */
const timed: readonly string[] = ["time", "system"];

/**
 * The one place where metrics are logged. Whoever has values calls `log`, every time, and never asks how often; the
 * logger gathers them in windows, and when a sink's window ends, hands it one value a metric. A window ends with all
 * values of its last step, and which hook came first makes no difference.
 *
 * A metric belongs to whoever logs it first: a second writer is an error that names both, so that no value ever
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
  readonly #clock: Clock;
  readonly #warn: (text: string) => void;
  readonly #outlets: Outlet[] = [];
  readonly #windows: Windows;
  readonly #timeline: Timeline;
  readonly #spill: string | undefined;
  readonly #limits: LoggerOptions["delivery"];
  readonly #owned = new Map<string, OwnedLogger>();
  #missing = 0;
  #unreadable = 0;
  #run: RunInfo | undefined;
  #closed: Promise<LoggerSummary> | undefined;

  constructor(options: LoggerOptions) {
    checkNames("Logger", options, ["sinks", "metrics", "spill", "delivery", "clock", "warn"]);
    this.#clock = options.clock ?? systemClock;
    this.#warn = options.warn ?? ((text) => void process.stderr.write(`${text}\n`));
    this.#spill = options.spill;
    checkNames("Logger: delivery", options.delivery ?? {}, Object.keys(deliveryLimits));
    this.#limits = options.delivery;
    this.#windows = new Windows(
      [...(options.metrics ?? []), ...healthMetrics, ...hookMetrics],
      this.#clock,
      () => this.#openUnnamed(),
    );
    this.#timeline = new Timeline(
      (waiting, read) => this.#takeWaiting(waiting, read),
      (error) => this.#lose(error),
    );
    for (const sink of options.sinks) this.add(sink);
  }

  /** Adds a sink, before or while others get theirs. It gets what is logged from now on. */
  add(sink: Sink): void {
    if (this.#outlets.some((outlet) => outlet.sink.name === sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `there are two sinks named "${sink.name}"`, {
        fix: "give one of them another name: jsonlSink(path, { name })",
      });
    const delivery = new Delivery(sink, {
      clock: this.#clock,
      warn: this.#warn,
      spill: this.#spill,
      limits: this.#limits,
    });
    const outlet = new Outlet(sink, delivery);
    this.#windows.add(outlet);
    this.#outlets.push(outlet);
    if (this.#run) this.#openOutlet(outlet, this.#run);
  }

  /** The sinks' names. */
  get sinks(): readonly string[] {
    return this.#outlets.map(({ sink }) => sink.name);
  }

  /**
   * Takes values at a step of the run, or at its counters. A step that goes back is no error: what belongs to a window
   * that has ended is filed under its own step.
   */
  log(values: LoggedValues, at: number | Counters, category = "train"): void {
    this.#take(values, at, category, "program");
  }

  /** The same in somebody's name: each hook's context logs in that hook's. */
  as(owner: string): OwnedLogger {
    let own = this.#owned.get(owner);
    if (!own) {
      own = {
        log: (values, at, category = "train") => this.#take(values, at, category, owner),
        logRows: (stack, category = "train") => this.#takeRows(stack, category, owner),
      };
      this.#owned.set(owner, own);
    }
    return own;
  }

  /** Tells the sinks which run it is. Without it, they get a run called "run" with the first window. */
  open(run: RunInfo): void {
    this.#run = run;
    for (const outlet of this.#outlets) this.#openOutlet(outlet, run);
  }

  /** Shows how far the run is, where a sink shows it. */
  progress(progress: RunProgress): void {
    for (const { delivery } of this.#outlets) delivery.progress(progress);
  }

  /** Says something where people read. */
  message(text: string): void {
    for (const { delivery } of this.#outlets) delivery.message(text);
  }

  /** Newest values of metrics that are numbers, by key. */
  latest(): Readonly<Record<string, number>> {
    return this.#windows.latest();
  }

  /** A promise where so much waits for the device that whoever logs should wait too. */
  relief(): Promise<void> | undefined {
    return this.#timeline.length > 1024 ? this.#timeline.drain() : undefined;
  }

  /** Ends all windows now and hands them to the sinks. */
  flush(): Promise<void> {
    return this.#timeline.afterwards(() => this.#windows.closeAll());
  }

  /** Hands out everything that is left. Returns when the sinks are done, or have been given up: see the summary. */
  close(ending: Partial<RunEnding> = {}): Promise<LoggerSummary> {
    this.#closed ??= (async () => {
      await this.flush();
      const end: RunEnding = { outcome: "completed", counters: this.#windows.now, ...ending };
      await Promise.all(this.#outlets.map(({ delivery }) => delivery.close(end)));
      return this.summary();
    })();
    return this.#closed;
  }

  summary(): LoggerSummary {
    return {
      sinks: this.#outlets.map(({ delivery }) => delivery.state()),
      missing: this.#missing,
      unreadable: this.#unreadable,
    };
  }

  /** Its open windows, so that a resumed run's go on. */
  getState(): StateTree | Promise<StateTree> {
    return this.#stateWhenRead((series) => !timed.includes(series.category));
  }

  setState(state: StateTree): void {
    this.#windows.setState(state, (series) => !timed.includes(series.category));
  }

  /** The open windows of what no two runs share: times, and what the machine was doing. */
  readonly time: Stateful = {
    getState: () => this.#stateWhenRead((series) => timed.includes(series.category)),
    setState: (state) => this.#windows.setState(state, (series) => timed.includes(series.category)),
  };

  #stateWhenRead(choose: (series: Series) => boolean): StateTree | Promise<StateTree> {
    if (this.#timeline.idle) return this.#windows.getState(choose);
    let state: StateTree = null;
    // What is logged while it is read belongs to a later step.
    const ready = this.#timeline.afterwards(() => {
      state = this.#windows.getState(choose);
    });
    return ready.then(() => state);
  }

  #openOutlet(outlet: Outlet, run: RunInfo): void {
    const filedUpTo = run.resumedAt && this.#windows.filedUpTo(outlet, run.resumedAt);
    outlet.delivery.open(filedUpTo ? { ...run, filedUpTo } : run);
  }

  /** Whoever does not say which run it is gets one called "run". */
  #openUnnamed(): void {
    if (!this.#run) this.open({ id: "run", name: "run", startedAt: this.#clock.wall(), config: null });
  }

  #take(values: LoggedValues, at: number | Counters, category: string, owner: string): void {
    const counters = typeof at === "number" ? this.#countersAt(at) : at;
    const known = this.#windows.book.category(category);
    const idle = this.#timeline.idle;
    if (idle) this.#windows.moveTo(counters);
    let waiting: { series: Series[]; values: Waiting["values"][number][]; tensors: number } | undefined;
    let bad: unknown;
    for (const name in values) {
      let value = values[name] as Waiting["values"][number] | undefined;
      try {
        if (typeof value !== "number") value = readable(value, category, name);
        if (value === undefined) {
          this.#missing++;
          continue;
        }
        const series = known.get(name) ?? this.#windows.book.begin(category, name, kindOf(value), owner);
        if (series.owner !== owner) throw twoWriters(series, owner);
        if (typeof value !== "number" || series.kind !== "number") checkKind(series, kindOf(value));
        const tensor = typeof value === "object" && value instanceof Tensor;
        if (idle && !tensor) {
          this.#windows.fold(series, value as number, counters);
          continue;
        }
        waiting ??= { series: [], values: [], tensors: 0 };
        waiting.series.push(series);
        waiting.values.push(
          typeof value === "object" && !tensor ? Array.from(value as ArrayLike<number>) : value,
        );
        if (tensor) waiting.tensors++;
      } catch (error) {
        // The others are taken all the same.
        bad ??= error;
      }
    }
    if (waiting)
      this.#timeline.add(
        { series: waiting.series, values: waiting.values, at: counters, rows: undefined },
        waiting.tensors,
        this.#windows.reached(counters),
      );
    if (bad !== undefined) throw bad;
  }

  #takeRows({ values, rows, from = 0, at }: LoggedRows, category: string, owner: string): void {
    if (rows === 0) return;
    const known = this.#windows.book.category(category);
    const names = Object.keys(values);
    const series = names.map((name) => {
      const kind = (values[name] as Tensor).ndim > 1 ? "many" : "number";
      const found = known.get(name) ?? this.#windows.book.begin(category, name, kind, owner);
      if (found.owner !== owner) throw twoWriters(found, owner);
      checkKind(found, kind);
      return found;
    });
    const tensors = names.map((name) => values[name] as Tensor);
    this.#timeline.add(
      { series, values: tensors, at, rows, from },
      tensors.length,
      this.#windows.reached(at(rows - 1)),
    );
  }

  /** Values whose turn has come. */
  #takeWaiting({ series, values, at, rows, from = 0 }: Waiting, read: Read): void {
    const numbers = values.map((value) => (isTensor(value) ? read(value) : value));
    for (let row = 0; row < (rows ?? 1); row++) {
      const counters = typeof at === "function" ? at(row) : at;
      this.#windows.moveTo(counters);
      for (let i = 0; i < series.length; i++) {
        const value = numbers[i];
        if (value === undefined) continue;
        const tensor = values[i] as Waiting["values"][number];
        const each = series[i] as Series;
        if (!isTensor(tensor)) this.#windows.fold(each, value as number, counters);
        else if (rows === undefined)
          this.#windows.fold(
            each,
            tensor.size === 1 ? Number((value as ArrayLike<number>)[0]) : value,
            counters,
          );
        else if (tensor.ndim <= 1)
          this.#windows.fold(each, Number((value as ArrayLike<number>)[from + row]), counters);
        else {
          const size = tensor.size / (tensor.shape[0] as number);
          const start = (from + row) * size;
          this.#windows.fold(each, (value as Float32Array).subarray(start, start + size), counters);
        }
      }
    }
  }

  #countersAt(step: number): Counters {
    const { now } = this.#windows;
    if (step === now.steps) return now;
    if (Number.isFinite(step) && step >= 0) return { ...now, steps: step };
    throw new EspalierError("STEP_INVALID", `the step is ${shown(step)}`, {
      fix: "give a number from 0 on, or the counters of a run",
    });
  }

  #lose(error: unknown): void {
    if (this.#unreadable++ === 0)
      this.#warn(`a logged value could not be read from its device and is missing: ${String(error)}`);
  }
}

/** The logger under the name that document 004 gives it. */
export { Logger as SmartLogger };
