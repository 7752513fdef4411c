import type { Outcome } from "./events.ts";

/** Where a run can end: the epoch's index, and how many of its repeats are done, -1 before it has begun. */
export type Place = readonly [epoch: number, done: number];

const isBefore = (a: Place, b: Place): boolean => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

/** The further of two places. */
export const laterOf = (a: Place, b: Place): Place => (isBefore(a, b) ? b : a);

/** Why a rank ends, told to the others. */
export interface EndingReason {
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly exitCode: number | undefined;
}

/**
 * Finds the place at which all ranks of a run end, for one that is to end at `here`. Gives that place, which is here or
 * further on; or "goOn": do one repeat more and ask again, because others wait for it.
 */
export type Agree = (here: Place, why: EndingReason) => Promise<Place | "goOn">;

/**
 * Whether and why the run is to end. The first reason counts, except that an interrupt outdoes a stop and a failure
 * outdoes everything.
 */
export class Ending {
  outcome: Outcome | undefined;
  reason: string | undefined;
  error: unknown;
  /** The exit code of the signal that interrupted this rank, or another one. */
  exitCode: number | undefined;
  /** How ranks that end at the same place agree on it; undefined where each ends by itself. */
  together: Agree | undefined;
  #until: Place | undefined;
  #passed: Place | undefined;
  readonly #abort = new AbortController();

  /** Aborted when the run is to end at once. Kept, because the controller checks itself at every question. */
  readonly signal: AbortSignal = this.#abort.signal;

  /** No further batch, rollout or epoch begins. */
  get asked(): boolean {
    return this.outcome !== undefined;
  }

  /**
   * Whether a run that is to end, and is here, ends here. A promise where ranks must agree first: ask again after it.
   */
  endsAt(here: Place): boolean | Promise<void> {
    const { together, outcome } = this;
    if (!together || outcome === undefined || outcome === "failed") return this.asked;
    if (this.#until) return !isBefore(here, this.#until);
    if (this.#passed && !isBefore(this.#passed, here)) return false;
    return together(here, { outcome, reason: this.reason, exitCode: this.exitCode }).then((agreed) => {
      if (agreed === "goOn") this.#passed = here;
      else this.#until = agreed;
    });
  }

  stop(reason: string): void {
    this.#end("stopped", reason);
  }

  complete(reason: string | undefined): void {
    this.#end("completed", reason);
  }

  interrupt(reason: string, exitCode?: number): void {
    if (this.outcome === "failed" || this.outcome === "interrupted") return;
    this.exitCode = exitCode;
    this.outcome = "interrupted";
    this.reason = reason;
  }

  fail(error: unknown): void {
    this.outcome = "failed";
    this.error = error;
    this.reason = error instanceof Error ? error.message : String(error);
  }

  abort(reason: string): void {
    this.#abort.abort(reason);
  }

  #end(outcome: Outcome, reason: string | undefined): void {
    if (this.asked) return;
    this.outcome = outcome;
    this.reason = reason;
  }
}
