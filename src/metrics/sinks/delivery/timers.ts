/** How to be called later: an injected part, as the clock is. */
export interface Timers {
  /** Calls `action` after so many milliseconds, unless what it returns is called before. */
  set(action: () => void, milliseconds: number, choice?: { readonly keepAlive?: boolean }): () => void;
}

/** Node takes what is longer for nothing at all. It is 24 days. */
const longest = 2 ** 31 - 1;

/** The machine's own. They do not keep a process alive unless told so. */
export const systemTimers: Timers = {
  set(action, milliseconds, { keepAlive = false } = {}) {
    const timer = setTimeout(action, Math.min(milliseconds, longest));
    if (!keepAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};
