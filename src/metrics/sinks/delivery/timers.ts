/** How to be called later: an injected part, as the clock is. */
export interface Timers {
  /** Calls `action` after so many milliseconds, unless what it returns is called before. */
  set(action: () => void, milliseconds: number, choice?: { readonly keepAlive?: boolean }): () => void;
}

/** The machine's own. They do not keep a process alive unless told so. */
export const systemTimers: Timers = {
  set(action, milliseconds, { keepAlive = false } = {}) {
    const timer = setTimeout(action, milliseconds);
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};
