// Where the time of a run went: shares of phases and hooks, reading by reading, and hooks under those that brought them.
import type { Series } from "../api.ts";

/** Shares of one layer at each reading, and how much lies below it in the stack. */
export interface Layer {
  readonly name: string;
  readonly kind: "phase" | "hook" | "rest";
  readonly share: readonly number[];
  readonly base: readonly number[];
}

export interface Timeline {
  readonly x: readonly number[];
  readonly layers: readonly Layer[];
}

const prefixes = { phase: "time/phases/", hook: "time/hooks/" } as const;

/** True for the metrics that a timeline is made of. */
export const isTimed = (key: string): boolean =>
  key.startsWith(prefixes.phase) || key.startsWith(prefixes.hook);

/**
 * Stacks the series `time/phases/*` and `time/hooks/*`: phases below, above them hooks, the longest first, then the rest
 * of the time. A series without a value at a reading has that of the reading before. Hooks that work in the background
 * can take more than the time that passed: all shares of such a reading are scaled to 1.
 */
export function timelineOf(series: readonly Series[]): Timeline {
  const x = [...new Set(series.flatMap((one) => one.x))].sort((a, b) => a - b);
  const partsOf = (kind: "phase" | "hook") =>
    series
      .filter(({ key }) => key.startsWith(prefixes[kind]))
      .map((one) => ({ name: one.key.slice(prefixes[kind].length), kind, share: sharesAt(one, x) }));
  const hooks = partsOf("hook").sort((a, b) => sum(b.share) - sum(a.share));
  const parts = [...partsOf("phase"), ...hooks];
  const sums = x.map((_, i) => sum(parts.map(({ share }) => share[i] ?? 0)));
  const scaled = parts.map((part) => ({
    ...part,
    share: part.share.map((share, i) => share / Math.max(1, sums[i] ?? 0)),
  }));
  const left = sums.map((taken) => Math.max(0, 1 - taken));
  let base: readonly number[] = x.map(() => 0);
  const layers = [...scaled, { name: "everything else", kind: "rest" as const, share: left }].map((part) => {
    const layer = { ...part, base };
    base = base.map((below, i) => below + (part.share[i] ?? 0));
    return layer;
  });
  return { x, layers };
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
