import type { TrainerEvent, TrainerHook } from "../../trainer/index.ts";
import { type Around, around } from "./recorded.ts";

/** Which call of a hook fails, and how. */
export interface InjectedFailure {
  /** The n-th call, from 1. Default: every call. */
  readonly call?: number;
  /** Counts and fails only in this event. Default: all. */
  readonly event?: TrainerEvent;
  /** What it fails with. Default: an error that says that it was injected. */
  readonly error?: unknown;
  /** Whether it rejects instead of throwing. Default false. */
  readonly async?: boolean;
}

/**
 * The same hook, made to fail. The call that fails does not happen.
 *
 * @example
 * ```ts
 * const run = await simulate(failing(uploadHook, { call: 2 }), { epochs: 3 });
 * assert.equal(run.outcome, "failed");
 * ```
 */
export const failing = (hook: TrainerHook, failure: InjectedFailure = {}): TrainerHook =>
  around(hook, injecting([{ hook: undefined, ...failure }]));

/** Fails the calls that are to fail. `hook` is undefined for whichever. */
export function injecting(
  failures: readonly (InjectedFailure & { readonly hook: string | undefined })[],
): Around {
  const counts = failures.map(() => 0);
  return (name, event, _context, call) => {
    for (const [i, failure] of failures.entries()) {
      if (failure.hook !== undefined && failure.hook !== name) continue;
      if (failure.event !== undefined && failure.event !== event) continue;
      counts[i] = (counts[i] as number) + 1;
      if (failure.call !== undefined && failure.call !== counts[i]) continue;
      const error = failure.error ?? new Error(`injected into call ${counts[i]} of "${name}"`);
      if (failure.async) return Promise.reject(error);
      throw error;
    }
    return call();
  };
}
