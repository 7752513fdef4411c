import type { Runner } from "./runner.ts";

/** The losses that take part in a call. */
export type CallLosses = Parameters<Runner["run"]>[2];

/** Keeps what is made for each pair of sets of losses: coming back to one makes nothing. */
export function perLosses<T>(make: (losses: CallLosses) => T): (losses: CallLosses) => T {
  const made = new Map<string, T>();
  return (losses) => {
    const name = JSON.stringify([losses.rollout, losses.train]);
    const known = made.get(name) ?? make(losses);
    made.set(name, known);
    return known;
  };
}
