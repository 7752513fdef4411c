import type { Counters, Point, Schedule } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import { Accumulator } from "./accumulator.ts";
import type { Filed, Outlet } from "./outlet.ts";
import type { Series } from "./series.ts";

/** A window ends early, with its step, where it holds so many values that are not reduced; at the second, at once. */
const [enough, most] = [1000, 10_000];

/** The windows of all sinks that share a schedule: they begin and end together. */
export class WindowGroup {
  readonly schedule: Schedule;
  /** Its place in every series' windows. */
  readonly index: number;
  readonly outlets: Outlet[] = [];
  /** Where its last window was closed: what belongs before that comes late. */
  closed: Counters | undefined;
  /** Late values by step, each to be filed under its own. */
  readonly late = new Map<number, Map<Series, Accumulator>>();
  /** Values of metrics that are not reduced, each to be filed by itself, however late it comes. */
  readonly #unreduced = new Map<Series, Accumulator[]>();
  #held = 0;
  /** Seconds of the run at which the window began. */
  began = 0;
  /** What must be reached before the window can end; undefined where that is not known. */
  #points: readonly Point[] | undefined;

  constructor(schedule: Schedule, index: number, start: Counters) {
    this.schedule = schedule;
    this.index = index;
    this.#points = schedule.nextDue(start);
  }

  /** Whether the window may end at a moment. */
  reached(counters: Counters): boolean {
    if (this.#points === undefined) return true;
    for (const { unit, at } of this.#points) if ((counters[unit] ?? 0) >= at) return true;
    return false;
  }

  /** Whether the window ends at a moment; `since` is the one before it. */
  ends(counters: Counters, since: Counters): boolean {
    if (!this.reached(counters)) return false;
    const due = this.schedule.due({ counters, since });
    this.#points = this.schedule.nextDue(counters);
    return due;
  }

  /** Looks ahead from another place: the run has been restored. */
  restart(counters: Counters): void {
    this.#points = this.schedule.nextDue(counters);
  }

  /** Whether so many values wait to be filed by themselves that the window ends with its step. */
  get isFull(): boolean {
    return this.#held >= enough;
  }

  /** Whether they are so many that the window ends at once, so that memory is bounded whatever is logged. */
  get isOverfull(): boolean {
    return this.#held >= most;
  }

  /** The window that takes a value of a metric: one by itself where it is not reduced. */
  windowFor(series: Series, counters: Counters): Accumulator {
    if (series.reduction !== "none" && !this.#isLate(counters))
      return series.windows[this.index] as Accumulator;
    return this.lateWindow(series, counters);
  }

  /** A window beside the one that is open: of a step that is over, or of a value that is filed by itself. */
  lateWindow(series: Series, counters: Counters): Accumulator {
    return series.reduction === "none" ? this.#single(series) : this.#windowOf(series, counters);
  }

  /** Values of a metric that are not in the window that is open. */
  besides(series: Series): readonly Accumulator[] {
    const late = Array.from(this.late.values(), (windows) => windows.get(series) ?? []).flat();
    return [...late, ...(this.#unreduced.get(series) ?? [])];
  }

  /** Drops all that is held of a metric. */
  forget(series: Series): void {
    series.windows[this.index]?.reset();
    for (const windows of this.late.values()) windows.delete(series);
    this.#held -= this.#unreduced.get(series)?.length ?? 0;
    this.#unreduced.delete(series);
  }

  #isLate({ steps }: Counters): boolean {
    return this.closed !== undefined && steps <= this.closed.steps;
  }

  #single(series: Series): Accumulator {
    const window = new Accumulator();
    const known = this.#unreduced.get(series);
    if (known) known.push(window);
    else this.#unreduced.set(series, [window]);
    this.#held++;
    return window;
  }

  #windowOf(series: Series, counters: Counters): Accumulator {
    let step = this.late.get(counters.steps);
    if (!step) {
      step = new Map();
      this.late.set(counters.steps, step);
    }
    let window = step.get(series);
    if (!window) {
      window = new Accumulator();
      step.set(series, window);
    }
    return window;
  }

  /** Ends the window: hands its records to the sinks, in the order of their steps, and begins the next. */
  close(all: readonly Series[], now: Counters, wall: number): readonly Filed[] {
    const seconds = now.seconds - this.began;
    const filed: Filed[] = [];
    const file = (series: Series, window: Accumulator): void => {
      if (window.count === 0) return;
      filed.push({ series, record: recordOf(series, window, seconds, wall) });
    };
    for (const windows of this.late.values()) for (const [series, window] of windows) file(series, window);
    for (const series of all) {
      const window = series.windows[this.index] as Accumulator;
      file(series, window);
      window.reset();
    }
    for (const [series, windows] of this.#unreduced) for (const window of windows) file(series, window);
    this.late.clear();
    this.#unreduced.clear();
    this.#held = 0;
    this.closed = now;
    this.began = now.seconds;
    filed.sort((a, b) => a.record.counters.steps - b.record.counters.steps);
    if (filed.length > 0) for (const outlet of this.outlets) outlet.send(filed);
    return filed;
  }
}

function recordOf(series: Series, window: Accumulator, seconds: number, wall: number): MetricRecord {
  const counters = window.counters as Counters;
  const { axis, reduction } = series;
  // Spelt out: this is done for every value of every window.
  return {
    category: series.category,
    name: series.name,
    key: series.key,
    unit: series.unit,
    step: axis === "steps" ? counters.steps : (counters[axis] ?? counters.steps),
    axis,
    counters,
    wall,
    value: window.result(reduction, seconds),
    reduction,
    count: window.count,
    notFinite: window.notFinite,
  };
}
