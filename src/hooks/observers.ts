import type { Counters } from "../schedule/index.ts";
import type { Entry } from "./entry.ts";
import type { HostContext } from "./hook.ts";
import type { Slot } from "./slot.ts";

/** Whether a hook that was asked runs, and why. */
export interface HookDecision {
  readonly hook: string;
  readonly event: string;
  readonly ran: boolean;
  /** The same words whenever it is for the same reason. */
  readonly why: string;
  readonly counters: Counters;
}

/** Hears of what happens among hooks, while it happens. Must be quick, and must not fail. */
export interface HookObserver {
  /**
   * A hook that has a schedule or a predicate was asked whether it runs. Between two such answers it was not due: a
   * hook that waits for a point is not asked before.
   */
  decided?(decision: HookDecision): void;
  /** A hook provided a shared value. */
  provided?(slot: Slot, value: unknown): void;
  /** A hook was enabled or disabled, by somebody or because it failed. */
  switched?(hook: string, enabled: boolean): void;
}

/** Whoever observes. */
export class Observers {
  /** Whether anybody hears of decisions. */
  deciding = false;
  #all: readonly HookObserver[] = [];

  add(observer: HookObserver): void {
    this.#all = [...this.#all, observer];
    this.deciding ||= observer.decided !== undefined;
  }

  /** Asks a hook, as `isDue` does, and tells what came of it. */
  ask(entry: Entry, context: HostContext, event: string): boolean {
    const { ran, why } = verdict(entry, context, event);
    const { counters } = context;
    for (const each of this.#all) each.decided?.({ hook: entry.name, event, ran, why, counters });
    return ran;
  }

  provided(slot: Slot, value: unknown): void {
    for (const each of this.#all) each.provided?.(slot, value);
  }

  switched(hook: string, enabled: boolean): void {
    for (const each of this.#all) each.switched?.(hook, enabled);
  }
}

function verdict(entry: Entry, context: HostContext, event: string): Pick<HookDecision, "ran" | "why"> {
  const { schedule, shouldRun, ranks } = entry.hook;
  if (context.rank !== 0 && ranks !== "all") return { ran: false, why: "it runs on the main rank alone" };
  const view = entry.viewOf(context, event);
  const when = schedule?.describe();
  if (schedule && !schedule.due(view)) return { ran: false, why: `${when} is not due` };
  if (shouldRun && !shouldRun.call(entry.hook, view)) return { ran: false, why: "its shouldRun says no" };
  return { ran: true, why: when === undefined ? "its shouldRun says yes" : `${when} is due` };
}
