import { ageText } from "./text/times.ts";

/** The newest thing heard of a run; after this long without any, its process may be gone. */
export const SILENCE_MS = 2 * 60_000;

/** What is known of a run's life. */
export interface Life {
  readonly outcome: string;
  /** Milliseconds since 1970 of the newest thing heard of it: a heartbeat, a metric, its start. */
  readonly lastSign: number;
}

/** Whether a run that has not ended has been silent for so long that it may be gone. */
export const isSilent = ({ outcome, lastSign }: Life, now: number): boolean =>
  outcome === "running" && now - lastSign > SILENCE_MS;

/** `completed`, `running`, or `running, no sign for 5 min`. */
export const outcomeText = (life: Life, now: number): string =>
  isSilent(life, now) ? `running, no sign for ${ageText(now - life.lastSign)}` : life.outcome;
