import type { Entry } from "./entry.ts";
import type { HookContext, HostContext } from "./hook.ts";

interface BackgroundParts {
  readonly warn: (text: string) => void;
  /** Calls a hook's handler, timed. */
  readonly call: (entry: Entry, event: string, view: HookContext) => unknown;
  /** Applies a hook's failure policy: throws where it stops the run. */
  readonly failed: (entry: Entry, event: string, cause: unknown) => undefined;
}

/** Work that does not hold the loop: one call a hook at a time, and failures kept until somebody can hear of them. */
export class Background {
  readonly #parts: BackgroundParts;
  /** Failures of what held nobody up, that nobody has heard of yet: in the background, set-ups, clean-ups. */
  readonly #unheard: unknown[] = [];

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
  }

  /** Raises the first failure that nobody has heard of. */
  raise(): void {
    if (this.#unheard.length > 0) throw this.#unheard.shift();
  }

  /** Keeps a failure until the next event, or until hooks are waited for. */
  keep(failure: unknown): void {
    this.#unheard.push(failure);
  }

  /** See {@link HookContext.inBackground}. */
  goOn(entry: Entry, event: string, work: Promise<unknown>): void {
    const heard = work.catch((cause: unknown) => {
      try {
        this.#parts.failed(entry, event, cause);
      } catch (error) {
        this.keep(error);
      }
    });
    const all = Promise.all([entry.inFlight, heard]).then(() => {
      if (entry.inFlight === all) entry.inFlight = undefined;
    });
    entry.inFlight = all;
  }

  /** Starts a call that does not hold the loop. The one before must be done, so that there is one at a time. */
  launch(entry: Entry, event: string, context: HostContext, reads: readonly string[]): unknown {
    const start = (frozen: object): void => {
      const view = entry.freshView(
        Object.create(context, Object.getOwnPropertyDescriptors(frozen)) as object,
        event,
      );
      entry.inFlight = Promise.resolve()
        .then(() => this.#parts.call(entry, event, view))
        .catch((error: unknown) => this.keep(error))
        .then(() => {
          entry.inFlight = undefined;
        });
    };
    const freeze = (): object | Promise<object> =>
      context.freeze?.(reads) ?? { counters: context.counters, since: context.since };
    if (entry.inFlight)
      return entry.inFlight
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
    await Promise.all(entries.map(({ inFlight }) => inFlight));
  }

  /** The same. Raises the first failure; what else failed is said, not lost. */
  async settle(entries: readonly Entry[]): Promise<void> {
    await this.join(entries);
    const [first, ...others] = this.#unheard.splice(0);
    for (const error of others) this.#parts.warn(error instanceof Error ? error.message : String(error));
    if (first !== undefined) throw first;
  }
}
