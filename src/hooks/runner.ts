import { type Clock, countInWords, isWorthSaying } from "../core/index.ts";
import { Background } from "./background.ts";
import type { Entry, Handler } from "./entry.ts";
import { askingFails, inWords, unasked, type Verdict, verdict } from "./explain.ts";
import { failure, failureText } from "./failure.ts";
import type { HookContext, HookResults, HostContext } from "./hook.ts";
import type { Observers } from "./observers.ts";
import type { Results } from "./results.ts";

interface RunnerParts {
  readonly clock: Clock;
  readonly warn: (text: string) => void;
  readonly observers: Observers;
  /** Prints every decision. */
  readonly trace: ((context: HostContext, decision: string) => void) | undefined;
  /** Called when a hook was disabled. */
  readonly changed: () => void;
}

/** What a hook asked for at the end of an event. */
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

  /** What holds nobody up. */
  readonly background: Background;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.background = new Background({
      warn: parts.warn,
      call: (entry, event, view) => this.#call(entry, event, view),
      failed: (entry, event, cause) => this.#failed(entry, event, cause),
    });
  }

  /**
   * Runs an event's hooks in turn, then what they asked for at its end. `waiting` are those among them that are not
   * asked, but told of where decisions are printed.
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
          this.#failed(entry, event, cause);
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
      const heard = observers.deciding || trace !== undefined;
      if (!(heard ? this.#ask(entry, event, context) : entry.isDue(context, event))) return undefined;
    } catch (cause) {
      return this.#failed(entry, event, cause);
    }
    if (entry.hook.background)
      return this.background.launch(entry, event, context, entry.hook.background.reads);
    return this.#call(entry, event, entry.viewOf(context, event));
  }

  /** Asks a hook, once, and tells whoever wants to know. */
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

  #call(entry: Entry, event: string, view: HookContext): unknown {
    const start = this.#parts.clock.now();
    let result: unknown;
    try {
      result = (entry.handlers.get(event) as Handler).call(entry.hook, view);
    } catch (cause) {
      this.#took(entry, event, start);
      return this.#failed(entry, event, cause);
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
      return this.#failed(entry, event, cause);
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

  #failed(entry: Entry, event: string, cause: unknown): undefined {
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
