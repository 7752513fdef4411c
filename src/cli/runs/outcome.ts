import { dateText } from "./text/times.ts";

/** The newest thing heard of a run; after this long without any, its process may be gone. */
export const SILENCE_MS = 2 * 60_000;

/** What is known of a run's life. */
export interface Life {
  readonly outcome: string;
  /** Milliseconds since 1970 of the newest thing heard of it: a heartbeat, a metric, its start. */
  readonly lastSign: number;
  /** Its process is known to be gone. */
  readonly gone?: boolean;
}

/** Whether a run that has not ended has been silent for so long that it may be gone. */
export const isSilent = ({ outcome, lastSign, gone = false }: Life, now: number): boolean =>
  outcome === "running" && (gone || now - lastSign > SILENCE_MS);

/** `completed`, `running`, or `no sign of life since 2026-11-15 12:03`. */
export const outcomeText = (run: { readonly silent: boolean } & Life): string =>
  run.silent ? `no sign of life since ${dateText(run.lastSign)}` : run.outcome;
