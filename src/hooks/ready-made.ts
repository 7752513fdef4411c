import { EspalierError } from "../core/index.ts";
import { every, everySteps, type Schedule } from "../schedule/index.ts";
import type { ContextOf, EventTable, Hook, HookContext, HookSettings } from "./hook.ts";

/** When a periodic hook runs: a schedule, or 002's frequency in steps of the host's own axis. */
export type Period =
  | { readonly schedule: Schedule }
  | {
      /** The number of steps from one run to the next. */
      readonly frequency: number;
      /** The first step it runs at. Default: 0. */
      readonly startStep?: number;
    };

/** Options of {@link PeriodicHook}. Settings of hooks other than `name` are fields of the class. */
export type PeriodicOptions = Period & {
  /** Default: the class's name. */
  readonly name?: string;
  /** The event at which it looks. Default: the end of what the schedule counts, an epoch or a step of the host. */
  readonly on?: string;
};

/**
 * A hook that runs now and then, as a class: override `run`, and `shouldRun` for a predicate on top of the schedule.
 *
 * @example
 * ```ts
 * class Health extends PeriodicHook {
 *   constructor() { super({ frequency: 25 }); }
 *   override run({ counters, log }: HookContext) { log({ "health.step": counters.steps }); }
 * }
 * trainer.registerHook(new Health());
 * ```
 */
export abstract class PeriodicHook<C extends HookContext = HookContext> implements HookSettings<C> {
  readonly name: string;
  readonly schedule: Schedule;
  readonly runEvent: string | undefined;

  constructor(options: PeriodicOptions) {
    this.name = options.name ?? new.target.name;
    this.schedule = scheduleOf(options);
    this.runEvent = options.on;
  }

  /** True where the schedule is due. An override is a predicate on top of it: the schedule counts either way. */
  shouldRun(context: C): boolean {
    return this.schedule.due(context);
  }

  /** The work. Its result becomes part of the event's result. */
  abstract run(context: C): unknown;
}

/** Options of {@link periodicHook}: a hook's settings with a period and the work to do. */
export type PeriodicHookOptions<E extends EventTable> = Omit<
  HookSettings<ContextOf<E>>,
  "schedule" | "children"
> &
  Period & { readonly on?: keyof E & string; run(context: ContextOf<E>): unknown };

/**
 * Makes a hook that runs now and then: {@link PeriodicHook} without a class.
 *
 * @example
 * ```ts
 * const hook = periodicHook<TrainerEvents>({
 *   name: "announce",
 *   schedule: every({ epochs: 10 }),
 *   run: ({ counters }) => console.log(`${counters.epochs} epochs`),
 * });
 * ```
 */
export function periodicHook<E extends EventTable>(options: PeriodicHookOptions<E>): Hook<E>;
export function periodicHook(options: PeriodicHookOptions<EventTable>): HookSettings {
  const { run, on, shouldRun, ...settings } = options;
  if (typeof run !== "function")
    throw new EspalierError("HOOK_INVALID", `periodicHook "${options.name}" has no run`, {
      fix: "give it run: (context) => ...",
    });
  const schedule = scheduleOf(options);
  const hook: HookSettings = {
    ...settings,
    schedule,
    shouldRun(context) {
      return schedule.due(context) && (shouldRun === undefined || shouldRun.call(hook, context));
    },
    run: (context) => run.call(hook, context),
    runEvent: on,
  };
  return hook;
}

const scheduleOf = (period: Period): Schedule =>
  "schedule" in period ? period.schedule : everySteps(period.frequency, period.startStep);

/** Options of {@link loggingHook}. */
export interface LoggingHookOptions<E extends EventTable> {
  /** Default: `"logging"`. */
  readonly name?: string;
  /** Default: every 100 steps. */
  readonly schedule?: Schedule;
  readonly on?: keyof E & string;
  /** The values to log. Default: the counters. */
  readonly values?: (context: ContextOf<E>) => LoggedValues | Promise<LoggedValues>;
  readonly category?: string;
}

type LoggedValues = Readonly<Record<string, unknown>>;

/**
 * Logs the state of its host now and then, through the context's `log`.
 *
 * @example
 * ```ts
 * loggingHook<TrainerEvents>({ schedule: every({ epochs: 1 }), values: ({ state }) => state.metrics() });
 * ```
 */
export function loggingHook<E extends EventTable>(options: LoggingHookOptions<E> = {}): Hook<E> {
  const { name = "logging", schedule = every({ steps: 100 }), on, values, category } = options;
  return periodicHook<E>({
    name,
    schedule,
    ...(on !== undefined && { on }),
    run(context) {
      const found = values === undefined ? { ...context.counters } : values(context);
      if (!(found instanceof Promise)) return context.log(found, category);
      return found.then((settled) => context.log(settled, category));
    },
  });
}

/** Options of {@link compositeHook}. */
export interface CompositeHookOptions<E extends EventTable> {
  readonly name: string;
  readonly hooks: readonly Hook<E>[];
}

/**
 * Several hooks that come and go as one. Each keeps its name, its schedule and its place in the order.
 *
 * @example
 * ```ts
 * const watch = compositeHook({ name: "watch", hooks: [evaluation, loggingHook({ schedule: every({ epochs: 1 }) })] });
 * trainer.registerHook(watch);
 * trainer.unregisterHook(watch);
 * ```
 */
export function compositeHook<E extends EventTable>(options: CompositeHookOptions<E>): Hook<E>;
/** Of hooks whose host is known already: no type argument is needed. */
export function compositeHook<H extends HookSettings<never>>(options: {
  readonly name: string;
  readonly hooks: readonly H[];
}): { readonly name: string; readonly children: readonly H[] };
export function compositeHook({
  name,
  hooks,
}: {
  readonly name: string;
  readonly hooks: readonly HookSettings<never>[];
}): HookSettings<never> {
  if (!Array.isArray(hooks) || hooks.length === 0)
    throw new EspalierError("HOOK_INVALID", `the composite hook "${name}" has no hooks`, {
      fix: `write compositeHook({ name: "${name}", hooks: [first, second] })`,
    });
  return { name, children: hooks };
}
