import { EspalierError } from "../core/index.ts";
import { everySteps, type Schedule } from "../schedule/index.ts";
import type { ContextOf, EventTable, Hook, HookContext, HookSettings } from "./hook.ts";

/** When a periodic hook runs: a schedule, or 002's frequency in steps of the host's own axis. */
export type Period =
  | { readonly schedule: Schedule }
  | {
      /** Every so many steps. */
      readonly frequency: number;
      /** The first step it runs at. Default 0. */
      readonly startStep?: number;
    };

/** What a {@link PeriodicHook} is made with. Settings of hooks other than `name` are fields of the class. */
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

  constructor(options: PeriodicOptions) {
    this.name = options.name ?? new.target.name;
    this.schedule =
      "schedule" in options ? options.schedule : everySteps(options.frequency, options.startStep);
    if (options.on !== undefined)
      Object.defineProperty(this, options.on, { value: (context: C) => this.run(context), enumerable: true });
  }

  /** Whether the schedule is due. An override is a predicate on top of it: the schedule counts either way. */
  shouldRun(context: C): boolean {
    return this.schedule.due(context);
  }

  /** What it does. What it gives back becomes part of the event's result. */
  abstract run(context: C): unknown;
}

/** What {@link periodicHook} takes: a hook's settings with a period and what to do. */
export type PeriodicHookOptions<E extends EventTable> = Omit<
  HookSettings<ContextOf<E>>,
  "schedule" | "children"
> &
  Period & { readonly on?: keyof E & string; run(context: ContextOf<E>): unknown };

/**
 * The same as a factory.
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
export function periodicHook<E extends EventTable>(options: PeriodicHookOptions<E>): Hook<E> {
  const { run, on, shouldRun, ...rest } = options;
  if (typeof run !== "function")
    throw new EspalierError("HOOK_INVALID", `periodicHook "${options.name}" has no run`, {
      fix: "give it run: (context) => ...",
    });
  class Made extends PeriodicHook<ContextOf<E>> {
    override shouldRun(context: ContextOf<E>): boolean {
      return super.shouldRun(context) && (shouldRun === undefined || shouldRun.call(this, context));
    }
    override run(context: ContextOf<E>): unknown {
      return run.call(this, context);
    }
  }
  const {
    schedule: _given,
    frequency: _frequency,
    startStep: _start,
    ...settings
  } = rest as Record<string, unknown>;
  const period = on === undefined ? rest : { ...rest, on };
  return Object.assign(new Made(period), settings) as unknown as Hook<E>;
}
