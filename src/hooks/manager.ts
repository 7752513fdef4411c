import {
  type Clock,
  didYouMean,
  EspalierError,
  environmentVariable,
  printableText,
  systemClock,
  toStandardError,
} from "../core/index.ts";
import type { Adds, Counters, Moment } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import { DueIndex, pointsOf } from "./due-index.ts";
import type { Entry, HookTiming } from "./entry.ts";
import type {
  ContextOf,
  EventName,
  EventTable,
  Hook,
  HookLogger,
  HookObserver,
  HookResults,
  HookSettings,
  HostContext,
  OwnedLog,
} from "./hook.ts";
import { type Explanation, explain, type HookPlan, planOf, type Verdict } from "./plan.ts";
import { Registry } from "./registry.ts";
import { type HookFailure, Results, Runner } from "./runner.ts";
import { type Slot, SlotBoard } from "./slots.ts";

/** Options of {@link HookManager}. */
export interface HookManagerOptions<E> {
  /** The host's events, in the order in which they happen. */
  readonly events: readonly EventName<E>[];
  /** The end of a step, at which `run` of hooks without handlers is called. Default: `onStep`, else `onBatchEnd`. */
  readonly stepEvent?: EventName<E>;
  readonly clock?: Clock;
  /** Takes messages that do not stop the run: failures that only warn, budgets overrun. Default: standard error. */
  readonly warn?: (text: string) => void;
  /** Prints every decision, to standard error or to a function. `ESPALIER_DEBUG=hooks` does the same. */
  readonly trace?: boolean | ((line: string) => void);
  /** Takes values that hooks log. A hook may install one: `metricsHook` does. */
  readonly logger?: HookLogger;
}

/**
 * Keeps a host's hooks and runs those that are due, in an order that follows from what they share. Generic over the
 * host's events: the trainer, the rollout worker and tests use the same one.
 *
 * ```
 * register(hook)         checked (inspect.ts), set up, put in order by slots, after, before, priority (order.ts)
 * run(event, context)    the hooks that may be due, by points they wait for (due-index.ts)
 *                        each: rank, schedule, shouldRun; then its handler, timed, with its failure policy (runner.ts)
 *                        work that they asked for at the end of the event
 * close()                hooks in the background are waited for, then all are cleaned up (registry.ts)
 * ```
 *
 * @example
 * ```ts
 * const hooks = new HookManager<TrainerEvents>({ events: trainerEvents });
 * hooks.register({ name: "announce", schedule: every({ epochs: 10 }), onEpochEnd: () => console.log("ten more") });
 * await hooks.run("onEpochEnd", context);
 * console.log(hooks.plan().text);
 * ```
 */
export class HookManager<E extends EventTable> {
  /** The values hooks share. */
  readonly slots = new SlotBoard(() => this.#registry.entries.map(({ hook }) => hook));
  readonly #events: readonly string[];
  readonly #registry: Registry;
  readonly #runner: Runner;
  readonly #trace: ((line: string) => void) | undefined;
  #indexes = new Map<string, DueIndex>();
  #indexed: readonly Entry[] | undefined;

  constructor(options: HookManagerOptions<E>) {
    const { clock = systemClock, trace, logger } = options;
    const warn = safely(options.warn ?? toStandardError);
    this.#events = options.events;
    const print = typeof trace === "function" ? trace : trace || debugging() ? toStandardError : undefined;
    this.#trace = print && safely(print);
    const observers = new Observers();
    this.slots.told = (slot, value) => observers.provided(slot, value);
    const runner = new Runner({
      clock,
      warn,
      observers,
      trace: this.#trace && ((host, decision) => this.#trace?.(placeOf(host) + decision)),
      changed: () => this.#registry.touch(),
    });
    this.#runner = runner;
    this.#registry = new Registry({
      events: this.#events,
      slots: this.slots,
      clock,
      log: new LogOutlet(logger),
      warn,
      observers,
      stepEvent: options.stepEvent ?? ["onStep", "onBatchEnd"].find((event) => this.#events.includes(event)),
      runner,
    });
  }

  /** Adds a hook, from the next event on. Checks it and sets it up. */
  register(hook: Hook<E>): void {
    this.#registry.add(hook);
  }

  /** Removes a hook, from the next event on, and cleans it up. False where there is no such hook. */
  unregister(hook: Hook<E> | string): boolean {
    return this.#registry.remove(nameOf(hook), "unregistered");
  }

  /** Puts a hook in the place of another. */
  replace(old: Hook<E> | string, hook: Hook<E>): void {
    this.#registry.replace(nameOf(old), hook);
  }

