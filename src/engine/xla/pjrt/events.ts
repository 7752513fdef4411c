import { node } from "../../../core/index.ts";
import type { PjrtApi } from "./api.ts";
import { Block } from "./block.ts";
import { RESULT, SUBJECT } from "./layout.ts";
import type { Handle } from "./library.ts";

/** Milliseconds between polls of events that are not urgent. */
const LOOK_AFTER = 1;
/**
 * Polls before a thread that waits is put to sleep, some 20 us: a small program is done before, and to be woken takes as
 * long as it. With one processor the program would wait for the polls.
 */
const POLLS = 60;

/** Waits for PJRT events. Every event given to it is freed by it. */
export class Events {
  readonly #api: PjrtApi;
  readonly #block = Block.struct();
  readonly #polls = node.os.availableParallelism() > 1 ? POLLS : 0;
  /** Waits that are looked at by a timer, the oldest first. */
  readonly #patient: { readonly event: Handle; readonly resolve: () => void }[] = [];

  constructor(api: PjrtApi) {
    this.#api = api;
  }

  /** Frees an event without waiting for it. */
  drop(event: Handle): void {
    const { eventDestroy } = this.#api.functions;
    this.#block.setPointer(SUBJECT, event);
    this.#api.check(eventDestroy(this.#block.address), "XLA_RUNTIME");
  }

  /** True if the event has occurred, without waiting. Does not free it. */
  isReady(event: Handle): boolean {
    this.#block.setPointer(SUBJECT, event);
    this.#block.setInt32(RESULT, 0);
    this.#api.call("eventIsReady", this.#block);
    return (this.#block.int32(RESULT) & 0xff) !== 0;
  }

  /** Blocks until the event has come; throws the failure it carries. */
  wait(event: Handle): void {
    for (let i = 0; i < this.#polls && !this.isReady(event); i++);
    this.#block.setPointer(SUBJECT, event);
    this.#finish(event, this.#api.functions.eventAwait(this.#block.address));
  }

  /** As {@link wait}, but leaves the event loop free: a worker thread blocks instead, unless it has come already. */
  async waitAsync(event: Handle): Promise<void> {
    if (this.isReady(event)) return this.wait(event);
    // Its own block: others come and go while this one waits.
    const block = Block.struct();
    block.setPointer(SUBJECT, event);
    const error = await new Promise<Handle>((resolve, reject) => {
      this.#api.functions.eventAwait.async(block.address, (failure, result) =>
        failure ? reject(failure) : resolve(block && result),
      );
    });
    this.#finish(event, error);
  }

  /**
   * As {@link waitAsync}, for many waits at a time that are in no hurry: looks again from time to time, and leaves the
   * worker threads to others.
   */
  async waitPatiently(event: Handle): Promise<void> {
    if (!this.isReady(event))
      await new Promise<void>((resolve) => {
        this.#patient.push({ event, resolve });
        if (this.#patient.length === 1) setTimeout(() => this.#look(), LOOK_AFTER);
      });
    this.wait(event);
  }

  /** Events come about in the order in which they were asked for: one that has not come hides no others for long. */
  #look(): void {
    const waiting = this.#patient.findIndex(({ event }) => !this.isReady(event));
    for (const { resolve } of this.#patient.splice(0, waiting < 0 ? this.#patient.length : waiting))
      resolve();
    if (this.#patient.length > 0) setTimeout(() => this.#look(), LOOK_AFTER);
  }

  #finish(event: Handle, error: Handle): void {
    this.drop(event);
    this.#api.check(error, "XLA_RUNTIME");
  }
}

const open = new Set<() => void>();

function closeAll(): void {
  for (const close of [...open]) {
    try {
      close();
    } catch {
      // The process is ending; nothing can be reported any more.
    }
  }
}

/**
 * Runs `close` when the process ends, unless the returned function is called first.
 *
 * A plugin whose threads still compute when the process ends crashes in its exit handlers; closing the client
 * waits for them. The listener exists only while a client is open.
 */
export function closeAtExit(close: () => void): () => void {
  if (open.size === 0) process.on("exit", closeAll);
  open.add(close);
  return () => {
    open.delete(close);
    if (open.size === 0) process.off("exit", closeAll);
  };
}
