import type { Outcome } from "./events.ts";

/**
 * Whether and why the run is to end. The first reason counts, except that an interrupt outdoes a stop and a failure
 * outdoes everything.
 */
export class Ending {
  outcome: Outcome | undefined;
  reason: string | undefined;
  error: unknown;
  readonly #abort = new AbortController();

  /** Aborted when the run is to end at once. Kept, because the controller checks itself at every question. */
  readonly signal: AbortSignal = this.#abort.signal;

  /** No further batch, rollout or epoch begins. */
  get asked(): boolean {
    return this.outcome !== undefined;
  }

  stop(reason: string): void {
    this.#end("stopped", reason);
  }

  complete(reason: string | undefined): void {
    this.#end("completed", reason);
  }

  interrupt(reason: string): void {
    if (this.outcome === "failed" || this.outcome === "interrupted") return;
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
