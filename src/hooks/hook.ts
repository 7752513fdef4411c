import type { Clock } from "../core/index.ts";
import type { Counters, Moment, Schedule } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Slot, SlotAccess } from "./slots.ts";

/** The part of a context that every host has. Hosts keep one context and move it on; `counters` and `since` are new each time. */
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
   * Does work when all hooks of this event have run, and work that they asked for before; the host waits for it. For
   * work that looks at the state as the event leaves it, whatever the order of hooks. Not in the background.
   */
  afterEvent(work: () => unknown): void;
  /**
   * Lets work go on while the host goes on. Its failure is the hook's, and surfaces at the next event; the host waits for
   * it at its end.
   */
  inBackground(work: Promise<unknown>): void;
}

/** A host's events: name to the context its handlers get. */
export type EventTable = Readonly<Record<string, HookContext>>;

/** The names of a table's events. */
export type EventName<E> = keyof E & string;

/** The results of the handlers of one event, merged: plain objects count, anything else is nothing. */
export type HookResults = Readonly<Record<string, unknown>>;

/** One optional handler per event; misspelt names do not compile. */
export type Handlers<E> = {
  readonly [K in EventName<E>]?: (context: E[K]) => unknown;
};

/** The contexts of all events of a table. */
export type ContextOf<E> = E[EventName<E>];

/** Everything about a hook but its handlers. */
export interface HookSettings<C extends HookContext = HookContext> {
  /** Unique within a plan; factories make it so. */
  readonly name: string;
  /** When it runs. Default: at every event it handles. */
  readonly schedule?: Schedule<C> | Schedule;
  /** A predicate on top of the schedule. */
  shouldRun?(context: C): boolean;
  /** Shared values it reads: their providers run first; no provider is an error. */
  readonly needs?: readonly Slot[];
  /** The same, but undefined without a provider. */
  readonly wants?: readonly Slot[];
  readonly provides?: readonly Slot[];
  /** Names of hooks it runs after or before, where they are registered. */
  readonly after?: readonly string[];
  readonly before?: readonly string[];
  /** Among hooks that may run in any order, the greater comes first. Default: 0. */
  readonly priority?: number;
  /** `"stop"`: a failure reaches the host with the hook's name and event. Default: `"stop"`. */
  readonly onFailure?: "stop" | "warn" | "disable";
  /** The ranks it runs on. Default: `"main"`. */
  readonly ranks?: "main" | "all";
  /** Does not hold the loop; works on a frozen snapshot of these components. One call at a time. */
  readonly background?: { readonly reads: readonly string[] };
  /** Milliseconds that a call may take; a warning names a longer one. */
  readonly timeBudget?: number;
  /**
   * Called at the end of each step of its host, where the hook has no handler for that: the trainer's is `onBatchEnd`,
   * or `onEpochEnd` where the schedule waits for epochs.
   */
  run?(context: C): unknown;
  /** Another event at which `run` is called. */
  readonly runEvent?: string | undefined;
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

/** The state of a hook: see {@link HookSettings.state}. */
export type HookState = Stateful | { [name: string]: StateTree };

/** The reason for which a hook is cleaned up. */
export type UnregisterReason = "unregistered" | "replaced" | "cleared" | "closed";

/** The context that a host gives the manager: one long-lived object. The parts that differ from hook to hook are added to a view of it. */
export type HostContext<C extends HookContext = HookContext> = Omit<
  C,
  "event" | "slots" | "log" | "afterEvent" | "inBackground"
> & {
  /** The same, frozen now, for hooks in the background: own properties that stand for the moving ones. */
  freeze?(reads: readonly string[]): object | Promise<object>;
};

/** The host of a hook, as `onRegister` gets it. */
export interface HookHost {
  readonly clock: Clock;
  /** Prints a message that does not stop the run. */
  warn(text: string): void;
  /** From now on values that hooks log go there too. */
  installLogger(logger: HookLogger): void;
  /** From now on the observer is called with decisions about hooks and with slots that they provide. */
  observe(observer: HookObserver): void;
}

/** A logger in one owner's name. */
export interface OwnedLog {
  log(values: Readonly<Record<string, unknown>>, at: Counters, category?: string): void;
}

/** Takes values that hooks log: each in the name of its hook, under the counters of its event. */
export interface HookLogger {
  as(owner: string): OwnedLog;
}

/** The decision about a hook that was asked whether it runs. */
export interface HookDecision {
  readonly hook: string;
  readonly event: string;
  readonly ran: boolean;
  /** The same words whenever it is for the same reason. */
  readonly why: string;
  readonly counters: Counters;
}

/** Is called with what happens among hooks, while it happens. Must be quick, and must not fail. */
export interface HookObserver {
  /**
   * A hook that has a schedule or a predicate was asked whether it runs. Between two such answers it was not due: a
   * hook that waits for a point is not asked before.
   */
  decided?(decision: HookDecision): void;
  /** A hook provided a shared value. */
  provided?(slot: Slot, value: unknown): void;
  /** A hook was enabled or disabled, by a call or because it failed. */
  switched?(hook: string, enabled: boolean): void;
}

/**
 * An object with handlers for some of a host's events. Hooks carry everything but training itself.
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
