import {
  type Clock,
  countInWords,
  EspalierError,
  isPlainObject,
  isWorthSaying,
  messageOf,
} from "../core/index.ts";
import type { Entry, Handler } from "./entry.ts";
import type { HookContext, HookResults, HookSettings, HostContext } from "./hook.ts";
import type { Observers } from "./manager.ts";
import { askingFails, inWords, unasked, type Verdict, verdict } from "./plan.ts";

interface RunnerParts {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly observers: Observers;
  /** Prints every decision. */
  readonly trace: ((context: HostContext, decision: string) => void) | undefined;
  /** Called when a hook was disabled. */
  readonly changed: () => void;
}

/** Work that a hook asked for at the end of an event. */
interface Afterwards {
  readonly entry: Entry;
  readonly event: string;
  readonly work: () => unknown;
}

/** Calls handlers: in turn, timed, with each hook's failure policy. Synchronous until a promise appears. */
export class Runner {
  readonly #parts: RunnerParts;
  /** Work for the end of the event under way. */
  readonly #afterwards: Afterwards[] = [];

  /** Calls and work that do not hold the loop. */
  readonly background: Background;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.background = new Background(this, parts.warn);
  }

  /**
   * Runs an event's hooks in turn, then the work they asked for at its end. `waiting` are those among them that are not
   * asked: decisions about them are only printed.
   */
  runAll(
    entries: readonly Entry[],
    event: string,
    context: HostContext,
    results: Results,
    waiting?: ReadonlySet<Entry>,
  ): HookResults | undefined | Promise<HookResults | undefined> {
    // A handler may run another event of this manager by hand.
    const outer = this.#afterwards.length;
    try {
      const merged = this.#runFrom(0, entries, event, context, results, waiting);
      if (!(merged instanceof Promise) && this.#afterwards.length === outer) return merged;
      return this.#runAfterwards(merged, outer);
    } catch (error) {
      this.#afterwards.length = outer;
      throw error;
    }
  }

  /** See {@link HookContext.afterEvent}. */
  afterEvent(entry: Entry, event: string, work: () => unknown): void {
    this.#afterwards.push({ entry, event, work });
  }

  async #runAfterwards(
    merged: HookResults | undefined | Promise<HookResults | undefined>,
    outer: number,
  ): Promise<HookResults | undefined> {
    try {
      const settled = await merged;
      for (let i = outer; i < this.#afterwards.length; i++) {
        const { entry, event, work } = this.#afterwards[i] as Afterwards;
        const start = this.#parts.clock.now();
        try {
          await work();
        } catch (cause) {
          this.failed(entry, event, cause);
        } finally {
          this.#took(entry, event, start);
        }
      }
      return settled;
    } finally {
      this.#afterwards.length = outer;
    }
  }

  #runFrom(
    from: number,
    entries: readonly Entry[],
    event: string,
    context: HostContext,
    results: Results,
    waiting: ReadonlySet<Entry> | undefined,
  ): HookResults | undefined | Promise<HookResults | undefined> {
    for (let i = from; i < entries.length; i++) {
      const entry = entries[i] as Entry;
      if (waiting?.has(entry)) {
        this.#parts.trace?.(context, inWords(entry, event, unasked(entry, context)));
        continue;
      }
      const result = this.#runOne(entry, event, context);
      if (result instanceof Promise)
        return result.then((settled) => {
          results.add(entry.name, settled);
          return this.#runFrom(i + 1, entries, event, context, results, waiting);
        });
      results.add(entry.name, result);
    }
    return results.merged;
  }

  #runOne(entry: Entry, event: string, context: HostContext): unknown {
    try {
      const { observers, trace } = this.#parts;
      const explained = observers.deciding || trace !== undefined;
      if (!(explained ? this.#ask(entry, event, context) : entry.isDue(context, event))) return undefined;
    } catch (cause) {
      return this.failed(entry, event, cause);
    }
    return this.call(entry, event, context);
  }

  /** Calls a hook that runs, or has it called in the background. */
  call(entry: Entry, event: string, context: HostContext): unknown {
    if (entry.hook.background)
      return this.background.launch(entry, event, context, entry.hook.background.reads);
    return this.callNow(entry, event, entry.viewOf(context, event));
  }

  /** Asks a hook, once, and passes the decision to observers and to the trace. */
  #ask(entry: Entry, event: string, context: HostContext): boolean {
    const { observers, trace } = this.#parts;
    let found: Verdict;
    try {
      found = verdict(entry, context, entry.viewOf(context, event));
    } catch (error) {
      trace?.(context, inWords(entry, event, askingFails(error)));
      throw error;
    }
    trace?.(context, inWords(entry, event, found));
    if (entry.hook.schedule ?? entry.hook.shouldRun) observers.decided(entry, context, event, found);
    return found.runs;
  }

  /** Calls a handler, timed. */
  callNow(entry: Entry, event: string, view: HookContext): unknown {
    const start = this.#parts.clock.now();
    let result: unknown;
    try {
      result = (entry.handlers.get(event) as Handler).call(entry.hook, view);
    } catch (cause) {
      this.#took(entry, event, start);
      return this.failed(entry, event, cause);
    }
    if (isThenable(result)) return this.#await(entry, event, result, start);
    this.#took(entry, event, start);
    return result;
  }

  async #await(entry: Entry, event: string, result: PromiseLike<unknown>, start: number): Promise<unknown> {
    const { timeBudget } = entry.hook;
    const timer =
      timeBudget === undefined
        ? undefined
        : setTimeout(
            () => this.#parts.warn(overBudget(entry, event, "is still running after its")),
            timeBudget,
          );
    try {
      const settled = await result;
      return settled;
    } catch (cause) {
      return this.failed(entry, event, cause);
    } finally {
      clearTimeout(timer);
      this.#took(entry, event, start);
    }
  }

  #took(entry: Entry, event: string, start: number): void {
    const took = this.#parts.clock.now() - start;
    entry.timing.add(took);
    const { timeBudget } = entry.hook;
    if (timeBudget !== undefined && took > timeBudget)
      this.#parts.warn(overBudget(entry, event, `took ${took.toFixed(1)} ms, more than its`));
  }

  /** Applies a hook's failure policy: throws where it stops the run. */
  failed(entry: Entry, event: string, cause: unknown): undefined {
    const { hook } = entry;
    const what = failureText(hook, event, cause);
    const times = (entry.failures.get(event)?.count ?? 0) + 1;
    if (hook.onFailure === "warn" || hook.onFailure === "disable")
      entry.failures.set(event, { count: times, error: cause });
    switch (hook.onFailure) {
      case "warn": {
        if (isWorthSaying(times))
          this.#parts.warn(`${what}; training goes on (onFailure: "warn"): ${countInWords(times)}`);
        return undefined;
      }
      case "disable":
        entry.enabled = false;
        this.#parts.changed();
        this.#parts.observers.switched(entry.name, false);
        this.#parts.warn(`${what}; it is disabled (onFailure: "disable")`);
        return undefined;
      default:
        throw failure(hook, event, cause);
    }
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

function overBudget(entry: Entry, event: string, what: string): string {
  const budget = `time budget of ${entry.hook.timeBudget} ms`;
  return `hook "${entry.name}" in ${event} ${what} ${budget}; run it less often, in the background, or raise timeBudget`;
}

/** Work that does not hold the loop: one call per hook at a time, and failures kept until they can be raised. */
class Background {
  readonly #runner: Runner;
  readonly #warn: (text: string) => void;
  /** Failures that have not been raised yet: of calls in the background, set-ups, clean-ups. */
  readonly #failures: unknown[] = [];

  constructor(runner: Runner, warn: (text: string) => void) {
    this.#runner = runner;
    this.#warn = warn;
  }

  /** Raises the first failure that has not been raised. */
  raise(): void {
    if (this.#failures.length > 0) throw this.#failures.shift();
  }

  /** Keeps a failure until the next event, or until hooks are waited for. */
  keep(failure: unknown): void {
    this.#failures.push(failure);
  }

  /** See {@link HookContext.inBackground}. */
  goOn(entry: Entry, event: string, work: Promise<unknown>): void {
    entry.background.add(Promise.resolve(work), (cause) => {
      try {
        this.#runner.failed(entry, event, cause);
      } catch (error) {
        this.keep(error);
      }
    });
  }

  /** Starts a call that does not hold the loop. The one before must be done, so that there is one at a time. */
  launch(entry: Entry, event: string, context: HostContext, reads: readonly string[]): unknown {
    const start = (frozen: object): void => {
      const view = entry.freshView(
        Object.create(context, Object.getOwnPropertyDescriptors(frozen)) as object,
        event,
      );
      const call = Promise.resolve().then(() => this.#runner.callNow(entry, event, view));
      entry.background.add(call, (error) => this.keep(error));
    };
    const freeze = (): object | Promise<object> =>
      context.freeze?.(reads) ?? { counters: context.counters, since: context.since };
    const before = entry.background.done;
    if (before)
      return before
        .then(() => this.raise())
        .then(freeze)
        .then(start);
    const frozen = freeze();
    if (frozen instanceof Promise) return frozen.then(start);
    start(frozen);
    return undefined;
  }

  /** Waits for hooks in the background. */
  async join(entries: readonly Entry[]): Promise<void> {
    await Promise.all(entries.map(({ background }) => background.done));
  }

  /** The same. Raises the first failure and warns of the others. */
  async settle(entries: readonly Entry[]): Promise<void> {
    await this.join(entries);
    const [first, ...others] = this.#failures.splice(0);
    for (const error of others) this.#warn(messageOf(error));
    if (first !== undefined) throw first;
  }
}

/** The results of the hooks of one event, merged. Two hooks with the same key are an error that names both. */
export class Results {
  readonly #event: string;
  #merged: Record<string, unknown> | undefined;
  #owners: Map<string, string> | undefined;

  constructor(event: string) {
    this.#event = event;
  }

  add(hook: string, result: unknown): void {
    if (result === undefined || !isPlainObject(result)) return;
    this.#merged ??= {};
    this.#owners ??= new Map();
    for (const [key, value] of Object.entries(result)) {
      const other = this.#owners.get(key);
      if (other !== undefined)
        throw new EspalierError(
          "HOOK_RESULT_CONFLICT",
          `the hooks "${other}" and "${hook}" both returned "${key}" in ${this.#event}`,
          { fix: `return it under another name in one of them, or share it by a slot` },
        );
      this.#owners.set(key, hook);
      this.#merged[key] = value;
    }
  }

  get merged(): HookResults | undefined {
    return this.#merged;
  }
}

/** A hook that failed under `onFailure: "warn"` or `"disable"`: in which event, how often, and why the last time. */
export interface HookFailure {
  readonly hook: string;
  readonly event: string;
  readonly count: number;
  readonly error: unknown;
}

/** A failure in words that name the hook and the event. */
function failureText({ name }: HookSettings, event: string, cause: unknown): string {
  return `hook "${name}" failed in ${event}: ${messageOf(cause)}`;
}

/** The error that reaches the host when a hook fails. Its fix is the cause's, where that says what to do. */
export function failure(hook: HookSettings, event: string, cause: unknown): EspalierError {
  const handler = event !== "onRegister" && event !== "onUnregister";
  const known = cause instanceof EspalierError ? cause.fix : undefined;
  const text = failureText(hook, event, cause).replace(`\n  fix: ${known}`, "");
  const fix =
    known ??
    (handler
      ? 'mend the hook, or let training go on without it by onFailure: "warn" or "disable"'
      : `mend the hook's ${event}`);
  return new EspalierError("HOOK_FAILED", text, { cause, fix });
}
