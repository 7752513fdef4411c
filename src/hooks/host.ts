import type { EventName, EventTable, Hook, HookResults } from "./hook.ts";
import type { HookManager } from "./manager.ts";

/** A host of hooks under the names of the documents: the trainer and the rollout worker. */
export abstract class HostOfHooks<E extends EventTable, H extends Hook<E> = Hook<E>> {
  /** The manager of its hooks: plan, timings, explain, enable and disable. */
  abstract get hooks(): HookManager<E>;
  /** Runs an event's hooks by hand, at the counters of now. */
  abstract runHooks(event: EventName<E>): Promise<HookResults | undefined>;

  registerHook(hook: H): void {
    this.hooks.register(hook);
  }
  /** The same as `registerHook`. */
  addHook(hook: H): void {
    this.registerHook(hook);
  }
  /** False where there is no such hook. */
  unregisterHook(hook: H | string): boolean {
    return this.hooks.unregister(hook);
  }
  clearHooks(): void {
    this.hooks.clear();
  }
  getHooks(): readonly H[] {
    return this.hooks.list() as readonly H[]; // Only `registerHook` adds some.
  }
}