  /** False where there is no such hook. */
  enable(hook: Hook<E> | string): boolean {
    return this.#registry.setEnabled(nameOf(hook), true);
  }

  /** Keeps a hook from running until it is enabled again; its state stays. False where there is no such hook. */
  disable(hook: Hook<E> | string): boolean {
    return this.#registry.setEnabled(nameOf(hook), false);
  }

  /** Has all schedules asked anew when they are due next: one of them has changed its mind. */
  refresh(): void {
    this.#registry.touch();
  }

  /**
   * Calls a hook whatever its schedule and predicate say: its handler of the first of these events that it handles. Its
   * failure is treated as its `onFailure` says. False where there is no such handler, or the hook does not run here.
   */
  async runNow(
    hook: Hook<E> | string,
    events: readonly EventName<E>[],
    host: HostContext<ContextOf<E>>,
  ): Promise<boolean> {
    const name = nameOf(hook);
    const entry = this.#registry.entries.find((each) => each.name === name);
    const event = events.find((each) => entry?.handlers.has(each));
    if (!entry?.enabled || event === undefined || (host.rank !== 0 && entry.hook.ranks !== "all"))
      return false;
    await this.#runner.call(entry, event, host);
    return true;
  }

  /** Removes all hooks. */
  clear(): void {
    this.#registry.clear("cleared");
  }

  /** The hooks in the order of registration, composites as one. */
  list(): readonly Hook<E>[] {
    return this.#registry.hooks as readonly Hook<E>[];
  }

  get(name: string): Hook<E> | undefined {
    return this.#registry.hooks.find((hook) => hook.name === name) as Hook<E> | undefined;
  }

  /** Fails where hooks wait for each other or need a slot without a provider. */
  check(): void {
    this.#registry.check();
  }

  /** The states of hooks and of their schedules, and the shared values, by name. */
  get components(): Readonly<Record<string, Stateful>> {
    const found: Record<string, Stateful> = { slots: this.slots };
    for (const { hook, state } of this.#registry.entries) {
      if (state) found[`hook.${hook.name}`] = state;
      if (hook.schedule?.state) found[`hook.${hook.name}.schedule`] = hook.schedule.state;
    }
    return found;
  }

  /**
   * Runs the hooks that are due for an event, one after the other, and returns their results, merged. Returns a promise
   * only where one of them was asynchronous.
   */
  run<K extends EventName<E>>(
    event: K,
    context: HostContext<E[K]>,
  ): HookResults | undefined | Promise<HookResults | undefined>;
  run(event: string, host: HostContext): HookResults | undefined | Promise<HookResults | undefined> {
    return this.#run(event, host);
  }

  #run(event: string, host: HostContext): HookResults | undefined | Promise<HookResults | undefined> {
    const index = this.#indexOf(event);
    this.#runner.background.raise();
    const settingUp = this.#registry.lifecycle.settingUp;
    if (settingUp !== undefined) return settingUp.then(() => this.#run(event, host));
    const asked = index.collect(host);
    // A trace prints decisions about hooks that are not asked too, in their places.
    const waiting = this.#trace && allBut(index.entries, new Set(asked));
    const entries = waiting ? index.entries : asked;
    if (entries.length === 0) return undefined;
    this.slots.begin();
    this.#registry.lifecycle.hold();
    let results: ReturnType<Runner["runAll"]>;
    try {
      results = this.#runner.runAll(entries, event, host, new Results(event), waiting);
    } catch (error) {
      this.#registry.lifecycle.release();
      throw error;
    }
    if (results instanceof Promise) return results.finally(() => this.#registry.lifecycle.release());
    this.#registry.lifecycle.release();
    return results;
  }

  /**
   * True where any hook may be due for the event at these counters. `since` is where the event last happened, for hosts
   * that know; without it, where hooks were last asked.
   */
  mayRun(event: EventName<E>, counters: Counters, since?: Counters): boolean {
    const index = this.#indexOf(event);
    return this.#trace ? index.entries.length > 0 : index.mayRun(counters, since);
  }

  /**
   * Repeats, each adding `adds`, after which a hook may be due for the event: 1 to limit, or limit + 1. `since` is where
   * the event last happened, if not at `at`.
   */
  untilDue(event: EventName<E>, at: Counters, adds: Adds, limit: number, since: Counters = at): number {
    const index = this.#indexOf(event);
    if (this.#trace) return index.entries.length > 0 ? 1 : limit + 1;
    return index.untilDue(at, adds, limit, since);
  }

  /** The hooks that make an event run every time: they may be due now, or it is not known when they are due next. */
  blockers(event: EventName<E>, counters: Counters): readonly string[] {
    const watching = this.#indexOf(event).entries.filter((entry) => {
      if (!entry.enabled) return false;
      const points = pointsOf(entry, counters);
      return points?.some(({ unit, at }) => unit === "seconds" || at <= (counters[unit] ?? 0)) ?? true;
    });
    return watching.map(({ name }) => name);
  }

