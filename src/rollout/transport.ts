/**
 * The in-process transport, and the two parts that every transport has on its trainer's side:
 *
 *     publish ──▶ Newest ──────────────▶ receive     the newest value counts: one that nobody received is replaced
 *     take ◀───── RolloutQueue ◀──────── send        first in, first out; a full queue makes senders wait
 *
 * Worker processes (processes.ts) put pipes and shared files between these and their links.
 */
import { EspalierError, nextTurn, type Options, onAbort, option, resolveOptions } from "../core/index.ts";
import type { Rollout, ShapedArray, Transport, TransportStats, Weights, WorkerLink } from "./rollout.ts";

interface Waiting {
  readonly signal?: AbortSignal | undefined;
}

export const capacityOption = option.integer({
  min: 1,
  default: 8,
  doc: "Rollouts that wait for the trainer; a worker that sends one more waits itself.",
});

const optionTable = { capacity: capacityOption };

/** A transport whose workers run in the trainer's own process: {@link inProcessTransport}. */
export interface InProcessTransport extends Transport {
  /** The end of a worker. One name has one open link at a time. */
  worker(name: string): WorkerLink;
}

/**
 * Connects a trainer with workers in the same process. Arrays are passed on as they are, without a copy: nobody may
 * change weights that were published, or a rollout that was sent.
 *
 * @example
 * ```ts
 * const transport = inProcessTransport({ capacity: 4 });
 * const worker = new RolloutWorker({ generator, link: transport.worker("worker-0") });
 * const running = worker.run();
 * await transport.publish({ id: 0, arrays });
 * const rollout = await transport.take();
 * await transport.close(); // ends the worker too
 * await running;
 * ```
 */
export function inProcessTransport(options: Options<typeof optionTable> = {}): InProcessTransport {
  const { capacity } = resolveOptions("inProcessTransport", options, optionTable);
  const newest = new Newest<Weights>();
  const queue = new RolloutQueue(capacity);
  const names = new Set<string>();
  /** Every worker has ended; one that comes may send again. */
  let ended = false;

  /** Not at once: a program that closes the transport when its worker has ended comes first. */
  const refuseTakers = (): void => {
    if (ended) nextTurn(() => ended && queue.refuseTakers(workersEnded()));
  };

  function worker(name: string): WorkerLink {
    if (names.has(name))
      throw new EspalierError("WORKER_NAME_TAKEN", `this transport has a worker "${name}" already`, {
        fix: "give every worker a name of its own: ids of rollouts begin with it",
      });
    names.add(name);
    ended = false;
    const calls = new LinkCalls();
    let received = 0;
    return {
      receive: ({ wait = false, signal } = {}) =>
        calls.during(signal, async (signal) => {
          const found = await newest.after(received, { wait, signal });
          if (found) received = found.version;
          return found?.value;
        }),
      send: (rollout, { signal } = {}) => calls.during(signal, (signal) => queue.put(rollout, { signal })),
      close: async () => {
        ended ||= names.delete(name) && names.size === 0;
        calls.close();
        refuseTakers();
      },
    };
  }

  return {
    worker,
    publish: async (weights) => {
      checkWeights(weights);
      queue.checkOpen();
      newest.set(weights);
    },
    take: async (waiting) => {
      const rollout = queue.take(waiting);
      refuseTakers();
      return rollout;
    },
    get stats() {
      return { ...queue.counts, workers: names.size, replaced: 0 };
    },
    close: async () => {
      names.clear(); // Links that are closed later are not of the last worker.
      newest.close();
      queue.close();
    },
  };
}

/** The calls of a link that are under way: closing it ends them as their own signals would. */
export class LinkCalls {
  readonly #running = new Set<AbortController>();
  #closed = false;

