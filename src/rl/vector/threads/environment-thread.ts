import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import {
  type Answer,
  CALLS,
  COMMAND,
  CURRENT,
  commands,
  DONE,
  REQUEST,
  STATUS,
  statuses,
  type ThreadData,
  WORDS,
} from "./protocol.ts";
import { startWorker } from "./start-worker.ts";

/** How often a finished request is looked for before the thread that waits goes to sleep. */
const looks = 200;

const none: readonly Answer[] = Object.freeze([]);

/** A thread with environments, led without turning the event loop. */
export class EnvironmentThread {
  readonly #control = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
  readonly #port: MessagePort;
  readonly #worker: Worker;
  #request = 1;

  /** Its first request, which is under way now, is to make the environments. */
  constructor(data: Omit<ThreadData, "control" | "port">) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    Atomics.store(this.#control, REQUEST, this.#request);
    this.#worker = startWorker({ ...data, control: this.#control, port: port2 });
  }

  /** Which of its environments was called last. */
  get current(): number {
    return Atomics.load(this.#control, CURRENT);
  }

  /** Asks for something. Nothing else may be under way. */
  send(command: keyof typeof commands, message?: unknown): void {
    if (message !== undefined) this.#port.postMessage(message);
    this.#request = (this.#request + 1) | 0;
    Atomics.store(this.#control, COMMAND, commands[command]);
    Atomics.store(this.#control, REQUEST, this.#request);
    Atomics.notify(this.#control, REQUEST);
  }

  /**
   * Waits until what was asked is done. It hangs when no environment is called for `timeout` ms, which is noticed
   * after twice that time at the latest.
   */
  wait(timeout: number): "done" | "hangs" | "gone" {
    const control = this.#control;
    for (let k = 0; k < looks; k++) if (Atomics.load(control, DONE) === this.#request) break;
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

  /** What it has sent, in order. */
  answers(): readonly Answer[] {
    if (Atomics.load(this.#control, STATUS) === statuses.quiet) return none;
    const answers: Answer[] = [];
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return answers;
      answers.push(received.message as Answer);
    }
  }

  /** Ends it, whatever it does. */
  end(): void {
    this.#port.close();
    void this.#worker.terminate();
  }
}
