import type { Clock } from "../../core/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { MetricDeclaration } from "../metric.ts";
import { Accumulator } from "./accumulator.ts";
import { restoreWindows, windowsState } from "./logger-state.ts";
import { backEndSchedule, type Outlet } from "./outlet.ts";
import { type Series, SeriesBook } from "./series.ts";
import { WindowGroup } from "./window-group.ts";

/**
 * All open windows of a logger. A window ends with all values of its last step: it is closed when the first value of a
 * later step comes, so that the order of those who log at one step makes no difference, and what a step leads to
 * belongs to it: the updates from a rollout, the epoch that ends with a batch.
 */
export class Windows {
  readonly book: SeriesBook;
  readonly #groups: WindowGroup[] = [];
  readonly #clock: Clock;
  readonly #first: () => void;
  readonly #latest = new Map<string, number>();
  /** The latest of the step whose values are coming in, and of the step before it. */
  #now: Counters = noCounters;
  #previous: Counters = noCounters;

  /** `first` is called before anything is handed to a sink. */
  constructor(declared: readonly MetricDeclaration[], clock: Clock, first: () => void) {
    this.book = new SeriesBook(declared, () => this.#groups.map(() => new Accumulator()));
    this.#clock = clock;
    this.#first = first;
  }

  get now(): Counters {
    return this.#now;
  }

  /** Gives a sink windows: those of others with the same schedule, or new ones. */
  add(outlet: Outlet): void {
    const schedule = outlet.sink.schedule ?? backEndSchedule;
    let group = this.#groups.find((each) => each.schedule === schedule);
    if (!group) {
      group = new WindowGroup(schedule, this.#groups.length, this.#now);
      this.#groups.push(group);
      for (const series of this.book.all) series.windows.push(new Accumulator());
    }
    group.outlets.push(outlet);
  }

  /** Whether a window may end at a moment. */
  reached(counters: Counters): boolean {
    return this.#groups.some((group) => group.reached(counters));
  }

  /** Values come: where they are of a new step, windows that ended with the one before are closed. */
  moveTo(counters: Counters): void {
    const now = this.#now;
    if (counters === now || counters.steps < now.steps) return;
    if (counters.steps === now.steps) {
      if (isLater(counters, now)) this.#now = counters;
      return;
    }
    for (const group of this.#groups) if (group.ends(now, this.#previous)) this.#close(group);
    this.#previous = now;
    this.#now = counters;
  }

  /** Takes a value; its kind has been checked. */
  fold(series: Series, value: number | string | ArrayLike<number>, counters: Counters): void {
    for (const group of this.#groups) {
      const window = group.isLate(counters)
        ? group.lateWindow(series, counters)
        : (series.windows[group.index] as Accumulator);
      if (typeof value === "string") window.addText(value, counters);
      else if (typeof value !== "number") window.addMany(value, counters);
      else if (series.reduction === "histogram") window.addMany([value], counters);
      else window.add(value, counters);
    }
  }

  /** Up to where the windows of a sink have been closed, of counters that a run has. */
  filedUpTo(outlet: Outlet, counters: Counters): Counters {
    const group = this.#groups.find(({ outlets }) => outlets.includes(outlet));
    const nothing = Object.fromEntries(Object.keys(counters).map((name) => [name, 0])) as unknown as Counters;
    return { ...nothing, ...group?.closed };
  }

  closeAll(): void {
    for (const group of this.#groups) this.#close(group);
  }

  #close(group: WindowGroup): void {
    this.#first();
    for (const { key, value } of group.close(this.book.all, this.#now, this.#clock.wall()))
      if (typeof value === "number") this.#latest.set(key, value);
  }

  /** Newest numbers by key: of the last window, or of the first while it is open. */
  latest(): Readonly<Record<string, number>> {
    const latest = Object.fromEntries(this.#latest);
    for (const series of this.book.all) {
      if (series.key in latest) continue;
      const value = series.windows.find(({ count }) => count > 0)?.result(series.reduction, 0);
      if (typeof value === "number") latest[series.key] = value;
    }
    return latest;
  }

  getState(choose: (series: Series) => boolean): StateTree {
    return windowsState(this.book.all.filter(choose), this.#groups, this.#now, this.#previous);
  }

  /** Restores the chosen metrics' windows. */
  setState(state: StateTree, choose: (series: Series) => boolean): void {
    for (const series of this.book.all.filter(choose)) {
      for (const window of series.windows) window.reset();
      for (const group of this.#groups) for (const of of group.late.values()) of.delete(series);
    }
    const { now, previous } = restoreWindows(state, this.book, this.#groups);
    this.#now = { ...now, seconds: this.#now.seconds };
    this.#previous = previous;
    for (const group of this.#groups) group.restart(previous);
  }
}

/** Of the same step. */
const isLater = (a: Counters, b: Counters): boolean =>
  a.batches > b.batches || a.updates > b.updates || a.samples > b.samples || a.epochs > b.epochs;
