import { type Clock, systemClock } from "../../src/core/index.ts";
import { type HookContext, HookManager, type HostContext } from "../../src/hooks/index.ts";
import { type Counters, noCounters } from "../../src/schedule/index.ts";

/** A host with one event, so that hooks can be timed without a trainer. */
export type LoneEvents = { readonly onBatchEnd: HookContext };

type LoneHook = Parameters<HookManager<LoneEvents>["register"]>[0];

/** Runs its hooks again and again, one update each time. */
export class LoneHost {
  readonly hooks = new HookManager<LoneEvents>({ events: ["onBatchEnd"] });
  counters: Counters = noCounters;
  since: Counters | undefined = undefined;
  readonly rank = 0;
  readonly clock: Clock = systemClock;
  readonly signal: AbortSignal = new AbortController().signal;

  constructor(hooks: readonly LoneHook[]) {
    for (const hook of hooks) this.hooks.register(hook);
  }

  stop(): void {}

  /** So many events, each after one more update. */
  run(events: number): void {
    const context = this as unknown as HostContext<HookContext>;
    for (let i = 0; i < events; i++) {
      const before = this.counters;
      const updates = before.updates + 1;
      this.since = before;
      this.counters = {
        epoch: 0,
        epochs: 0,
        batches: updates,
        updates,
        samples: updates,
        steps: updates,
        seconds: 0,
      };
      this.hooks.run("onBatchEnd", context);
    }
  }
}

/** So many hooks that do nothing, each with the schedule that is made for it. */
export const idleHooks = (count: number, schedule: (i: number) => LoneHook["schedule"]): LoneHook[] =>
  Array.from({ length: count }, (_, i) => {
    const when = schedule(i);
    return { name: `hook${i}`, onBatchEnd: () => {}, ...(when && { schedule: when }) };
  });
