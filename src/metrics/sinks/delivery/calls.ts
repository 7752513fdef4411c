import type { Clock } from "../../../core/index.ts";
import type { Timers } from "./timers.ts";

export interface CallOutcome {
  /** It was done. `synchronous` milliseconds of it held the caller. */
  readonly done: (synchronous: number) => void;
  readonly failed: (error: unknown) => void;
  /** It has not answered in time. One of the two others follows, or nothing ever. */
  readonly overdue: () => void;
}

/**
 * Makes calls that may be asynchronous, one at a time. A call without an answer is not given up: as long as nobody
 * knows whether it was done, making it again could do it twice, and the next could overtake it.
 */
export class Calls {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #deadline: number;
  #busy = false;

  constructor(clock: Clock, timers: Timers, deadline: number) {
    this.#clock = clock;
    this.#timers = timers;
    this.#deadline = deadline;
  }

  /** Whether a call has not answered yet. */
  get busy(): boolean {
    return this.#busy;
  }

  make(call: () => unknown, { done, failed, overdue }: CallOutcome): void {
    const started = this.#clock.now();
    let answer: unknown;
    try {
      answer = call();
    } catch (error) {
      failed(error);
      return;
    }
    const held = this.#clock.now() - started;
    if (!isPromise(answer)) {
      done(held);
      return;
    }
    this.#busy = true;
    const settled = this.#timers.set(overdue, this.#deadline);
    const answered = (): void => {
      settled();
      this.#busy = false;
    };
    answer.then(
      () => {
        answered();
        done(held);
      },
      (error: unknown) => {
        answered();
        failed(error);
      },
    );
  }
}

const isPromise = (answer: unknown): answer is PromiseLike<unknown> =>
  typeof answer === "object" && answer !== null && "then" in answer && typeof answer.then === "function";