  /** Calls `work` with a signal that is aborted with the one given, and when this is closed. */
  async during<T>(given: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    if (this.#closed) controller.abort(transportClosed());
    const release = onAbort(given, (reason) => controller.abort(reason));
    this.#running.add(controller);
    try {
      return await work(controller.signal);
    } finally {
      this.#running.delete(controller);
      release();
    }
  }

  close(): void {
    this.#closed = true;
    for (const controller of this.#running) controller.abort(transportClosed());
  }
}

export const transportClosed = (): EspalierError =>
  new EspalierError("TRANSPORT_CLOSED", "the trainer's end of the transport is closed", {
    fix: "end the worker; rollouts that were acknowledged are with the trainer",
  });

export const workersEnded = (): EspalierError =>
  new EspalierError("WORKERS_ENDED", "all workers have ended by themselves, and no rollouts come any more", {
    fix: "let workers run without a limit of steps, and their module call no process.exit: they end with the trainer; one that failed says why: await its run()",
  });

/** Refuses weights without an id, and arrays that are not as long as their shape says. */
export function checkWeights(weights: Weights): void {
  const { id, arrays } = (weights ?? {}) as Partial<Weights>;
  const refuse = (what: string): EspalierError =>
    new EspalierError("WEIGHTS_INVALID", `weights cannot be published: ${what}`, {
      fix: "give { id: updates of the trainer, arrays: { name: { data, shape } } }",
    });
  if (!Number.isSafeInteger(id) || Number(id) < 0)
    throw refuse(`their id is ${String(id)}, not a whole number from 0 on`);
  if (!arrays) throw refuse("there are no arrays");
  for (const [name, array] of Object.entries(arrays)) {
    const { data, shape } = (array ?? {}) as Partial<ShapedArray>;
    const size = shape?.reduce((product, n) => product * n, 1);
    if (!ArrayBuffer.isView(data) || data.length !== size)
      throw refuse(`"${name}" has ${data?.length} numbers, and its shape [${shape}] takes ${size}`);
  }
}

/** A value of which only the newest counts. Each one that is set has a version, whatever it holds itself. */
export class Newest<T> {
  #current: { readonly version: number; readonly value: T } | undefined;
  #closed = false;
  readonly #readers = new Line<undefined, void>();

  get current(): T | undefined {
    return this.#current?.value;
  }

  set(value: T): void {
    this.#current = { version: (this.#current?.version ?? 0) + 1, value };
    for (const reader of this.#readers.all()) reader.settle();
  }

  /**
   * The newest value where its version is not `seen`, else undefined at once. With `wait` it resolves when there is
   * one, or with undefined when the signal is aborted or this is closed.
   */
  async after(
    seen: number,
    { wait, signal }: Waiting & { readonly wait: boolean },
  ): Promise<{ readonly version: number; readonly value: T } | undefined> {
    while (!this.#closed && !signal?.aborted) {
      if (this.#current && this.#current.version !== seen) return this.#current;
      if (!wait) return undefined;
      await this.#readers.wait(undefined, signal, (reader) => reader.settle());
    }
    return undefined;
  }

  close(): void {
    this.#closed = true;
    for (const reader of this.#readers.all()) reader.settle();
  }
}

/** The trainer's queue: bounded, in order of arrival, and each rollout once. A rollout in it is acknowledged. */
export class RolloutQueue {
  readonly #capacity: number;
  readonly #remembered: number;
  readonly #rollouts: Rollout[] = [];
  readonly #takers = new Line<undefined, Rollout | undefined>();
  readonly #senders = new Line<Rollout, void>();
  readonly #ids = new Set<string>();
  #state: "open" | "closed" | EspalierError = "open";
  readonly #counts = { accepted: 0, taken: 0, duplicates: 0 };

  /**
   * `remembered` ids are kept, so that a rollout that comes again is known. A worker repeats what it sent last: the
   * default is far more than all workers together send in between.
   */
  constructor(capacity: number, remembered = 100_000) {
    this.#capacity = capacity;
    this.#remembered = remembered;
  }

  get counts(): Omit<TransportStats, "workers" | "replaced"> {
    return { ...this.#counts, queued: this.#rollouts.length };
  }

  /** True for a rollout that is or was in the queue. */
  knows(id: string): boolean {
    return this.#ids.has(id);
  }

  checkOpen(): void {
    if (this.#state === "closed") throw transportClosed();
    if (this.#state !== "open") throw this.#state;
  }

  /**
   * Resolves when the rollout is in the queue, or was before. Rejects when this is closed, and with the signal's
   * reason when it is aborted; then it is not in the queue.
   */
  async put(rollout: Rollout, { signal }: Waiting = {}): Promise<void> {
    this.checkOpen();
    signal?.throwIfAborted();
    if (this.#ids.has(rollout.id) || this.#rollouts.length < this.#capacity) this.#accept(rollout);
    else await this.#senders.wait(rollout, signal, (place) => place.reject(signal?.reason));
  }

  #accept(rollout: Rollout): void {
    if (this.#ids.has(rollout.id)) {
      this.#counts.duplicates++;
      return;
    }
    this.#ids.add(rollout.id);
    if (this.#ids.size > this.#remembered) {
      const [oldest = ""] = this.#ids;
      this.#ids.delete(oldest);
    }
    this.#counts.accepted++;
    const [taker] = this.#takers.all();
    if (!taker) this.#rollouts.push(rollout);
    else {
      this.#counts.taken++;
      taker.settle(rollout);
    }
  }

  /** The next rollout. Undefined when the signal is aborted or this is closed; rejects after a failure. */
  async take({ signal }: Waiting = {}): Promise<Rollout | undefined> {
    if (this.#state === "closed" || signal?.aborted) return undefined;
    const rollout = this.#rollouts.shift();
    if (!rollout) {
      this.checkOpen();
      return this.#takers.wait(undefined, signal, (place) => place.settle(undefined));
    }
    this.#counts.taken++;
    // In the same turn, so that nobody who comes later passes those who wait.
    while (this.#rollouts.length < this.#capacity) {
      const [sender] = this.#senders.all();
      if (!sender) break;
      this.#accept(sender.given);
      sender.settle();
    }
    return rollout;
  }

  close(): void {
    this.#state = "closed";
    for (const taker of this.#takers.all()) taker.settle(undefined);
    for (const sender of this.#senders.all()) sender.reject(transportClosed());
  }

  /** Rejects those who wait for a rollout, who wait where there is none. */
  refuseTakers(error: EspalierError): void {
    for (const taker of this.#takers.all()) taker.reject(error);
  }

  /** No rollouts come any more, for this reason. Those that are here can be taken; then the trainer gets the error. */
  fail(error: EspalierError): void {
    if (this.#state !== "open") return;
    this.#state = error;
    for (const one of [...this.#takers.all(), ...this.#senders.all()]) one.reject(error);
  }
}

interface Place<G, T> {
  readonly given: G;
  settle(value: T): void;
  reject(why: unknown): void;
}

/** Those who wait, in order of arrival. One who is settled, or whose signal is aborted, leaves. */
class Line<G, T> {
  readonly #places = new Set<Place<G, T>>();

  /** Waits to be settled. `aborted` settles it when the signal is. */
  wait(given: G, signal: AbortSignal | undefined, aborted: (place: Place<G, T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const leaving =
        <V>(then: (value: V) => void) =>
        (value: V): void => {
          this.#places.delete(place);
          release();
          then(value);
        };
      const place: Place<G, T> = { given, settle: leaving(resolve), reject: leaving(reject) };
      this.#places.add(place);
      const release = onAbort(signal, () => aborted(place));
    });
  }

  all(): readonly Place<G, T>[] {
    return [...this.#places];
  }
}
