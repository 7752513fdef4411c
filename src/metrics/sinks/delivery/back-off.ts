import type { Clock } from "../../../core/index.ts";
import type { Timers } from "./timers.ts";

/** When the next call is due: at once, or some time after a failure, longer with each failure in a row. */
export class BackOff {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #range: readonly [first: number, longest: number];
  readonly #action: () => void;
  #due = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;
  /** In a row, up to now. */
  failures = 0;

  constructor(clock: Clock, timers: Timers, range: readonly [number, number], action: () => void) {
    this.#clock = clock;
    this.#timers = timers;
    this.#range = range;
    this.#action = action;
  }

  /** Whether the time has come, also where nobody lets timers run. */
  get isDue(): boolean {
    return this.#clock.now() >= this.#due;
  }

  /** Acts after a failure. */
  retry(): void {
    const [first, longest] = this.#range;
    const wait = Math.min(longest, first * 2 ** Math.min(this.failures - 1, 50));
    this.#due = this.#clock.now() + wait;
    this.#set(wait);
  }

  /** Acts as soon as whoever runs now is through. */
  soon(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    this.#set(0);
  }

  /** Does not act any more, until told so again. It is due at any time. */
  cancel(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #set(wait: number): void {
    this.#cancel?.();
    this.#cancel = this.#timers.set(() => {
      this.cancel();
      this.#action();
    }, wait);
  }
}
