import type { Worker } from "node:worker_threads";
import { cut, node, printable } from "../../core/index.ts";
import { startThread } from "../run/threads.ts";
import { type Compilation, SHOWN, TURN } from "./compile-thread.ts";

/** Milliseconds that the end of a compilation waits for its line to be erased, where a terminal takes nothing. */
const longestWait = 200;
/** Columns of a line that its name leaves free: "compiling , 12345 s" and the last one. */
const besideName = 20;

/**
 * Says on a terminal what is being compiled and for how long: "compiling the training program, 12 s", from the first
 * second on, erased when it is done. A compilation blocks this thread, so another one writes, which is started with the
 * first compilation and sleeps between them. Nothing is started where standard error is no terminal, where
 * `ESPALIER_PROGRESS` is 0, or in a thread.
 */
class CompileStatus {
  /** Milliseconds from one count to the next. Tests make it shorter. */
  interval = 1000;
  readonly #control = new Int32Array(new SharedArrayBuffer(8));
  #worker: Worker | undefined;
  #failed = false;

  /** Calls `compile`, and gives what it gives. */
  during<T>(name: string, compile: () => T): T {
    const worker = this.#wanted() ? this.#start() : undefined;
    if (worker === undefined) return compile();
    const width = (process.stderr.columns || 80) - besideName;
    const compilation: Compilation = {
      name: cut(printable(name), width, "..."),
      since: performance.timeOrigin + performance.now(),
      interval: this.interval,
    };
    worker.postMessage(compilation);
    this.#nextTurn();
    try {
      return compile();
    } finally {
      this.#nextTurn();
      // What is written from here on must find the line erased.
      Atomics.wait(this.#control, SHOWN, 1, longestWait);
    }
  }

  /** True while a line is on the terminal. */
  get shown(): boolean {
    return Atomics.load(this.#control, SHOWN) === 1;
  }

  #wanted(): boolean {
    const { ESPALIER_PROGRESS, TERM } = process.env;
    return (
      node.workerThreads.isMainThread &&
      process.stderr.isTTY === true &&
      ESPALIER_PROGRESS !== "0" &&
      TERM !== "dumb"
    );
  }

  /** The thread, or undefined where it cannot run, as in a bundle without its file: then nothing is said. */
  #start(): Worker | undefined {
    if (this.#worker || this.#failed) return this.#worker;
    const fail = (): void => {
      this.#worker = undefined;
      this.#failed = true;
    };
    try {
      this.#worker = startThread("engine/xla/compile-thread", {
        name: "espalier-compile-status",
        data: this.#control,
      });
      this.#worker.on("error", fail);
    } catch {
      fail();
    }
    return this.#worker;
  }

  #nextTurn(): void {
    Atomics.add(this.#control, TURN, 1);
    Atomics.notify(this.#control, TURN);
  }
}

let status: CompileStatus | undefined;

/** The status of this process: made when it is first asked for. */
export function compileStatus(): CompileStatus {
  status ??= new CompileStatus();
  return status;
}
