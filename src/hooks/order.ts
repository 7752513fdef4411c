import { EspalierError, nearest } from "../core/index.ts";
import { Heap } from "./heap.ts";
import type { HookSettings } from "./hook.ts";

/** One hook runs before another, and why. */
export interface OrderEdge {
  readonly first: string;
  readonly next: string;
  readonly why: string;
}

interface Ordered<T> {
  readonly order: readonly T[];
  readonly edges: readonly OrderEdge[];
  /** Names in `after` and `before` that make no order and look misspelt, in words. */
  readonly doubts: readonly string[];
}

/**
 * The order in which hooks run: providers of a slot before its readers, then `after` and `before`, then
 * priority, then the order of registration.
 */
export function inOrder<T extends { readonly hook: HookSettings }>(entries: readonly T[]): Ordered<T> {
  const { edges, doubts } = edgesBetween(entries.map(({ hook }) => hook));
  const position = new Map(entries.map(({ hook }, i) => [hook.name, i]));
  const followers: number[][] = entries.map(() => []);
  const waitsFor = new Int32Array(entries.length);
  for (const { first, next } of edges) {
    const [from, to] = [position.get(first) as number, position.get(next) as number];
    followers[from]?.push(to);
    waitsFor[to] = (waitsFor[to] as number) + 1;
  }
  const priority = (i: number): number => entries[i]?.hook.priority ?? 0;
  const ready = new Heap<number>(
    (a, b) => priority(a) > priority(b) || (priority(a) === priority(b) && a < b),
  );
  for (let i = 0; i < entries.length; i++) if (waitsFor[i] === 0) ready.push(i);
  const order: T[] = [];
  for (let i = ready.pop(); i !== undefined; i = ready.pop()) {
    order.push(entries[i] as T);
    for (const follower of followers[i] as number[]) {
      waitsFor[follower] = (waitsFor[follower] as number) - 1;
      if (waitsFor[follower] === 0) ready.push(follower);
    }
  }
  if (order.length < entries.length) throw cycle(edges, new Set(order.map(({ hook }) => hook.name)));
  return { order, edges, doubts };
}

function edgesBetween(hooks: readonly HookSettings[]): Omit<Ordered<unknown>, "order"> {
  const edges: OrderEdge[] = [];
  const doubts: string[] = [];
  const providers = providersOf(hooks);
  const names = new Set(hooks.map(({ name }) => name));
  for (const hook of hooks) {
    for (const [slots, verb] of [
      [hook.needs, "needs"],
      [hook.wants, "wants"],
    ] as const)
      for (const slot of slots ?? []) {
        const found = providers.get(slot.name) ?? [];
        if (found.length === 0 && verb === "needs") throw noProvider(hook, slot.name, hooks);
        for (const provider of found)
          if (provider !== hook.name)
            edges.push({ first: provider, next: hook.name, why: `${hook.name} ${verb} "${slot.name}"` });
      }
    for (const other of hook.after ?? [])
      if (names.has(other))
        edges.push({ first: other, next: hook.name, why: `${hook.name} is after ${other}` });
      else doubts.push(...doubtful(hook, "after", other, names));
    for (const other of hook.before ?? [])
      if (names.has(other))
        edges.push({ first: hook.name, next: other, why: `${hook.name} is before ${other}` });
      else doubts.push(...doubtful(hook, "before", other, names));
  }
  return { edges, doubts };
}

function providersOf(hooks: readonly HookSettings[]): ReadonlyMap<string, readonly string[]> {
  const providers = new Map<string, readonly string[]>();
  for (const hook of hooks)
    for (const { name, conflict, shared } of hook.provides ?? []) {
      const others = providers.get(name) ?? [];
      const [other] = others;
      if (other !== undefined && !shared)
        throw new EspalierError(
          "SLOT_PROVIDED_TWICE",
          `the hooks "${other}" and "${hook.name}" both provide the slot "${name}"`,
          { fix: conflict ?? "let one of them provide it; a slot has one owner" },
        );
      providers.set(name, [...others, hook.name]);
    }
  return providers;
}

/** A name that is not registered makes no order; said where it looks like a misspelt one. */
function doubtful(hook: HookSettings, field: string, other: string, names: ReadonlySet<string>): string[] {
  const meant = nearest(other, names);
  if (meant === undefined || meant === hook.name) return [];
  return [
    `hook "${hook.name}" is to run ${field} "${other}", which is not registered; did you mean "${meant}"?`,
  ];
}

function noProvider(hook: HookSettings, slot: string, hooks: readonly HookSettings[]): EspalierError {
  const provided = hooks.flatMap(({ provides }) => provides?.map(({ name }) => name) ?? []);
  return new EspalierError(
    "SLOT_NOT_PROVIDED",
    `hook "${hook.name}" needs the slot "${slot}", and no registered hook provides it` +
      (provided.length > 0 ? ` (provided are ${provided.join(", ")})` : ""),
    { fix: `register a hook that provides "${slot}", or move it to \`wants\` if the hook can do without` },
  );
}

function cycle(edges: readonly OrderEdge[], done: ReadonlySet<string>): EspalierError {
  const open = edges.filter(({ first, next }) => !done.has(first) && !done.has(next));
  const path: OrderEdge[] = [];
  let at = open[0]?.next as string;
  // Every hook left waits for another one that is left: going back long enough must come round.
  while (!path.some(({ next }) => next === at)) {
    const edge = open.find(({ next }) => next === at) as OrderEdge;
    path.unshift(edge);
    at = edge.first;
  }
  const round = path.slice(0, path.findIndex(({ next }) => next === at) + 1);
  return new EspalierError(
    "HOOK_CYCLE",
    `these hooks wait for each other: ${[at, ...round.map(({ next }) => next)].join(" -> ")} (${round.map(({ why }) => why).join("; ")})`,
    {
      fix: "drop one of these relations, or read the slot of the last event by slots.previous, which makes no order",
    },
  );
}
