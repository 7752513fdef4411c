import { messageOf, printableText, tableLines } from "../core/index.ts";
import type { Counters, Point } from "../schedule/index.ts";
import { pointsOf } from "./due-index.ts";
import { type Entry, wants } from "./entry.ts";
import type { HookContext, HookSettings, HostContext } from "./hook.ts";
import type { OrderEdge } from "./order.ts";

/** The order in which hooks run, and why. */
export interface HookPlan {
  readonly order: readonly string[];
  readonly edges: readonly OrderEdge[];
  /** The hooks in that order. */
  readonly hooks: readonly PlannedHook[];
  /** Drawn for a terminal. */
  readonly text: string;
}

/** The part of a hook that says when it runs. */
export interface PlannedHook extends Pick<HookSettings, "name" | "schedule"> {
  /** The events that it handles. */
  readonly events: readonly string[];
  /** True where its `shouldRun` is asked on top of its schedule. */
  readonly conditional: boolean;
  readonly enabled: boolean;
}

/** Prints the order with the reason for every edge. */
export function planOf(order: readonly Entry[], edges: readonly OrderEdge[]): HookPlan {
  const rows = order.map((entry, i) => {
    const { hook } = entry;
    const why = edges
      .filter(({ next }) => next === hook.name)
      .map(({ first, why }) => `after ${first} (${why})`);
    const marks = [
      entry.enabled ? "" : "disabled",
      hook.background ? "in the background" : "",
      hook.ranks === "all" ? "on all ranks" : "",
      priorityText(hook.priority ?? 0),
    ].filter((mark) => mark !== "");
    return [
      `${i + 1}.`,
      hook.name,
      hook.schedule?.describe() ?? "at every event",
      [...entry.handlers.keys()].join(", "),
      [...marks, ...why].join("; "),
    ];
  });
  const text = tableLines(rows, { longest: Number.POSITIVE_INFINITY }).join("\n") || "no hooks";
  const hooks = order.map(({ hook: { name, schedule, shouldRun }, handlers, enabled }) => ({
    name,
    ...(schedule && { schedule }),
    events: [...handlers.keys()],
    conditional: shouldRun !== undefined,
    enabled,
  }));
  return { order: order.map(({ name }) => name), edges, hooks, text };
}

/** `first` and `last` are the priorities of hooks that run before or after all others. */
function priorityText(priority: number): string {
  if (Math.abs(priority) >= Number.MAX_VALUE) return priority > 0 ? "first" : "last";
  return priority === 0 ? "" : `priority ${priority}`;
}

/** The reason for which a hook runs or does not run. */
export interface Explanation {
  readonly hook: string;
  readonly event: string;
  readonly runs: boolean;
  /** In one sentence. */
  readonly text: string;
}

/** The decision about a hook, and the reason. */
export interface Verdict {
  readonly runs: boolean;
  /** The same words whenever it is for the same reason. */
  readonly why: string;
  /** Details of this moment. */
  readonly more?: () => string;
}

/** Asks a hook whether it runs, as `isDue` does, and why. Its exceptions are the hook's failures. */
export function verdict(entry: Entry, context: HostContext, view: HookContext): Verdict {
  const { schedule, shouldRun } = entry.hook;
  if (isElsewhere(entry, context)) return elsewhere(context);
  if (schedule && !schedule.due(view)) return notDue(entry, context);
  if (!wants(entry.hook, view)) return { runs: false, why: "its shouldRun says no" };
  if (schedule) return { runs: true, why: `${schedule.describe()} is due` };
  return { runs: true, why: shouldRun ? "its shouldRun says yes" : "it runs at every event it handles" };
}

/** The reason for which a hook that is not asked does not run: it is off, or waits for a point. */
export function unasked(entry: Entry, context: HostContext): Verdict {
  if (!entry.enabled) return { runs: false, why: "it is disabled" };
  return isElsewhere(entry, context) ? elsewhere(context) : notDue(entry, context);
}

export const askingFails = (error: unknown): Verdict => ({
  runs: false,
  why: `asking it fails: ${messageOf(error)}`,
});

/** A verdict in one sentence. */
export const inWords = ({ name }: Entry, event: string, { runs, why, more }: Verdict): string =>
  printableText(`${name} ${runs ? "runs" : "does not run"} in ${event}: ${why}${more?.() ?? ""}`);

/** Explains what the manager decides about a hook at a moment. Asks the same questions as `isDue`. */
export function explain(entry: Entry, event: string, context: HostContext): Explanation {
  const found = verdictAt(entry, event, context);
  return { hook: entry.name, event, runs: found.runs, text: inWords(entry, event, found) };
}

function verdictAt(entry: Entry, event: string, context: HostContext): Verdict {
  if (!entry.handlers.has(event))
    return { runs: false, why: `it handles ${[...entry.handlers.keys()].join(", ") || "nothing"}` };
  if (!entry.enabled) return unasked(entry, context);
  try {
    return verdict(entry, context, entry.freshView(context, event));
  } catch (error) {
    return askingFails(error);
  }
}

const isElsewhere = ({ hook }: Entry, { rank }: HostContext): boolean => rank !== 0 && hook.ranks !== "all";

const elsewhere = ({ rank }: HostContext): Verdict => ({
  runs: false,
  why: "it runs on the main rank alone",
  more: () => `, and this is rank ${rank}`,
});

const notDue = (entry: Entry, { counters }: HostContext): Verdict => ({
  runs: false,
  why: `${entry.hook.schedule?.describe()} is not due`,
  more: () => nextWords(pointsOf(entry, counters), counters),
});

function nextWords(points: readonly Point[] | undefined, counters: Counters): string {
  if (points === undefined) return "";
  if (points.length === 0) return ", and never will be again";
  const words = points.map(({ unit, at }) => `${at} ${unit} (now ${counters[unit] ?? 0})`);
  return `; not before ${words.join(" or ")}`;
}
