// Where the time of a run went: shares of phases and hooks, reading by reading, and as nested blocks.
import type { Series } from "../api.ts";

/** A part of the time, and the parts within it. `own` is its share without them. */
export interface TimeNode {
  readonly name: string;
  readonly kind: "phase" | "hook" | "rest";
  readonly own: number;
  readonly total: number;
  readonly children: readonly TimeNode[];
}

/** Shares of one layer at each reading, and how much lies below it in the stack. */
export interface Layer {
  readonly name: string;
  readonly kind: TimeNode["kind"];
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
  const parts = series.flatMap((one) => {
    const kind = one.key.startsWith(prefixes.phase) ? "phase" : "hook";
    if (!isTimed(one.key)) return [];
    return [{ name: one.key.slice(prefixes[kind].length), kind, share: sharesAt(one, x) } as const];
  });
  const weight = ({ share }: { share: readonly number[] }): number =>
    share.reduce((sum, one) => sum + one, 0);
  const ordered = [
    ...parts.filter(({ kind }) => kind === "phase"),
    ...parts.filter(({ kind }) => kind === "hook").sort((a, b) => weight(b) - weight(a)),
  ];
  const sums = x.map((_, i) => ordered.reduce((sum, { share }) => sum + (share[i] ?? 0), 0));
  const scaled = ordered.map((part) => ({
    ...part,
    share: part.share.map((share, i) => share / Math.max(1, sums[i] ?? 0)),
  }));
  const rest = {
    name: "everything else",
    kind: "rest" as const,
    share: sums.map((sum) => Math.max(0, 1 - sum)),
  };
  const base = x.map(() => 0);
  const layers = [...scaled, rest].map((part) => {
    const below = [...base];
    for (const [i, share] of part.share.entries()) base[i] = (base[i] ?? 0) + share;
    return { ...part, base: below };
  });
  return { x, layers };
}

function sharesAt(series: Series, x: readonly number[]): number[] {
  let [next, last] = [0, 0];
  return x.map((at) => {
    for (; next < series.x.length && (series.x[next] ?? 0) <= at; next++)
      last = Math.max(0, series.mean[next] ?? last);
    return last;
  });
}

/** The parts of the time at one reading, or on average over all of them: phases, hooks in one another, the rest. */
export function timeTree({ x, layers }: Timeline, reading?: number): readonly TimeNode[] {
  const shareOf = ({ share }: Layer): number =>
    reading === undefined
      ? share.reduce((sum, one) => sum + one, 0) / Math.max(1, x.length)
      : (share[reading] ?? 0);
  const leaf = (layer: Layer): TimeNode => {
    const total = shareOf(layer);
    return { name: layer.name, kind: layer.kind, own: total, total, children: [] };
  };
  const of = (kind: TimeNode["kind"]) => layers.filter((layer) => layer.kind === kind);
  const hooks = nestHooks(of("hook").map((layer) => ({ name: layer.name, total: shareOf(layer) })));
  const total = hooks.reduce((sum, hook) => sum + hook.total, 0);
  const all: TimeNode = { name: "hooks", kind: "hook", own: 0, total, children: hooks };
  return [...of("phase").map(leaf), ...(hooks.length > 0 ? [all] : []), ...of("rest").map(leaf)];
}

/** Puts hooks under the hook that brought them, `metrics.time` under `metrics`. Those that took longest come first. */
export function nestHooks(
  hooks: readonly { readonly name: string; readonly total: number }[],
): readonly TimeNode[] {
  const names = new Set(hooks.map(({ name }) => name));
  const parentOf = (name: string): string | undefined => {
    for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1))
      if (names.has(name.slice(0, dot))) return name.slice(0, dot);
    return undefined;
  };
  const build = (parent: string | undefined): readonly TimeNode[] =>
    hooks
      .filter(({ name }) => parentOf(name) === parent)
      .map(({ name, total: own }): TimeNode => {
        const children = build(name);
        return {
          name,
          kind: "hook",
          own,
          total: children.reduce((sum, child) => sum + child.total, own),
          children,
        };
      })
      .sort((a, b) => b.total - a.total);
  return build(undefined);
}

/** A node as a block: where it begins and how wide it is, as shares of the whole, and how deep it lies. */
export interface Block extends TimeNode {
  readonly from: number;
  readonly depth: number;
}

/** Lays nodes out side by side, and what is within each below it. */
export function blocksOf(nodes: readonly TimeNode[], from = 0, depth = 0): readonly Block[] {
  let at = from;
  return nodes.flatMap((node) => {
    const block = { ...node, from: at, depth };
    at += node.total;
    return [block, ...blocksOf(node.children, block.from, depth + 1)];
  });
}
