/** Time as an injected part, so that whatever depends on it can be tested without waiting. */
export interface Clock {
  /** Milliseconds since an arbitrary start; never goes backwards. */
  now(): number;
  /** Milliseconds since 1970, for labels that people read. */
  wall(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
};

/** A clock that stands still until it is told to move. */
export interface ManualClock extends Clock {
  advance(milliseconds: number): void;
}

/**
 * A clock for tests.
 *
 * @example
 * ```ts
 * const clock = manualClock();
 * clock.advance(1500);
 * clock.now(); // 1500
 * ```
 */
export function manualClock(startWall = 0): ManualClock {
  let elapsed = 0;
  return {
    now: () => elapsed,
    wall: () => startWall + elapsed,
    advance(milliseconds) {
      elapsed += milliseconds;
    },
  };
}

/** Calls `then` when the signal is aborted, or now where it is. Gives the function that ends waiting for it. */
export function onAbort(signal: AbortSignal | undefined, then: (reason: unknown) => void): () => void {
  const abort = (): void => then(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return () => signal?.removeEventListener("abort", abort);
}

/** What {@link inTime} rejects with where the time is over. */
export class Late extends Error {}

/** The value of a promise; rejects with {@link Late}, or with the signal's reason. What comes later is ignored. */
export function inTime<T>(
  promise: T | Promise<T>,
  timeout: number | undefined,
  signal?: AbortSignal,
): Promise<T> {
  let settle = (): void => undefined;
  const limit = new Promise<never>((_, reject) => {
    const late = (): void => reject(new Late(`no answer in ${timeout} ms`));
    const timer = timeout === undefined ? undefined : setTimeout(late, timeout);
    const release = onAbort(signal, reject);
    settle = () => {
      clearTimeout(timer);
      release();
    };
  });
  return Promise.race([promise, limit]).finally(settle);
}
