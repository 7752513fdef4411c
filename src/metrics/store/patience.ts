import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds that others may keep a database for themselves. */
const patience = 30_000;
const [first, longest] = [1, 50];

/**
 * Does something that fails while somebody else writes, again and again until it is done. Between two attempts other
 * work of the process goes on.
 */
export async function patiently<T>(
  isBusy: (error: unknown) => boolean,
  work: () => T | Promise<T>,
): Promise<T> {
  const start = performance.now();
  for (let wait = first; ; wait = Math.min(2 * wait, longest))
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() - start > patience) throw error;
      // Not all at the same moment again.
      await sleep(wait * (0.5 + Math.random()));
    }
}
