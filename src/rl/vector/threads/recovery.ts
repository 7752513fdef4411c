import { EspalierError } from "../../../core/index.ts";
import type { Description } from "../description.ts";
import { type Fault, failsAgain, invalidEnvironment, mostFailures } from "../failure.ts";
import type { InfoSums } from "../infos.ts";
import type { Memory } from "../memory.ts";
import type { Restart } from "../stepper.ts";
import { type Account, putAccount, sameAccount, takeAccount } from "./accounts.ts";
import { type Heard, Link, type LinkOptions } from "./link.ts";
import { StepLog } from "./step-log.ts";

/** What all threads of a vector have in common. */
export interface Shared {
  readonly description: Description;
  /** What the vector gives. */
  readonly outputs: Memory;
  /** Those that were made anew are added to it. */
  readonly restarts: Restart[];
  readonly infos: InfoSums;
  /** Observations beyond their bounds, in words. */
  readonly outside: string[];
}

const differs: Fault = {
  what: "gave something else when it was repeated from the same state with the same actions",
  fix: "keep everything the environment's future depends on in getState(), its random numbers included",
};

/**
 * Puts another thread in the place of one that was lost in an environment. That one is made anew there; the others are
 * brought back to where they were after the last finished step.
 */
export class Recovery {
  readonly #options: LinkOptions;
  readonly #shared: Shared;
  /** Only where an environment may be made anew. */
  readonly log: StepLog | undefined;
  /** Those a thread was lost in since the last finished request, as they were before. */
  readonly #doomed = new Map<number, Account>();

  constructor(options: LinkOptions, shared: Shared, link: Link) {
    this.#options = options;
    this.#shared = shared;
    if (options.policies.includes(1)) this.log = new StepLog(link.memory, link.buffer.byteLength);
  }

  /** Another request begins. */
  begin(): void {
    if (this.#doomed.size > 0) this.#doomed.clear();
  }

  restarted(restarts: readonly Restart[]): void {
    this.#shared.restarts.push(...restarts);
    this.log?.outdate();
  }

  /** Another thread with the same environments. */
  renew(): Link {
    const link = new Link(this.#options, this.#shared.description.masked);
    link.made();
    link.attach(this.#shared.description);
    return link;
  }

  #tryRenew(): Link | EspalierError {
    try {
      return this.renew();
    } catch (error) {
      return error as EspalierError;
    }
  }

  /** What takes the place of a link that was lost in environment `lost`, or the error that stops the vector. */
  replace(before: Link, command: "begin" | "step", lost: number, why: EspalierError): Link | EspalierError {
    let stop = this.#doom(before, lost, why);
    while (!stop) {
      const link = this.#tryRenew();
      if (link instanceof EspalierError) return link;
      const heard = command === "step" ? this.#repeat(link) : ({} as Heard);
      if (heard.error === undefined) {
        const { memory } = link;
        for (const key of ["actions", "nextLessons", "step", "seeds"] as const)
          memory[key].set(before.memory[key]);
        for (const i of this.#doomed.keys()) memory.doomed[i] = 1;
        stop = command === "step" ? this.#settle(link) : undefined;
        if (!stop) return link;
      } else stop = heard.lost === undefined ? heard.error : this.#doom(link, heard.lost, heard.error);
      link.end();
    }
    return stop;
  }

  /** Has an environment made anew by the next request, unless that has to stop. */
  #doom({ memory }: Link, i: number, error: EspalierError): EspalierError | undefined {
    if (!this.#options.policies[i]) return error;
    if (this.#doomed.has(i) || (memory.failures[i] as number) + 1 >= mostFailures) return failsAgain(error);
    const { first } = this.#options;
    this.#doomed.set(i, takeAccount(memory, this.#shared.outputs, i, first));
    this.restarted([{ index: first + i, error }]);
    return undefined;
  }

  /** Does in a new thread what the lost one had done. */
  #repeat(link: Link): Heard {
    const log = this.log as StepLog;
    const states = log.putBack(link.buffer);
    for (const i of this.#doomed.keys()) {
      link.memory.doomed[i] = 1;
      // What it was in is of no interest any more.
      link.memory.fresh[i] = 1;
    }
    const restored = link.tryAsk("restore", "setState", states);
    return restored.error ? restored : link.tryAsk("repeat", "step", log.finished);
  }

  /** Sees that all are where they were, the doomed as well. */
  #settle(link: Link): EspalierError | undefined {
    const { first, count } = this.#options;
    const { memory } = link;
    for (let i = 0; i < count; i++) {
      if (this.#doomed.has(i) || sameAccount(memory, this.#shared.outputs, i, first)) continue;
      const stop = this.#doom(link, i, invalidEnvironment(link.place(i, "step"), differs));
      if (stop) return stop;
      memory.doomed[i] = 1;
    }
    for (const [i, account] of this.#doomed) putAccount(memory, i, account);
    return undefined;
  }
}
