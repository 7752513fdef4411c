import type { Counters } from "../schedule/index.ts";

/** Logs in one owner's name. */
export interface OwnedLog {
  log(values: Readonly<Record<string, unknown>>, at: Counters, category?: string): void;
}

/** Where values that hooks log go: each in the name of its hook, under the counters of its event. */
export interface HookLogger {
  as(owner: string): OwnedLog;
}

/** Hands what hooks log to every logger that is installed; while there is none it goes nowhere. */
export class LogOutlet {
  #loggers: readonly HookLogger[];
  #owned = new Map<string, readonly OwnedLog[]>();

  constructor(logger: HookLogger | undefined) {
    this.#loggers = logger ? [logger] : [];
  }

  /** Doing it twice with the same does no harm. */
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
