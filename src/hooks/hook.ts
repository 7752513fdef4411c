import type { Clock } from "../core/index.ts";
import type { Moment, Schedule } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { HookLogger } from "./log-outlet.ts";
import type { HookObserver } from "./observers.ts";
import type { Slot, SlotAccess } from "./slot.ts";

/** What every host's context has. Hosts keep one context and move it on; `counters` and `since` are new each time. */
export interface HookContext extends Moment {
  /** The event being run, e.g. `onEpochEnd`. */
  readonly event: string;
  /** 0 is the main rank. */
  readonly rank: number;
  /** The slots the hook declared. */
  readonly slots: SlotAccess;
  /** Logs in the hook's own name. A no-op until a logger is installed. */
  log(values: Readonly<Record<string, unknown>>, category?: string): void;
  readonly clock: Clock;
  /** Aborted when the run is to end at once. */
  readonly signal: AbortSignal;
  /** Ends the run after this batch, with the end events. */
  stop(reason: string): void;
  /**
   * Has something done when all hooks of this event have run, and what they asked for by this before; the host waits
   * for it. For what looks at the state as the event leaves it, whatever the order of hooks. Not in the background.
   */
  afterEvent(work: () => unknown): void;
  /**
   * Lets something go on while the host does. Its failure is the hook's, and surfaces at the next event; the host
   * waits for it at its end.
   */
  inBackground(work: Promise<unknown>): void;
}

/** A host's events: name to the context its handlers get. */
export type EventTable = Readonly<Record<string, HookContext>>;

/** The names of a table's events. */
export type EventName<E> = keyof E & string;

/** What the handlers of one event gave back, merged: plain objects count, anything else is nothing. */
export type HookResults = Readonly<Record<string, unknown>>;

/** One optional handler an event; misspelt names do not compile. */
export type Handlers<E> = {
  readonly [K in EventName<E>]?: (context: E[K]) => unknown;
};

/** The contexts of all events of a table. */
export type ContextOf<E> = E[EventName<E>];

/** Everything about a hook but its handlers. */
export interface HookSettings<C extends HookContext = HookContext> {
  /** Unique within a plan; factories make it so. */
  readonly name: string;
  /** When; without it, at every event it handles. */
  readonly schedule?: Schedule<C> | Schedule;
  /** A predicate on top of the schedule. */
  shouldRun?(context: C): boolean;
  /** Shared values it reads: whoever provides them runs first; no provider is an error. */
  readonly needs?: readonly Slot[];
  /** The same, but undefined where nobody provides it. */
  readonly wants?: readonly Slot[];
  readonly provides?: readonly Slot[];
  /** Names of hooks it runs after or before, where they are registered. */
  readonly after?: readonly string[];
  readonly before?: readonly string[];
  /** Among hooks that may run in any order, the greater comes first. Default 0. */
  readonly priority?: number;
  /** Default stop: the failure reaches the host with the hook's name and event. */
  readonly onFailure?: "stop" | "warn" | "disable";
  /** Default main. */
  readonly ranks?: "main" | "all";
  /** Does not hold the loop; works on a frozen snapshot of these components. One call at a time. */
  readonly background?: { readonly reads: readonly string[] };
  /** Milliseconds; over it warns with the figure. */
  readonly timeBudget?: number;
  /**
   * Called where the hook has no handler, at the end of each step of its host: the trainer's is `onBatchEnd`, or
   * `onEpochEnd` where the schedule waits for epochs.
   */
  run?(context: C): unknown;
  /**
   * Saved and restored under the hook's name: an object with `getState` and `setState`, or a plain object such as
   * `{ runs: 0 }`, which is saved as it is and filled in place when the run is resumed.
   */
  readonly state?: HookState;
  /** Set-up, once, before the first event. */
  onRegister?(host: HookHost): void | Promise<void>;
  /** Clean-up, exactly once, whatever the reason. */
  onUnregister?(reason: UnregisterReason): void | Promise<void>;
  /** Hooks that come and go with this one, each with its own schedule. */
  readonly children?: readonly HookSettings<C>[];
}

/** What a hook remembers: see {@link HookSettings.state}. */
export type HookState = Stateful | { [name: string]: StateTree };

/** Why a hook is cleaned up. */
export type UnregisterReason = "unregistered" | "replaced" | "cleared" | "closed";

/** What a host gives the manager: one long-lived object. What differs from hook to hook is added to a view of it. */
export type HostContext<C extends HookContext = HookContext> = Omit<
  C,
  "event" | "slots" | "log" | "afterEvent" | "inBackground"
> & {
  /** The same, frozen now, for hooks in the background: own properties that stand for the moving ones. */
  freeze?(reads: readonly string[]): object | Promise<object>;
};

/** What a hook may know of whoever it is registered with. */
export interface HookHost {
  readonly clock: Clock;
  /** Tells what does not stop the run. */
  warn(text: string): void;
  /** From now on what hooks log goes there too. */
  installLogger(logger: HookLogger): void;
  /** From now on it hears of what happens among hooks: what is decided about them, what they provide. */
  observe(observer: HookObserver): void;
}

/**
 * What carries everything but training itself: an object with handlers for some of a host's events.
 *
 * @example
 * ```ts
 * const hook: Hook<TrainerEvents> = {
 *   name: "announce",
 *   schedule: every({ epochs: 10 }),
 *   onEpochEnd: ({ counters }) => console.log(`${counters.epochs} epochs`),
 * };
 * ```
 */
export type Hook<E extends EventTable = EventTable> = HookSettings<ContextOf<E>> & Handlers<E>;
