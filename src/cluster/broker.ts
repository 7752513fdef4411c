/**
 * The server between the machines of a run, as the cluster uses it. nats.ts fulfils this by NATS JetStream; the
 * simulation (simulation.test-support.ts) by one in memory with virtual time, in which messages are delayed, doubled,
 * reordered and lost.
 *
 *     queue     messages that wait until one consumer acknowledges them: rollouts, evaluation jobs
 *     values    the newest bytes of each key: weights, leases of members, descriptions of runs
 *     announce  to everybody who listens now, kept nowhere
 */

/** A connection to the server. It reconnects by itself; what it was asked for meanwhile waits or rejects, as said there. */
export interface Broker {
  /** For people; without credentials. */
  readonly address: string;
  /** Bytes that a message may have. */
  readonly maxPayload: number;
  /** Time in this room: the simulation's is virtual. */
  readonly timers: Timers;
  /** Opens a queue. Makes it where there is none; one that is there keeps its options but for a `capacity` that is given. */
  queue(name: string, options: QueueOptions): Promise<MessageQueue>;
  /** Opens values. Makes them where there are none. */
  values(name: string, options?: ValuesOptions): Promise<BrokerValues>;
  /** Sends bytes to those who listen now. They may be lost. */
  announce(subject: string, bytes: Uint8Array): void;
  /** Hears announcements of a subject until the function that it returns is called. */
  listen(subject: string, heard: (bytes: Uint8Array) => void): () => void;
  /** Removes queues and values whose names begin with this. */
  remove(prefix: string): Promise<void>;
  close(): Promise<void>;
}

/** Time: milliseconds, and calls after some. */
export interface Timers {
  now(): number;
  /** Calls `run` after so many milliseconds, unless the function that it returns is called before. */
  after(milliseconds: number, run: () => void): () => void;
}

/** The machine's time. A timer of it does not keep the process alive. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    (timer as { unref?(): void }).unref?.();
    return () => clearTimeout(timer);
  },
};

/** Resolves after some milliseconds, or when the signal is aborted. */
export function pause(timers: Timers, milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = timers.after(milliseconds, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

export interface QueueOptions {
  /** Messages that may wait. One more is refused: "full". Default: that of the queue, or any number. */
  readonly capacity?: number;
  /** Milliseconds without an acknowledgement or extension after which a message is delivered again. */
  readonly acknowledgeWithin: number;
}

/** Messages in their order, each of which waits until it is acknowledged. */
export interface MessageQueue {
  /**
   * Resolves when the server has stored the message ("stored"), knows its id already ("known"), or has no room ("full").
   * Rejects where it does not answer in time or cannot store it: then it may be stored or not, and can be put again
   * under the same id. The server remembers ids for some minutes: who takes messages has to know them by itself.
   */
  put(id: string, bytes: Uint8Array): Promise<"stored" | "known" | "full">;
  /**
   * Delivers messages to `take`, at most `ahead` of them unacknowledged by all consumers together. A message may come
   * more than once. Consumers of one queue share its messages; with `alone` there is one consumer, and those before it,
   * who are dead, hold nothing back. `each` of them are sent to this consumer at once. Default: `ahead`. Resolves to a
   * function that ends it.
   */
  consume(
    take: (delivery: Delivery) => void,
    options: { readonly ahead: number; readonly each?: number; readonly alone?: boolean },
  ): Promise<() => Promise<void>>;
  /** Messages that wait, those which are delivered and not acknowledged included. */
  length(): Promise<number>;
}

/** A message that was delivered. */
export interface Delivery {
  readonly id: string;
  readonly bytes: Uint8Array;
  /** Removes it from the queue. May be lost: then the message comes again. */
  acknowledge(): void;
  /** Says that it is worked on: the time to acknowledge it begins again. */
  extend(): void;
  /** Gives it back: it is delivered again, to any consumer. */
  release(): void;
}

export interface ValuesOptions {
  /** Seconds after which a value that was not put again is gone, by the server's time. Default: it stays. */
  readonly seconds?: number;
}

export interface StoredValue {
  readonly bytes: Uint8Array;
  /** Grows with each change of any key. */
  readonly revision: number;
}

/** The newest bytes of each key. Keys are letters, digits, `-`, `_` and dots. */
export interface BrokerValues {
  /**
   * Resolves to the value's revision when it is stored. With `revision`, only where that is still the one before (0:
   * there is no value); else undefined. Rejects where the server does not answer in time or cannot store it.
   */
  put(key: string, bytes: Uint8Array, options?: { readonly revision?: number }): Promise<number | undefined>;
  get(key: string): Promise<StoredValue | undefined>;
  keys(): Promise<readonly string[]>;
  delete(key: string): Promise<void>;
  /** Calls `changed` with each put from now on, in order; some may be lost. Returns a function that ends it. */
  watch(changed: (key: string, bytes: Uint8Array) => void): () => void;
}
