import { every, type Schedule } from "../schedule/index.ts";
import type { ContextOf, EventTable, Hook } from "./hook.ts";
import { periodicHook } from "./periodic.ts";

/** Options of {@link loggingHook}. */
export interface LoggingHookOptions<E extends EventTable> {
  /** Default `logging`. */
  readonly name?: string;
  /** Default every 100 steps. */
  readonly schedule?: Schedule;
  readonly on?: keyof E & string;
  /** What to log. Default: the counters. */
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
    ...(on === undefined ? {} : { on }),
    run(context) {
      const found = values === undefined ? { ...context.counters } : values(context);
      if (!(found instanceof Promise)) return context.log(found, category);
      return found.then((settled) => context.log(settled, category));
    },
  });
}
