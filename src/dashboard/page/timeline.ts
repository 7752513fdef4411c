// Where the time of a run went: shares of phases and hooks, reading by reading, and hooks under those that brought them.
import type { Series } from "../api.ts";

/** A phase or a hook among others that are stacked. */
export interface Layer {
  readonly name: string;
  /** At each reading, and where the layer ends in the stack. */
  readonly shares: readonly number[];
  readonly tops: readonly number[];
}

const [phases, hooks] = ["time/phases/", "time/hooks/"] as const;

/** True for the metrics that a timeline is made of. */
export const isTimed = (key: string): boolean => key.startsWith(phases) || key.startsWith(hooks);

/**
 * Stacks the series `time/phases/*` and `time/hooks/*`: phases below, above them hooks, the longest first, then the rest
 * of the time. A series without a value at a reading has that of the reading before. Hooks that work in the background
 * can take more than the time that passed: all shares of such a reading are scaled to 1.
 */
export function stackTimes(series: readonly Series[]): readonly Layer[] {
  const x = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const partsOf = (prefix: string) =>
    series
      .filter(({ key }) => key.startsWith(prefix))
      .map((one) => ({ name: one.key.slice(prefix.length), taken: sharesAt(one, x) }));
  const parts = [...partsOf(phases), ...partsOf(hooks).sort((a, b) => sum(b.taken) - sum(a.taken))];
  const sums = x.map((_, i) => sum(parts.map(({ taken }) => taken[i] ?? 0)));
  const rest = { name: "everything else", taken: sums.map((taken) => Math.max(0, 1 - taken)) };
  let tops: readonly number[] = x.map(() => 0);
  return [...parts, rest].map(({ name, taken }) => {
    const shares = taken.map((share, i) => share / Math.max(1, sums[i] ?? 0));
    tops = tops.map((below, i) => below + (shares[i] ?? 0));
    return { name, shares, tops };
  });
}

/** The sum of numbers, as of the shares of a layer over all readings. */
export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

function sharesAt(series: Series, x: readonly number[]): number[] {
  let [next, last] = [0, 0];
  return x.map((at) => {
    for (; next < series.x.length && (series.x[next] ?? 0) <= at; next++)
      last = Math.max(0, series.mean[next] ?? last);
    return last;
  });
}

/** A hook whose total has that of the hooks which it brought, with its own time and how deep it lies among hooks. */
export type NestedHook<H> = H & { readonly own: number; readonly depth: number };

/** Puts hooks after the hook that brought them, `metrics.time` after `metrics`. Those that took longest come first. */
export function nestHooks<H extends { readonly name: string; readonly total: number }>(
  hooks: readonly H[],
): readonly NestedHook<H>[] {
  const names = new Set(hooks.map(({ name }) => name));
  const parentOf = (name: string): string | undefined => {
    for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1))
      if (names.has(name.slice(0, dot))) return name.slice(0, dot);
    return undefined;
  };
  const below = (parent: string | undefined, depth: number): readonly NestedHook<H>[] =>
    hooks
      .filter(({ name }) => parentOf(name) === parent)
      .map((hook) => {
        const brought = below(hook.name, depth + 1);
        const totals = brought.filter((one) => one.depth === depth + 1).map(({ total }) => total);
        return [{ ...hook, own: hook.total, total: hook.total + sum(totals), depth }, ...brought] as const;
      })
      .sort(([a], [b]) => b.total - a.total)
      .flat();
  return below(undefined, 0);
}
