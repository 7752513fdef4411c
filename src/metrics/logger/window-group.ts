import type { Counters, Point, Schedule } from "../../schedule/index.ts";
import type { MetricRecord } from "../record.ts";
import { Accumulator } from "./accumulator.ts";
import type { Outlet } from "./outlet.ts";
import type { Series } from "./series.ts";

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

  isLate({ steps }: Counters): boolean {
    return this.closed !== undefined && steps <= this.closed.steps;
  }

  lateWindow(series: Series, counters: Counters): Accumulator {
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

  /** Ends the window: hands its records to the sinks and begins the next. */
  close(all: readonly Series[], now: Counters, wall: number): readonly MetricRecord[] {
    const seconds = now.seconds - this.began;
    const [records, of]: [MetricRecord[], Series[]] = [[], []];
    const file = (series: Series, window: Accumulator): void => {
      if (window.count === 0) return;
      records.push(recordOf(series, window, seconds, wall));
      of.push(series);
      window.reset();
    };
    for (const [, windows] of [...this.late].sort(([a], [b]) => a - b))
      for (const [series, window] of windows) file(series, window);
    this.late.clear();
    for (const series of all) file(series, series.windows[this.index] as Accumulator);
    this.closed = now;
    this.began = now.seconds;
    if (records.length > 0) for (const outlet of this.outlets) outlet.send(records, of);
    return records;
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
