import { EspalierError } from "../../core/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Reduction } from "../record.ts";
import type { Accumulator } from "./accumulator.ts";
import { HistogramBuilder } from "./histogram.ts";
import type { Series, SeriesBook, ValueKind } from "./series.ts";
import type { WindowGroup } from "./window-group.ts";

type Plain = { readonly [name: string]: StateTree };

/** Counters without seconds, which no two runs share. */
const timeless = ({ seconds: _, ...rest }: Counters): Readonly<Record<string, number>> => rest;

/** One window: its numbers, and whatever else it holds. */
function windowState({
  count,
  notFinite,
  sum,
  last,
  min,
  max,
  text,
  histogram,
  counters,
}: Accumulator): Plain {
  return {
    numbers: Float64Array.of(count, notFinite, sum, last, min, max),
    counters: timeless(counters ?? noCounters),
    ...(text !== undefined && { text }),
    ...(histogram && {
      histogram: {
        sums: Float64Array.of(
          ...[histogram.count, histogram.notFinite, histogram.min, histogram.max],
          ...[histogram.sum, histogram.sumSquares],
        ),
        buckets: Float64Array.from([...histogram.buckets].flat()),
      },
    }),
  };
}

function restoreWindow(window: Accumulator, state: Plain): void {
  const [count, notFinite, sum, last, min, max] = state.numbers as unknown as ArrayLike<number> as number[];
  Object.assign(window, { count, notFinite, sum, last, min, max });
  window.counters = { ...noCounters, ...(state.counters as unknown as Counters) };
  if (typeof state.text === "string") window.text = state.text;
  const given = state.histogram as { sums: ArrayLike<number>; buckets: ArrayLike<number> } | undefined;
  if (!given) return;
  const histogram = new HistogramBuilder();
  const [many, infinite, least, most, all, squares] = given.sums as unknown as number[];
  Object.assign(histogram, {
    ...{ count: many, notFinite: infinite, min: least, max: most },
    ...{ sum: all, sumSquares: squares },
  });
  for (let i = 0; i < given.buckets.length; i += 2)
    histogram.buckets.set(given.buckets[i] as number, given.buckets[i + 1] as number);
  window.histogram = histogram;
}

/** A metric's open windows: by group its own, and beside it late ones and values that are not reduced. */
function seriesState(series: Series, groups: readonly WindowGroup[]): StateTree {
  const { category, name, kind, owner, isChosen, reduction } = series;
  const windows: Record<string, StateTree> = {};
  for (const group of groups) {
    const window = series.windows[group.index] as Accumulator;
    const late = group.besides(series).map(windowState);
    const open = { ...(window.count > 0 && { open: windowState(window) }), late };
    for (const { sink } of group.outlets) windows[sink.name] = open;
  }
  return { category, name, kind, owner, windows, ...(isChosen && { reduction }) };
}

/** What a logger with these metrics must know to go on as if nothing had happened. */
export const windowsState = (
  series: readonly Series[],
  groups: readonly WindowGroup[],
  now: Counters,
  previous: Counters,
): StateTree => ({
  now: timeless(now),
  previous: timeless(previous),
  closed: Object.fromEntries(
    groups.flatMap(({ outlets, closed }) =>
      outlets.map(({ sink }) => [sink.name, closed ? timeless(closed) : null] as const),
    ),
  ),
  series: Object.fromEntries(series.map((each) => [each.key, seriesState(each, groups)])),
});

/** Puts windows back. Sinks that were not there before begin anew. Gives where the logger was. */
export function restoreWindows(
  state: StateTree,
  book: SeriesBook,
  groups: readonly WindowGroup[],
): { readonly now: Counters; readonly previous: Counters } {
  const saved = state as unknown as {
    readonly now: Counters;
    readonly previous: Counters;
    readonly closed: Readonly<Record<string, Counters | null>>;
    readonly series: Readonly<Record<string, SavedSeries>>;
  };
  if (typeof saved?.now?.steps !== "number" || typeof saved.series !== "object")
    throw new EspalierError("STATE_INVALID", "this is not a state of a logger", {
      fix: "restore what getState of a logger gave",
    });
  const timed = (counters: Counters): Counters => ({ ...noCounters, ...counters });
  for (const group of groups) {
    const closed = group.outlets
      .map(({ sink }) => saved.closed[sink.name])
      .find((each) => each !== undefined);
    group.closed = closed ? timed(closed) : undefined;
  }
  for (const { category, name, kind, owner, windows, reduction } of Object.values(saved.series)) {
    const known = book.category(category).get(name);
    const series = known ?? book.begin(category, name, kind, owner, reduction);
    for (const group of groups) {
      const found = group.outlets.map(({ sink }) => windows[sink.name]).find((each) => each !== undefined);
      if (found?.open) restoreWindow(series.windows[group.index] as Accumulator, found.open);
      for (const late of found?.late ?? [])
        restoreWindow(group.lateWindow(series, timed(late.counters as unknown as Counters)), late);
    }
  }
  return { now: timed(saved.now), previous: timed(saved.previous) };
}

interface SavedSeries {
  readonly category: string;
  readonly name: string;
  readonly kind: ValueKind;
  readonly owner: string;
  readonly reduction?: Reduction;
  readonly windows: Readonly<
    Record<string, { readonly open?: Plain; readonly late: readonly Plain[] } | undefined>
  >;
}