  /** Waits for hooks in the background, set-ups and clean-ups; their failures are raised here. */
  async settle(): Promise<void> {
    await this.#registry.lifecycle.settle();
    await this.#runner.background.settle(this.#registry.entries);
  }

  /** Waits for hooks in the background, then cleans all hooks up, each once. They stay listed. */
  async close(): Promise<void> {
    await this.#registry.lifecycle.settle();
    await this.#runner.background.join(this.#registry.entries);
    await this.#registry.close();
    await this.settle();
  }

  /** The order in which hooks run, with the reason for it. */
  plan(): HookPlan {
    const { order, edges } = this.#registry.check();
    return planOf(order, edges);
  }

  /** How long each hook's calls took. */
  timings(): readonly HookTiming[] {
    return this.#registry.entries.map(({ name, timing }) => timing.read(name));
  }

  /** Hooks that failed without stopping the run, each with its events. */
  failures(): readonly HookFailure[] {
    return this.#registry.entries.flatMap(({ name, failures }) =>
      [...failures].map(([event, { count, error }]) => ({ hook: name, event, count, error })),
    );
  }

  /** Explains why a hook runs or does not run in an event at a moment. */
  explain(hook: Hook<E> | string, event: EventName<E>, at: Moment & { readonly rank?: number }): Explanation {
    const name = nameOf(hook);
    const entry = this.#registry.entries.find((each) => each.name === name);
    if (!entry) {
      const children = this.get(name)?.children?.map((child) => child.name);
      const why = children ? `it consists of ${children.join(", ")}` : "it is not registered";
      return {
        hook: name,
        event,
        runs: false,
        text: printableText(`${name} does not run in ${event}: ${why}`),
      };
    }
    return explain(entry, event, { rank: 0, ...at } as HostContext);
  }

  #indexOf(event: string): DueIndex {
    const order = this.#registry.order;
    if (this.#indexed !== order) {
      this.#indexes = new Map();
      this.#indexed = order;
    }
    let index = this.#indexes.get(event);
    if (index === undefined) {
      if (!this.#events.includes(event))
        throw new EspalierError(
          "EVENT_UNKNOWN",
          `there is no event "${event}"${didYouMean(event, this.#events)}`,
          { fix: `the events are ${this.#events.join(", ")}` },
        );
      index = new DueIndex(order.filter(({ handlers }) => handlers.has(event)));
      this.#indexes.set(event, index);
    }
    return index;
  }
}

const allBut = (entries: readonly Entry[], some: ReadonlySet<Entry>): ReadonlySet<Entry> =>
  new Set(entries.filter((entry) => !some.has(entry)));

const placeOf = ({ counters: { epochs, batches } }: HostContext): string =>
  `hooks: epochs ${epochs}, batches ${batches}: `;

const nameOf = (hook: HookSettings | string): string => (typeof hook === "string" ? hook : hook.name);

const debugging = (): boolean => (environmentVariable("ESPALIER_DEBUG") ?? "").split(",").includes("hooks");

/** Prints without control characters: messages quote names and texts of hooks. */
const safely =
  (print: (text: string) => void) =>
  (text: string): void =>
    print(printableText(text));

/** Passes values that hooks log to every installed logger. */
export class LogOutlet {
  #loggers: readonly HookLogger[];
  #owned = new Map<string, readonly OwnedLog[]>();

  constructor(logger: HookLogger | undefined) {
    this.#loggers = logger ? [logger] : [];
  }

  /** Installing one twice changes nothing. */
  install(logger: HookLogger): void {
    if (this.#loggers.includes(logger)) return;
    this.#loggers = [...this.#loggers, logger];
    this.#owned = new Map();
  }

  log(
    owner: string,
    values: Readonly<Record<string, unknown>>,
    at: Counters,
    category: string | undefined,
  ): void {
    let owned = this.#owned.get(owner);
    if (!owned) {
      owned = this.#loggers.map((logger) => logger.as(owner));
      this.#owned.set(owner, owned);
    }
    for (const own of owned) own.log(values, at, category);
  }
}

/** The observers that hooks have installed. */
export class Observers {
  /** True where an observer takes decisions. */
  deciding = false;
  #all: readonly HookObserver[] = [];

  add(observer: HookObserver): void {
    this.#all = [...this.#all, observer];
    this.deciding ||= observer.decided !== undefined;
  }

  /** Passes the decision about a hook on. */
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
