import { type Clock, EspalierError, type ManualClock, manualClock } from "../core/index.ts";
import { type Counters, noCounters } from "../schedule/index.ts";
import type { Hook, HookContext, HostContext } from "./hook.ts";
import { HookManager, type HookManagerOptions } from "./manager.ts";

/** The events of the host that tests use. */
export type TestEvents = {
  readonly onStart: HookContext;
  readonly onBatchEnd: HookContext;
  readonly onEpochEnd: HookContext;
};

export type TestHook = Hook<TestEvents>;

export const testEvents = ["onStart", "onBatchEnd", "onEpochEnd"] as const;

/** Counters that are 0 but for those given; the host's own axis is its batches. */
export const counted = (given: Readonly<Record<string, number>> = {}): Counters => ({
  ...noCounters,
  ...(given.batches === undefined ? {} : { steps: given.batches, updates: given.batches }),
  ...given,
});

/** A host that moves one context on, as the trainer does. */
export interface TestHost {
  readonly manager: HookManager<TestEvents>;
  readonly context: HostContext;
  readonly clock: ManualClock;
  readonly warnings: string[];
  readonly logged: {
    readonly owner: string;
    readonly values: object;
    readonly category: string | undefined;
    readonly counters: Counters;
  }[];
  /** Every `stop` that hooks asked for. */
  readonly stops: string[];
  /** Runs an event at these counters; `since` is where the same event happened before. */
  at(event: keyof TestEvents, given?: Readonly<Record<string, number>>): unknown;
  register(...hooks: readonly TestHook[]): TestHost;
}

export function testHost(
  options: Partial<HookManagerOptions<TestEvents>> & {
    readonly rank?: number;
    /** Moments have no history. */
    readonly lone?: boolean;
    readonly start?: Counters;
  } = {},
): TestHost {
  const { rank = 0, lone = false, start = noCounters, ...rest } = options;
  const clock = manualClock();
  const warnings: string[] = [];
  const logged: TestHost["logged"] = [];
  const stops: string[] = [];
  const manager = new HookManager<TestEvents>({
    events: testEvents,
    clock,
    warn: (text) => warnings.push(text),
    logger: {
      as: (owner) => ({
        log: (values, counters, category) => logged.push({ owner, values, category, counters }),
      }),
    },
    ...rest,
  });
  let counters = start;
  let since: Counters | undefined;
  const last = new Map<string, Counters>();
  const context: HostContext = {
    get counters() {
      return counters;
    },
    get since() {
      return since;
    },
    rank,
    clock: clock as Clock,
    signal: new AbortController().signal,
    stop: (reason) => stops.push(reason),
  };
  const host: TestHost = {
    manager,
    context,
    clock,
    warnings,
    logged,
    stops,
    at(event, given) {
      counters = given === undefined ? { ...counters } : counted(given);
      since = lone ? undefined : (last.get(event) ?? start);
      last.set(event, counters);
      return manager.run(event, context);
    },
    register(...hooks) {
      for (const hook of hooks) manager.register(hook);
      return host;
    },
  };
  return host;
}

/** What a call failed with. */
export function failureOf(call: () => unknown): EspalierError {
  try {
    call();
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** What a promise was rejected with. */
export async function rejectionOf(promise: unknown): Promise<EspalierError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof EspalierError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** A promise with its ends. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
