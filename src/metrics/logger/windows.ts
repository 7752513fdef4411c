import { type Clock, didYouMean, EspalierError } from "../../core/index.ts";
import {
  type Counters,
  every,
  noCounters,
  type Point,
  type Schedule,
  timeless,
} from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import { type MetricDeclaration, matcherOf } from "../metric.ts";
import type { MetricRecord, Reduction } from "../record.ts";
import type { Delivery } from "../sinks/delivery/delivery.ts";
import type { Sink } from "../sinks/sink.ts";
import { Accumulator, type SavedAccumulator } from "./accumulator.ts";
import { type HostValue, type Series, SeriesBook, type ValueKind } from "./series.ts";

/** When the windows of back ends end by default. */
const backEndSchedule = every({ steps: 100 });

/**
 * The open windows of a logger, one group for each schedule. A window ends with all values of its last step: it is
 * flushed when the first value of a later step comes. So the order of those who log at one step makes no difference,
 * and what a step leads to belongs to it: the updates from a rollout, the epoch that ends with a batch.
 */
export class Windows {
  readonly book: SeriesBook;
  readonly #groups: WindowGroup[] = [];
  readonly #clock: Clock;
  readonly #beforeFlush: () => void;
  /** The newest number of each metric that was flushed. */
  readonly #latest = new Map<Series, LatestValue>();
  /** The latest counters of the step whose values are coming in, and of the step before it. */
  #now: Counters = noCounters;
  #previous: Counters = noCounters;

