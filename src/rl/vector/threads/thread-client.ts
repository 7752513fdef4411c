import type { MessagePort, Worker } from "node:worker_threads";
import { EspalierError, node, receiveError, type SentError } from "../../../core/index.ts";
import { startThread } from "../../../engine/index.ts";
import { endedEnvironment, hangingEnvironment, type Place } from "../failure.ts";
import type { Description } from "../make-environments.ts";
import { type Memory, memoryBytes, sharedMemory, sizesOf } from "../memory.ts";
import type { RowEvents } from "../rows.ts";
import {
  CALLS,
  type Command,
  type Commands,
  CURRENT,
  DONE,
  IS_STEP,
  REQUEST,
  STATUS,
  statuses,
  type ThreadData,
  type ThreadMessage,
  type ThreadRequest,
  WORDS,
} from "./protocol.ts";

export interface ThreadOptions extends Pick<ThreadData, "source" | "first" | "count" | "policies"> {
  /** In milliseconds. */
  readonly timeout: number;
}

/** The outcome of a request. */
export interface Reply extends Pick<ThreadMessage, "states" | "made"> {
  readonly error?: EspalierError;
  /** The environment, counted from this thread's first, in which the thread was lost. */
  readonly lostIn?: number;
  readonly events?: RowEvents;
}

export const quiet: Reply = Object.freeze({});

/** Loading sources may take long on a busy machine, during which no environment is called. */
const startLimit = 120_000;

/** How often a finished request is looked for before the waiting thread goes to sleep. */
const spins = 200;

/** A thread with environments and the memory shared with it. It is led without turning the event loop. */
export class ThreadClient {
  readonly #options: ThreadOptions;
  readonly #control = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
  readonly #port: MessagePort;
  readonly #worker: Worker;
  #request = 1;
  #names: readonly string[] = [];
  #buffer = new SharedArrayBuffer(0);
  #memory: Memory | undefined;
  /** Why the thread has ended. */
  #ended: EspalierError | undefined;

  /** Starts the thread, which makes its environments. It finds out if they have masks, where it is not known. */
  constructor(options: ThreadOptions, masked?: boolean) {
    this.#options = options;
    const { source, first, count, policies } = options;
    const { port1, port2 } = new node.workerThreads.MessageChannel();
    this.#port = port1;
    Atomics.store(this.#control, REQUEST, this.#request);
    port1.postMessage({ command: "start", given: undefined } satisfies ThreadRequest);
    const data: ThreadData = { source, first, count, policies, masked, control: this.#control, port: port2 };
    this.#worker = startThread("rl/vector/threads/thread-main", {
      name: "espalier-environments",
      data,
      transfer: [port2],
      imports: typeof source === "string" ? [] : [source.module],
    });
    // A thread that ends is noticed by waiting for it.
    this.#worker.on("error", () => undefined);
  }

  /** Waits until the environments are made. */
  made(): Description {
    const { error, made } = this.wait("make", Math.max(startLimit, this.#options.timeout));
    if (error || !made) {
      this.end();
      throw error ?? new EspalierError("ENVIRONMENT_FAILED", "a thread of environments has not started");
    }
    this.#names = made.names;
    return made.description;
  }

  /** Gives the thread its memory. */
  attach(description: Description): void {
    const sizes = sizesOf(description, this.#options.count);
    this.#buffer = new SharedArrayBuffer(memoryBytes(sizes));
    this.#memory = sharedMemory(sizes, this.#buffer);
    this.request("make", "attach", { buffer: this.#buffer, masked: description.masked });
  }

  /** The memory that `attach` gave it. */
  get memory(): Memory {
    return this.#memory as Memory;
  }
  get buffer(): SharedArrayBuffer {
    return this.#buffer;
  }
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends a request. No other may be under way. */
  send<C extends Command>(command: C, given?: Commands[C]): void {
    if (this.#ended) return;
    if (command !== "step") this.#port.postMessage({ command, given });
    this.#request = (this.#request + 1) | 0;
    Atomics.store(this.#control, IS_STEP, command === "step" ? 1 : 0);
    Atomics.store(this.#control, REQUEST, this.#request);
    Atomics.notify(this.#control, REQUEST);
  }

  /** Waits for the outcome of a request. A thread that hangs is ended. */
  wait(during: Place["during"], timeout = this.#options.timeout): Reply {
    if (this.#ended) return { error: this.#ended };
    const outcome = this.#outcome(timeout);
    if (outcome === "done") return this.#reply();
    const lostIn = Atomics.load(this.#control, CURRENT);
    const place = this.place(lostIn, during === "step" && this.#resets(lostIn) ? "reset" : during);
    const error = outcome === "gone" ? endedEnvironment(place) : hangingEnvironment(place, timeout);
    this.end(error);
    return { lostIn, error };
  }

  /** Sends a request and waits for it. */
  tryRequest<C extends Command>(during: Place["during"], command: C, given?: Commands[C]): Reply {
    this.send(command, given);
    return this.wait(during);
  }

  /** The same, and raises its error. */
  request<C extends Command>(during: Place["during"], command: C, given?: Commands[C]): Reply {
    const reply = this.tryRequest(during, command, given);
    if (reply.error) throw reply.error;
    return reply;
  }

  place(i: number, during: Place["during"]): Place {
    const step = this.#memory?.step[0] ?? 0;
    return { name: this.#names[i] ?? "an environment", index: this.#options.first + i, step, during };
  }

  /** Ends the thread in whatever it does. */
  end(why?: EspalierError): void {
    if (this.#ended) return;
    this.#ended = why ?? new EspalierError("ENVIRONMENT_CLOSED", "the thread of environments has been ended");
    this.#port.close();
    void this.#worker.terminate();
  }

  /** It hangs if no environment is called for `timeout` ms, which is noticed after twice that time at the latest. */
  #outcome(timeout: number): "done" | "hangs" | "gone" {
    const control = this.#control;
    for (let k = 0; k < spins; k++) if (Atomics.load(control, DONE) === this.#request) break;
    let calls = Atomics.load(control, CALLS);
    for (;;) {
      const done = Atomics.load(control, DONE);
      if (done === this.#request) break;
      if (Atomics.wait(control, DONE, done, timeout) !== "timed-out") continue;
      const now = Atomics.load(control, CALLS);
      if (now === calls && Atomics.load(control, DONE) === done) return "hangs";
      calls = now;
    }
    return Atomics.load(control, STATUS) === statuses.gone ? "gone" : "done";
  }

  /** True if environment i was to begin an episode instead of a step. */
  #resets(i: number): boolean {
    const { terminated, truncated } = this.memory;
    const row = i * (terminated.length / this.#options.count);
    return terminated[row] === 1 || truncated[row] === 1;
  }

  /** Reads the message that the thread has sent. */
  #reply(): Reply {
    if (Atomics.load(this.#control, STATUS) === statuses.quiet) return quiet;
    const { message } = node.workerThreads.receiveMessageOnPort(this.#port) as { message: ThreadMessage };
    const { failed, events, ...reply } = message;
    const restarts = events?.restarts.map(({ index, error }) => ({ index, error: environmentError(error) }));
    return {
      ...reply,
      ...(failed && { error: environmentError(failed) }),
      ...(events && { events: { ...events, restarts: restarts ?? [] } }),
    };
  }
}

function environmentError(sent: SentError): EspalierError {
  const error = receiveError(sent);
  if (error instanceof EspalierError) return error;
  return new EspalierError("ENVIRONMENT_FAILED", `a thread of environments failed: ${error.message}`, {
    cause: error,
  });
}
