import { receiveError, type SentError, sendError } from "./error.ts";
import { node } from "./node.ts";

// Calls to a worker thread, any number under way at once. A call and its answer have the same number:
//
//   main thread                                                  thread
//   calls = new ThreadCalls(worker)                              answerCalls(work)
//   await calls.make(request)   { id, request }             -->  await work(request)
//                               { id, answer | error }      <--

type Worker = InstanceType<typeof node.workerThreads.Worker>;
type Transferables = Parameters<Worker["postMessage"]>[1];

interface Call<R> {
  readonly id: number;
  readonly request: R;
}
type Answer<A> = { readonly id: number } & ({ readonly answer: A } | { readonly error: SentError });

/** How a thread has ended. */
export type ThreadEnd = { readonly cause: Error } | { readonly code: number };

const plainError = (end: ThreadEnd): Error =>
  "cause" in end ? end.cause : new Error(`its thread has ended with code ${end.code}`);

/**
 * Calls to a thread whose work is {@link answerCalls}. It keeps the process alive only while one is under way. When the
 * thread has ended, those under way and all later ones reject with what `errorOf` makes of its end.
 */
export class ThreadCalls<R, A> {
  readonly worker: Worker;
  readonly #waiting = new Map<number, { resolve(answer: unknown): void; reject(why: unknown): void }>();
  readonly #errorOf: (end: ThreadEnd) => Error;
  #made = 0;
  #failure: Error | undefined;

  constructor(worker: Worker, errorOf: (end: ThreadEnd) => Error = plainError) {
    this.worker = worker;
    this.#errorOf = errorOf;
    worker.on("message", (message: Answer<A>) => {
      const one = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (this.#waiting.size === 0) worker.unref();
      if ("error" in message) one?.reject(receiveError(message.error));
      else one?.resolve(message.answer);
    });
    worker.on("error", (cause) => this.#end({ cause: cause as Error }));
    worker.on("exit", (code) => this.#end({ code }));
    worker.unref(); // Listening for messages has made it keep the process alive.
  }

  get ended(): boolean {
    return this.#failure !== undefined;
  }

  /** Calls under way. */
  get busy(): number {
    return this.#waiting.size;
  }

  /** Makes a call. Memory that `moved` names of its request is moved and not copied. */
  make<T extends A = A>(request: R, moved?: Transferables): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#made++;
    return new Promise((resolve, reject) => {
      // First: it throws for a request that cannot be sent, which nothing answers.
      this.worker.postMessage({ id, request } satisfies Call<R>, moved);
      this.#waiting.set(id, { resolve, reject });
      this.worker.ref();
    });
  }

  /** Ends the thread in whatever it does. Resolves when it is gone. */
  async terminate(): Promise<void> {
    this.#end({ code: 1 });
    await this.worker.terminate();
  }

  #end(end: ThreadEnd): void {
    this.#failure ??= this.#errorOf(end);
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

/** The work of a thread: answers calls, as they are done. Memory that `moved` names of an answer is moved and not copied. */
export function answerCalls<R, A>(
  work: (request: R) => A | Promise<A>,
  moved: (answer: A) => Transferables = () => [],
): void {
  const port = node.workerThreads.parentPort;
  port?.on("message", async ({ id, request }: Call<R>) => {
    if (id === undefined) return; // Another message to the thread.
    const send = (message: Answer<A>, list?: Transferables): void => port.postMessage(message, list);
    try {
      const answer = await work(request);
      send({ id, answer }, moved(answer));
    } catch (error) {
      send({ id, error: sendError(error) });
    }
  });
}
