import type { Counters, Point } from "../schedule/index.ts";
import { pointsOf } from "./due-index.ts";
import type { Entry } from "./entry.ts";
import type { HostContext } from "./hook.ts";

/** Why a hook did or did not run. */
export interface Explanation {
  readonly hook: string;
  readonly event: string;
  readonly runs: boolean;
  /** In one sentence. */
  readonly text: string;
}

/** What the manager decides about a hook at a moment, with the reason. Asks the same questions as `isDue`. */
export function explain(entry: Entry, event: string, context: HostContext): Explanation {
  const { hook } = entry;
  const say = (runs: boolean, why: string): Explanation => ({
    hook: hook.name,
    event,
    runs,
    text: `${hook.name} ${runs ? "runs" : "does not run"} in ${event}: ${why}`,
  });
  if (!entry.handlers.has(event))
    return say(false, `it handles ${[...entry.handlers.keys()].join(", ") || "nothing"}`);
  if (!entry.enabled) return say(false, "it is disabled");
  if (context.rank !== 0 && hook.ranks !== "all")
    return say(false, `it runs on the main rank alone, and this is rank ${context.rank}`);
  const { schedule } = hook;
  const when = schedule?.describe();
  const view = entry.freshView(context, event);
  try {
    if (schedule !== undefined && !schedule.due(view))
      return say(
        false,
        `${when} is not due${nextWords(pointsOf(entry, context.counters), context.counters)}`,
      );
    if (hook.shouldRun !== undefined && !hook.shouldRun(view)) return say(false, "its shouldRun says no");
  } catch (error) {
    return say(false, `asking it fails: ${error instanceof Error ? error.message : String(error)}`);
  }
  return say(true, when === undefined ? "it runs at every event it handles" : `${when} is due`);
}

function nextWords(points: readonly Point[] | undefined, counters: Counters): string {
  if (points === undefined) return "";
  if (points.length === 0) return ", and never will be again";
  const words = points.map(({ unit, at }) => `${at} ${unit} (now ${counters[unit] ?? 0})`);
  return `; not before ${words.join(" or ")}`;
}
