/** What the function below is given: it must not use anything else. */
export interface EndParts {
  /** Ends the process at once with a code; undefined where there is no way to. */
  readonly exitNow: (() => void) | undefined;
  /** Ends it without a code of ours. */
  readonly kill: () => void;
  readonly later: (work: () => void, milliseconds: number) => void;
}

/**
 * Ends the process with code 124 from another thread. First the main thread is asked, which then runs its exit handlers;
 * where it does not answer, or these hang, the C library's `_exit` does it by koffi; where there is no koffi, SIGKILL,
 * with which the code is 137. Its text runs in the watching thread.
 */
export function endProcess(ask: (code: number) => void, { exitNow, kill, later }: EndParts): void {
  const force = (): void => {
    try {
      exitNow?.();
    } catch {
      // What remains is the signal.
    }
    kill();
  };
  try {
    ask(124);
  } catch {
    force();
    return;
  }
  later(force, 2000);
}
