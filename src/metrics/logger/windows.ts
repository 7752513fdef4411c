import type { Clock } from "../../core/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { MetricDeclaration } from "../metric.ts";
import type { MetricRecord } from "../record.ts";
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
  readonly #latest = new Map<Series, { readonly steps: number; readonly value: number }>();
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
    for (const group of this.#groups) if (group.ends(now, this.#previous) || group.isFull) this.#close(group);
    this.#previous = now;
    this.#now = counters;
  }

  /** Takes a value; its kind has been checked. */
  fold(series: Series, value: number | string | ArrayLike<number>, counters: Counters): void {
    for (const group of this.#groups) {
      const window = group.windowFor(series, counters);
      if (typeof value === "string") window.addText(value, counters);
      else if (typeof value !== "number") window.addMany(value, counters);
      else if (series.reduction === "histogram") window.addMany([value], counters);
      else window.add(value, counters);
      if (group.isOverfull) this.#close(group);
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
    for (const { series, record } of group.close(this.book.all, this.#now, this.#clock.wall()))
      this.#note(this.#latest, series, record.counters.steps, record.value);
  }

  /** Newest numbers by key: of the last window, or of the first while it is open; of what is not reduced, the last. */
  latest(): Readonly<Record<string, number>> {
    const latest = new Map(this.#latest);
    for (const series of this.book.all) {
      const open = series.windows.find(({ count }) => count > 0);
      if (open && !latest.has(series)) this.#note(latest, series, 0, open.result(series.reduction, 0));
      if (series.reduction !== "none") continue;
      for (const value of this.#groups[0]?.besides(series) ?? [])
        this.#note(latest, series, value.counters?.steps ?? 0, value.result("none", 0));
    }
    return Object.fromEntries(Array.from(latest, ([{ key }, { value }]) => [key, value]));
  }

  /** Notes a number, unless one of a later step is known. */
  #note(
    latest: Map<Series, { readonly steps: number; readonly value: number }>,
    series: Series,
    steps: number,
    value: MetricRecord["value"],
  ): void {
    if (typeof value === "number" && steps >= (latest.get(series)?.steps ?? 0))
      latest.set(series, { steps, value });
  }

  getState(choose: (series: Series) => boolean): StateTree {
    return windowsState(this.book.all.filter(choose), this.#groups, this.#now, this.#previous);
  }

  /** Restores the chosen metrics' windows. */
  setState(state: StateTree, choose: (series: Series) => boolean): void {
    for (const series of this.book.all.filter(choose)) for (const group of this.#groups) group.forget(series);
    const { now, previous } = restoreWindows(state, this.book, this.#groups);
    this.#now = { ...now, seconds: this.#now.seconds };
    this.#previous = previous;
    for (const group of this.#groups) group.restart(previous);
  }
}

/** Of the same step. */
const isLater = (a: Counters, b: Counters): boolean =>
  a.batches > b.batches || a.updates > b.updates || a.samples > b.samples || a.epochs > b.epochs;
