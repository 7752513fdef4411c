import {
  type Clock,
  checkNames,
  checkOptions,
  EspalierError,
  printableText,
  systemClock,
} from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import { healthMetrics } from "../health/declarations.ts";
import { hookMetrics } from "../hook/declarations.ts";
import type { RunEnding, RunInfo, RunProgress } from "../run-info.ts";
import { Delivery, deliveryLimits } from "../sinks/delivery/delivery.ts";
import type { Sink } from "../sinks/sink.ts";
import { Intake } from "./intake.ts";
import type { LoggedValues, LoggerOptions, LoggerSummary, OwnedLogger } from "./logger-options.ts";
import { Outlet } from "./outlet.ts";
import type { Series } from "./series.ts";
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
  readonly #intake: Intake;
  readonly #spill: string | undefined;
  readonly #limits: LoggerOptions["delivery"];
  readonly #owned = new Map<string, OwnedLogger>();
  #run: RunInfo | undefined;
  #closed: Promise<LoggerSummary> | undefined;

  constructor(options: LoggerOptions) {
    checkNames("Logger", options, ["sinks", "metrics", "spill", "delivery", "clock", "warn"]);
    this.#clock = options.clock ?? systemClock;
    const told = options.warn ?? ((text) => void process.stderr.write(`${text}\n`));
    this.#warn = (text) => told(printableText(text));
    this.#spill = options.spill;
    checkOptions("Logger: delivery", options.delivery ?? {}, deliveryLimits);
    this.#limits = options.delivery;
    this.#windows = new Windows(
      [...(options.metrics ?? []), ...healthMetrics, ...hookMetrics],
      this.#clock,
      () => this.#openUnnamed(),
    );
    this.#intake = new Intake(this.#windows, this.#warn);
    for (const sink of options.sinks) this.add(sink);
  }

  /** Adds a sink, before or while others get theirs. It gets what is logged from now on. */
  add(sink: Sink): void {
    if (this.#outlets.some((outlet) => outlet.sink.name === sink.name))
      throw new EspalierError("SINK_NAME_TAKEN", `there are two sinks named "${sink.name}"`, {
        fix: "give one of them another name: jsonlSink(path, { name })",
      });
    const other = this.#outlets.find(({ sink: { path } }) => path !== undefined && path === sink.path)?.sink;
    if (other)
      throw new EspalierError(
        "SINK_PATH_TAKEN",
        `the sinks "${other.name}" and "${sink.name}" both write ${sink.path}`,
        { fix: "give each of them a file of its own" },
      );
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
    this.#intake.take(values, at, category, "program");
  }

  /** The same in somebody's name: each hook's context logs in that hook's. */
  as(owner: string): OwnedLogger {
    let own = this.#owned.get(owner);
    if (!own) {
      own = {
        log: (values, at, category = "train") => this.#intake.take(values, at, category, owner),
        logRows: (stack, category = "train") => this.#intake.takeRows(stack, category, owner),
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
    return this.#intake.timeline.length > 1024 ? this.#intake.timeline.drain() : undefined;
  }

  /** Ends all windows now and hands them to the sinks. */
  flush(): Promise<void> {
    return this.#intake.timeline.afterwards(() => this.#windows.closeAll());
  }

  /** Hands out everything that is left. Returns when the sinks are done, or have been given up: see the summary. */
  close(ending: Partial<RunEnding> = {}): Promise<LoggerSummary> {
    this.#closed ??= (async () => {
      await this.flush();
      const end: RunEnding = { outcome: "completed", counters: this.#windows.now, ...ending };
      // One that ended before its time may not have come to what a sink wants.
      if (end.outcome === "completed" || end.outcome === "stopped") this.#sayUnfit();
      await Promise.all(this.#outlets.map(({ delivery }) => delivery.close(end)));
      return this.summary();
    })();
    return this.#closed;
  }

  summary(): LoggerSummary {
    return {
      sinks: this.#outlets.map(({ delivery }) => delivery.summary()),
      missing: this.#intake.missing,
      unreadable: this.#intake.unreadable,
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
    if (this.#intake.timeline.idle) return this.#windows.getState(choose);
    let state: StateTree = null;
    // What is logged while it is read belongs to a later step.
    const ready = this.#intake.timeline.afterwards(() => {
      state = this.#windows.getState(choose);
    });
    return ready.then(() => state);
  }

  #sayUnfit(): void {
    for (const outlet of this.#outlets) {
      const text = outlet.unfit(this.#windows.book.all);
      if (text !== undefined) this.#warn(text);
    }
  }

  #openOutlet(outlet: Outlet, run: RunInfo): void {
    const filedUpTo = run.resumedAt && this.#windows.filedUpTo(outlet, run.resumedAt);
    outlet.delivery.open(filedUpTo ? { ...run, filedUpTo } : run);
  }

  /** Whoever does not say which run it is gets one called "run". */
  #openUnnamed(): void {
    if (!this.#run) this.open({ id: "run", name: "run", startedAt: this.#clock.wall(), config: null });
  }
}

/** The logger under the name that document 004 gives it. */
export { Logger as SmartLogger };
