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
