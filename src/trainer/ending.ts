import { messageOf, onNode } from "../core/index.ts";
import type { Outcome } from "./events.ts";

/** A position at which a run can end: the epoch's index, and its repeats that are done, -1 before it has begun. */
export type EndPosition = readonly [epoch: number, done: number];

const isBefore = (a: EndPosition, b: EndPosition): boolean => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

/** The further of two positions. */
export const laterOf = (a: EndPosition, b: EndPosition): EndPosition => (isBefore(a, b) ? b : a);

/** The reason for which a rank ends, as the others learn it. */
export interface EndingReason {
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly exitCode: number | undefined;
}

/**
 * Finds the position at which all ranks of a run end, for one that is to end at `here`. Resolves with that position,
 * which is here or further on; or with "goOn": do one repeat more and ask again, because others wait for it.
 */
export type Agree = (here: EndPosition, why: EndingReason) => Promise<EndPosition | "goOn">;

/**
 * How and why the run is to end, once that was asked for. The first reason counts, except that an interrupt outdoes a
 * stop and a failure outdoes everything.
 */
export class Ending {
  outcome: Outcome | undefined;
  reason: string | undefined;
  error: unknown;
  /** The exit code of the signal that interrupted this rank, or another one. */
  exitCode: number | undefined;
  /** True once the outcome stands: signals change it no more. */
  decided = false;
  /** How ranks that end at the same position agree on it; undefined where each ends by itself. */
  together: Agree | undefined;
  #until: EndPosition | undefined;
  #passed: EndPosition | undefined;
  readonly #abort = new AbortController();
  readonly #stopping = new AbortController();
  readonly #warn: (text: string) => void;

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  /** Aborted when the run is to end at once. Kept, because the controller checks itself at every question. */
  readonly signal: AbortSignal = this.#abort.signal;

  /** Aborted as soon as the run is asked to end, in good order too. */
  readonly stopping: AbortSignal = this.#stopping.signal;

  /** No further batch, rollout or epoch begins. */
  get asked(): boolean {
    return this.outcome !== undefined;
  }

  /** True where a run that is to end ends here. A promise where ranks must agree first: ask again after it. */
  endsAt(here: EndPosition): boolean | Promise<void> {
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
    if (this.decided || this.outcome === "failed" || this.outcome === "interrupted") return;
    this.exitCode = exitCode;
    this.outcome = "interrupted";
    this.reason = reason;
    this.#stopping.abort();
  }

  /** Makes the outcome final: completed where nothing else ended the run. Only failures of the end events change it. */
  decide(): void {
    this.complete(undefined);
    this.decided = true;
  }

  fail(error: unknown): void {
    this.outcome = "failed";
    this.error = error;
    this.reason = messageOf(error);
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason);
  }

  /** Does a part of the end. Its failure fails the run; after an earlier failure it is only warned of. */
  async attempt(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.outcome === "failed")
        this.#warn(`after the run had failed, this failed too: ${String(error)}`);
      else this.fail(error);
    }
  }

  #end(outcome: Outcome, reason: string | undefined): void {
    if (this.asked) return;
    this.outcome = outcome;
    this.reason = reason;
    this.#stopping.abort();
  }
}

/** Exit codes by signal. */
const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

type Caught = keyof typeof codes;

interface SignalHandlers {
  release(): void;
}

/**
 * Catches SIGINT, SIGTERM and SIGHUP until released: the first asks for an end in good order, the second ends the
 * process at once. A SIGHUP is never that second one: a terminal that closes sends it twice, once itself and once
 * through its shell. Nor does what is still written to that terminal end the process.
 */
export function catchSignals(
  first: (signal: Caught, exitCode: number) => unknown,
  second: (signal: Caught) => void,
): SignalHandlers {
  let exitCode: number | undefined;
  const handle = (signal: Caught): void => {
    if (exitCode !== undefined) {
      if (signal === "SIGHUP") return;
      second(signal);
      process.exit(codes[signal]);
    }
    exitCode = codes[signal];
    first(signal, exitCode);
  };
  if (!onNode()) return { release() {} };
  const signals = Object.keys(codes) as Caught[];
  for (const signal of signals) process.on(signal, handle);
  const screens = [process.stdout, process.stderr]
    .filter(({ isTTY }) => isTTY)
    .map((stream) => ({ stream, passOver: (error: NodeJS.ErrnoException) => passOverClosed(stream, error) }));
  for (const { stream, passOver } of screens) stream.on("error", passOver);
  return {
    release() {
      for (const signal of signals) process.off(signal, handle);
      for (const { stream, passOver } of screens) stream.off("error", passOver);
    },
  };
}

/** A terminal that has closed answers writes with EIO. Other failures are thrown, as without a listener. */
function passOverClosed(stream: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  if (error.code !== "EIO" && stream.listenerCount("error") === 1) throw error;
}
