import type { Counters } from "../schedule/index.ts";
import type { Entry } from "./entry.ts";
import type { Verdict } from "./explain.ts";
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

  /** Tells what came of asking a hook. */
  decided(entry: Entry, context: HostContext, event: string, { runs: ran, why }: Verdict): void {
    const { counters } = context;
    for (const each of this.#all) each.decided?.({ hook: entry.name, event, ran, why, counters });
  }

  provided(slot: Slot, value: unknown): void {
    for (const each of this.#all) each.provided?.(slot, value);
  }

  switched(hook: string, enabled: boolean): void {
    for (const each of this.#all) each.switched?.(hook, enabled);
  }
}