  constructor(declared: readonly MetricDeclaration[], clock: Clock, beforeFlush: () => void) {
    this.book = new SeriesBook(declared, () => this.#groups.map(() => new Accumulator()));
    this.#clock = clock;
    this.#beforeFlush = beforeFlush;
  }

  get now(): Counters {
    return this.#now;
  }

  /** Adds a sink to the group of its schedule. */
  add(route: SinkRoute): void {
    const schedule = route.sink.schedule ?? backEndSchedule;
    let group = this.#groups.find((each) => each.schedule === schedule);
    if (!group) {
      group = new WindowGroup(schedule, this.#groups.length, this.#now);
      this.#groups.push(group);
      for (const series of this.book.all) series.windows.push(new Accumulator());
    }
    group.routes.push(route);
  }

  /** True where a window may end at these counters. */
  mayEnd(counters: Counters): boolean {
    return this.#groups.some((group) => group.mayEnd(counters));
  }

  /** Called before values at `counters` are accumulated: flushes windows that ended with the step before. */
  advanceTo(counters: Counters): void {
    const now = this.#now;
    if (counters === now || counters.steps < now.steps) return;
    if (counters.steps === now.steps) {
      if (isLater(counters, now)) this.#now = counters;
      return;
    }
    for (const group of this.#groups) if (group.ends(now, this.#previous) || group.isFull) this.#flush(group);
    this.#previous = now;
    this.#now = counters;
  }

  /** Adds a value to the windows of its metric. Its kind has been checked. */
  accumulate(series: Series, value: HostValue, counters: Counters): void {
    for (const group of this.#groups) {
      const window = group.windowFor(series, counters);
      if (typeof value === "string") window.addText(value, counters);
      else if (typeof value !== "number") window.addMany(value, counters);
      else if (series.reduction === "histogram") window.addMany([value], counters);
      else window.add(value, counters);
      if (group.isOverfull) this.#flush(group);
    }
  }

  flushAll(): void {
    for (const group of this.#groups) this.#flush(group);
  }

  #flush(group: WindowGroup): void {
    this.#beforeFlush();
    for (const { series, record } of group.flush(this.book.all, this.#now, this.#clock.wall()))
      noteLatest(this.#latest, series, record.counters.steps, record.value);
  }

  /** Counters up to which the windows of a sink have been flushed, with every counter of `resumedAt`. */
  flushedUpTo(route: SinkRoute, resumedAt: Counters): Counters {
    const group = this.#groups.find(({ routes }) => routes.includes(route));
    const zeros = Object.fromEntries(Object.keys(resumedAt).map((name) => [name, 0]));
    return { ...noCounters, ...zeros, ...group?.flushedAt };
  }

  /**
   * The newest number of each metric by key: that of the last flushed window, or of the first one while it is open; of
   * metrics that are not reduced, the last value.
   */
  latest(): Readonly<Record<string, number>> {
    const latest = new Map(this.#latest);
    for (const series of this.book.all) {
      const open = series.windows.find(({ count }) => count > 0);
      if (open && !latest.has(series)) noteLatest(latest, series, 0, open.result(series.reduction, 0));
      if (series.reduction !== "none") continue;
      for (const value of this.#groups[0]?.extraWindows(series) ?? [])
        noteLatest(latest, series, value.counters?.steps ?? 0, value.result("none", 0));
    }
    return Object.fromEntries(Array.from(latest, ([{ key }, { value }]) => [key, value]));
  }

  /** The open windows of the chosen metrics: a logger with this state goes on as if nothing had happened. */
  getState(choose: (series: Series) => boolean): StateTree {
    const series = this.book.all.filter(choose);
    const saved: SavedWindows = {
      now: timeless(this.#now),
      previous: timeless(this.#previous),
      closed: Object.fromEntries(
        this.#groups.flatMap(({ routes, flushedAt }) =>
          routes.map(({ sink }) => [sink.name, flushedAt ? timeless(flushedAt) : null] as const),
        ),
      ),
      series: Object.fromEntries(series.map((each) => [each.key, seriesState(each, this.#groups)])),
    };
    return saved;
  }

  /** Restores the windows of the chosen metrics. Sinks that were not there before begin with empty windows. */
  setState(state: StateTree, choose: (series: Series) => boolean): void {
    for (const series of this.book.all.filter(choose)) for (const group of this.#groups) group.clear(series);
    const saved = checkSaved(state);
    for (const group of this.#groups) {
      const flushedAt = group.routes.map(({ sink }) => saved.closed[sink.name]).find(isKnown);
      group.flushedAt = flushedAt ? { ...noCounters, ...flushedAt } : undefined;
    }
    for (const { category, name, kind, owner, windows, reduction } of Object.values(saved.series)) {
      const known = this.book.category(category).get(name);
      const series = known ?? this.book.add(category, name, kind, owner, reduction);
      for (const group of this.#groups) {
        const found = group.routes.map(({ sink }) => windows[sink.name]).find(isKnown);
        if (found?.open) group.openWindow(series).setState(found.open);
        for (const late of found?.late ?? [])
          group.extraWindow(series, { ...noCounters, ...late.counters }).setState(late);
      }
    }
    this.#now = { ...noCounters, ...saved.now, seconds: this.#now.seconds };
    this.#previous = { ...noCounters, ...saved.previous };
    for (const group of this.#groups) group.restart(this.#previous);
  }
}

/** Compares counters of the same step. */
const isLater = (a: Counters, b: Counters): boolean =>
  a.batches > b.batches || a.updates > b.updates || a.samples > b.samples || a.epochs > b.epochs;

interface LatestValue {
  readonly steps: number;
  readonly value: number;
}

/** Notes a number, unless one of a later step is known. */
function noteLatest(
  latest: Map<Series, LatestValue>,
  series: Series,
  steps: number,
  value: MetricRecord["value"],
): void {
  if (typeof value === "number" && steps >= (latest.get(series)?.steps ?? 0))
    latest.set(series, { steps, value });
}

/** A record, and the metric that it is of. */
interface Flushed {
  readonly series: Series;
  readonly record: MetricRecord;
}

/** A window with this many values that are not reduced ends with its step; with `most` of them at once. */
const enough = 1000;
const most = 10_000;

/** The windows of all sinks that share a schedule: they begin and end together. */
class WindowGroup {
  readonly schedule: Schedule;
  readonly routes: SinkRoute[] = [];
  /** Counters at the last flush: values before them come late. */
  flushedAt: Counters | undefined;
  /** Index of its accumulators in `Series.windows`. */
  readonly #index: number;
  /** Late values by step, each to be filed under its own. */
  readonly #late = new Map<number, Map<Series, Accumulator>>();
  /** Values of metrics that are not reduced, each to be filed by itself, however late it comes. */
  readonly #unreduced = new Map<Series, Accumulator[]>();
  #unreducedCount = 0;
  /** Seconds of the run at which the window began. */
  #beganAt = 0;
  /** One of them must be reached before the window can end; undefined where that is not known. */
  #points: readonly Point[] | undefined;

  constructor(schedule: Schedule, index: number, start: Counters) {
    this.schedule = schedule;
    this.#index = index;
    this.#points = schedule.nextDue(start);
  }

  mayEnd(counters: Counters): boolean {
    if (this.#points === undefined) return true;
    for (const { unit, at } of this.#points) if ((counters[unit] ?? 0) >= at) return true;
    return false;
  }

  /** True where the window ends at these counters; `since` are those before them. */
  ends(counters: Counters, since: Counters): boolean {
    if (!this.mayEnd(counters)) return false;
    const due = this.schedule.due({ counters, since });
    this.#points = this.schedule.nextDue(counters);
    return due;
  }

  /** Looks ahead from other counters: the run has been restored. */
  restart(counters: Counters): void {
    this.#points = this.schedule.nextDue(counters);
  }

  /** The window ends with its step: it holds `enough` values that are not reduced. */
  get isFull(): boolean {
    return this.#unreducedCount >= enough;
  }

  /** The window ends at once: memory is bounded whatever is logged. */
  get isOverfull(): boolean {
    return this.#unreducedCount >= most;
  }

  /** The accumulator that takes a value of a metric. */
  windowFor(series: Series, counters: Counters): Accumulator {
    const isLate = this.flushedAt !== undefined && counters.steps <= this.flushedAt.steps;
    return series.reduction === "none" || isLate
      ? this.extraWindow(series, counters)
      : this.openWindow(series);
  }

  openWindow(series: Series): Accumulator {
    return series.windows[this.#index] as Accumulator; // One for each group.
  }

  /** A window beside the open one: for a step that is over, or for a value that is filed by itself. */
  extraWindow(series: Series, { steps }: Counters): Accumulator {
    if (series.reduction === "none") {
      const window = new Accumulator();
      const known = this.#unreduced.get(series);
      if (known) known.push(window);
      else this.#unreduced.set(series, [window]);
      this.#unreducedCount++;
      return window;
    }
    let atStep = this.#late.get(steps);
    if (!atStep) {
      atStep = new Map();
      this.#late.set(steps, atStep);
    }
    let window = atStep.get(series);
    if (!window) {
      window = new Accumulator();
      atStep.set(series, window);
    }
    return window;
  }

  extraWindows(series: Series): readonly Accumulator[] {
    const late = Array.from(this.#late.values(), (windows) => windows.get(series) ?? []).flat();
    return [...late, ...(this.#unreduced.get(series) ?? [])];
  }

  /** Drops all values of a metric. */
  clear(series: Series): void {
    series.windows[this.#index] = new Accumulator();
    for (const windows of this.#late.values()) windows.delete(series);
    this.#unreducedCount -= this.#unreduced.get(series)?.length ?? 0;
    this.#unreduced.delete(series);
  }

  /** Ends the window: sends its records to the sinks, in the order of their steps, and begins the next. */
  flush(all: readonly Series[], now: Counters, wall: number): readonly Flushed[] {
    const seconds = now.seconds - this.#beganAt;
    const flushed: Flushed[] = [];
    const add = (series: Series, window: Accumulator): void => {
      if (window.count > 0) flushed.push({ series, record: recordOf(series, window, seconds, wall) });
    };
    for (const windows of this.#late.values()) for (const [series, window] of windows) add(series, window);
    for (const series of all) {
      const window = this.openWindow(series);
      if (window.count === 0) continue;
      add(series, window);
      series.windows[this.#index] = new Accumulator();
    }
    for (const [series, windows] of this.#unreduced) for (const window of windows) add(series, window);
    this.#late.clear();
    this.#unreduced.clear();
    this.#unreducedCount = 0;
    this.flushedAt = now;
    this.#beganAt = now.seconds;
    flushed.sort((a, b) => a.record.counters.steps - b.record.counters.steps);
    if (flushed.length > 0) for (const route of this.routes) route.send(flushed);
    return flushed;
  }
}

/** Spelled out, because it is done for every metric of every window. */
function recordOf(series: Series, window: Accumulator, seconds: number, wall: number): MetricRecord {
  const counters = window.counters ?? noCounters;
  const { axis, reduction } = series;
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

/** A sink of a logger: which metrics it gets, and the delivery that brings them. */
export class SinkRoute {
  readonly sink: Sink;
  readonly delivery: Delivery;
  readonly #wanted = new WeakMap<Series, boolean>();
  readonly #match: ReturnType<typeof matcherOf> | undefined;

  constructor(sink: Sink, delivery: Delivery) {
    this.sink = sink;
    this.delivery = delivery;
    this.#match = sink.metrics && matcherOf(sink.metrics, `metrics of the sink "${sink.name}"`);
  }

  wants(series: Series): boolean {
    const known = this.#wanted.get(series);
    if (known !== undefined) return known;
    const { categories } = this.sink;
    const wanted =
      (categories === undefined || categories.includes(series.category)) &&
      (this.#match === undefined || this.#match(series) !== undefined);
    this.#wanted.set(series, wanted);
    return wanted;
  }

  /** Sends the records of a window that the sink wants. */
  send(flushed: readonly Flushed[]): void {
    const wanted: MetricRecord[] = [];
    for (const { series, record } of flushed) if (this.wants(series)) wanted.push(record);
    if (wanted.length > 0) this.delivery.send(wanted);
  }

  /** A warning where the sink wanted none of these metrics, as where a name is misspelt. */
  nothingWanted(all: readonly Series[]): string | undefined {
    if (all.length === 0 || all.some((series) => this.wants(series))) return undefined;
    const { name, categories, metrics } = this.sink;
    const asked: string[] = [];
    if (categories) asked.push(`categories: ${JSON.stringify(categories)}`);
    if (metrics) asked.push(`metrics: ${JSON.stringify(metrics)}`);
    const hint =
      suggestion(categories, new Set(all.map(({ category }) => category))) ??
      suggestion(metrics, new Set(all.map(({ key }) => key)));
    return `sink "${name}" got nothing: no metric of the run fits ${asked.join(" and ")}${hint ?? ""}`;
  }
}

/** A hint for the first name that no metric has. */
const suggestion = (asked: readonly string[] = [], known: ReadonlySet<string>): string | undefined =>
  asked
    .filter((name) => !known.has(name))
    .map((name) => didYouMean(name, known))
    .find((hint) => hint !== "");

/** Open windows in a checkpoint. */
type SavedWindows = {
  readonly now: Readonly<Record<string, number>>;
  readonly previous: Readonly<Record<string, number>>;
  /** Counters of the last flush, by sink. */
  readonly closed: Readonly<Record<string, Readonly<Record<string, number>> | null>>;
  readonly series: Readonly<Record<string, SavedSeries>>;
};

type SavedSeries = {
  readonly category: string;
  readonly name: string;
  readonly kind: ValueKind;
  readonly owner: string;
  readonly reduction?: Reduction;
  /** By sink. */
  readonly windows: Readonly<
    Record<string, { readonly open?: SavedAccumulator; readonly late: readonly SavedAccumulator[] }>
  >;
};

/** The open windows of a metric: by sink its own, and beside it late ones and values that are not reduced. */
function seriesState(series: Series, groups: readonly WindowGroup[]): SavedSeries {
  const { category, name, kind, owner, isChosen, reduction } = series;
  const windows: Record<string, SavedSeries["windows"][string]> = {};
  for (const group of groups) {
    const window = group.openWindow(series);
    const late = group.extraWindows(series).map((each) => each.getState());
    const saved = window.count > 0 ? { open: window.getState(), late } : { late };
    for (const { sink } of group.routes) windows[sink.name] = saved;
  }
  return { category, name, kind, owner, windows, ...(isChosen && { reduction }) };
}

function checkSaved(state: StateTree): SavedWindows {
  const saved = state as Partial<SavedWindows> | null;
  if (typeof saved?.now?.steps === "number" && typeof saved.series === "object") return saved as SavedWindows;
  throw new EspalierError("STATE_INVALID", "this is not a state of a logger", {
    fix: "restore what getState of a logger gave",
  });
}

const isKnown = <T>(value: T | undefined): value is T => value !== undefined;
