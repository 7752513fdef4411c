import { EspalierError, ThreadCalls, type ThreadEnd } from "../../core/index.ts";
import { startThread } from "../../engine/index.ts";
import type { Dataset, Recipe } from "../dataset.ts";
import type { Example } from "../example.ts";
import type { BatchRequest, Made } from "./batches.ts";
import { closing, type LoaderThreadData, type LoaderThreadRequest } from "./thread-main.ts";

// Batches on worker threads. Each thread makes the dataset again from its recipe and gets every n-th request; answers
// are promises, which the loader awaits in the order of its requests:
//
//   loader                    workers                              thread i (thread-main.ts)
//   request(b), request(b+1)  request b goes to thread b mod n --> BatchMaker.make(request)
//   await answer b        <-- its promise settles             <--  { id, made }, its memory moved; or { id, error }
//
// With `reuse` the memory of a batch that was taken goes to a thread with a later request. New memory for each costs
// the system's work on its pages, and the garbage collector looks through all of a program whenever it sums up.

export class LoaderWorkers {
  readonly #threads: readonly LoaderThread[];

  constructor(data: Dataset<Example>, count: number, skip: boolean) {
    const { recipe } = data;
    if (!recipe)
      throw new EspalierError(
        "DATA_NO_RECIPE",
        `${data.name}: worker threads cannot make this data, because it holds functions of the program`,
        {
          fix: "make it in a module of its own, fromModule(new URL(./data.ts, import.meta.url)), or leave workers out",
        },
      );
    this.#threads = Array.from(
      { length: count },
      (_, i) => new LoaderThread(`worker ${i} of ${count} of ${data.name}`, { recipe, skip }),
    );
  }

  /** The thread whose turn it is. */
  at(turn: number): LoaderThread {
    return this.#threads[turn % this.#threads.length] as LoaderThread;
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

/** Keeps the process alive only while a batch is waited for: a loader that nobody closes does not. */
class LoaderThread {
  readonly name: string;
  readonly #calls: ThreadCalls<LoaderThreadRequest, Made>;
  readonly #exit: Promise<unknown>;
  #closing = false;

  constructor(name: string, data: LoaderThreadData) {
    this.name = name;
    const worker = startThread("data/loading/thread-main", {
      name: "espalier-loader",
      data,
      imports: modulesOf(data.recipe),
    });
    this.#calls = new ThreadCalls(worker, (end) => this.#failure(end));
    this.#exit = new Promise((resolve) => worker.on("exit", resolve));
  }

  /** Has a batch made. The memory of `used` ones is moved to the thread. */
  make(batch: BatchRequest, used: readonly ArrayBuffer[]): Promise<Made> {
    return this.#calls.make({ batch, used }, used);
  }

  /** Asks the thread to end after what it does: a native decoder that is stopped within an image ends the process. */
  async close(): Promise<void> {
    this.#closing = true;
    const { worker } = this.#calls;
    worker.postMessage(closing);
    const hanging = setTimeout(() => worker.terminate(), hangs);
    await this.#exit;
    clearTimeout(hanging);
  }

  #failure(end: ThreadEnd): EspalierError {
    const what = "cause" in end ? `failed: ${end.cause.message}` : `has ended with code ${end.code}`;
    return new EspalierError("DATA_WORKER_ENDED", `${this.name} ${what}`, {
      fix: this.#closing
        ? "do not use the loader while it is being closed"
        : "do not end the process in the data's own program, and look at its use of memory",
      ...("cause" in end && end),
    });
  }
}

/** Milliseconds until a thread or a source that does not end by itself is left or stopped. */
export const hangs = 5000;

/** The modules that a recipe names, which threads import. */
function modulesOf(recipe: Recipe): readonly string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    const { kind, args } = value as Partial<Recipe>;
    if (kind === "fromModule" && typeof args?.[0] === "string") found.push(args[0]);
    for (const part of Object.values(value)) look(part);
  };
  look(recipe);
  return found;
}
