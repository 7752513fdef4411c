import { printableText } from "../core/index.ts";
import type { Counters, Point } from "../schedule/index.ts";
import { pointsOf } from "./due-index.ts";
import { type Entry, wants } from "./entry.ts";
import type { HookContext, HostContext } from "./hook.ts";

/** Why a hook did or did not run. */
export interface Explanation {
  readonly hook: string;
  readonly event: string;
  readonly runs: boolean;
  /** In one sentence. */
  readonly text: string;
}

/** Whether a hook runs, and why. */
export interface Verdict {
  readonly runs: boolean;
  /** The same words whenever it is for the same reason. */
  readonly why: string;
  /** What else there is to say at this moment. */
  readonly more?: () => string;
}

/** Asks a hook whether it runs, as `isDue` does, for whoever wants to know why. What it throws is its failure. */
export function verdict(entry: Entry, context: HostContext, view: HookContext): Verdict {
  const { schedule, shouldRun } = entry.hook;
  if (isElsewhere(entry, context)) return elsewhere(context);
  if (schedule && !schedule.due(view)) return notDue(entry, context);
  if (!wants(entry.hook, view)) return { runs: false, why: "its shouldRun says no" };
  if (schedule) return { runs: true, why: `${schedule.describe()} is due` };
  return { runs: true, why: shouldRun ? "its shouldRun says yes" : "it runs at every event it handles" };
}

/** Why a hook that is not asked does not run: it is off, or waits for a point. */
export function unasked(entry: Entry, context: HostContext): Verdict {
  if (!entry.enabled) return { runs: false, why: "it is disabled" };
  return isElsewhere(entry, context) ? elsewhere(context) : notDue(entry, context);
}

export const askingFails = (error: unknown): Verdict => ({
  runs: false,
  why: `asking it fails: ${error instanceof Error ? error.message : String(error)}`,
});

/** A verdict in one sentence. */
export const inWords = ({ name }: Entry, event: string, { runs, why, more }: Verdict): string =>
  printableText(`${name} ${runs ? "runs" : "does not run"} in ${event}: ${why}${more?.() ?? ""}`);

/** What the manager decides about a hook at a moment, with the reason. Asks the same questions as `isDue`. */
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
