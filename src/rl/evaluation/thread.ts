import { Worker } from "node:worker_threads";
import { EspalierError } from "../../core/index.ts";
import { tsxFor } from "../../engine/index.ts";
import { threadModule } from "./own-files.ts";
import { errorOf, type ThreadAnswer, type ThreadRequest } from "./thread-messages.ts";

/** What a thread gave: scores, and what it recorded. */
export type ThreadResult = Required<Pick<ThreadAnswer, "results" | "recorded">>;

/** A thread that evaluates, one job at a time. Started with the first; it never keeps the process alive by itself. */
export class EvaluationThread {
  #worker: Worker | undefined;
  #jobs = 0;

  /** Rejects with the signal's reason where that says so: the thread is then ended. */
  async evaluate(request: Omit<ThreadRequest, "id">, signal: AbortSignal): Promise<ThreadResult> {
    signal.throwIfAborted();
    this.#worker ??= start(modulesOf(request));
    const worker = this.#worker;
    const id = this.#jobs++;
    const stop = (): void => void this.close();
    signal.addEventListener("abort", stop, { once: true });
    // Only while it is waited for must the process go on for its sake.
    worker.ref();
    try {
      return await new Promise<ThreadResult>((resolve, reject) => {
        const end = (how: string, cause?: unknown): void => {
          this.#worker = undefined;
          const reason: unknown = signal.reason;
          reject(signal.aborted ? reason : ended(how, cause));
        };
        worker.once("error", (error) => end((error as Error).message, error));
        worker.once("exit", (code) => end(`exit code ${code}`));
        worker.on("message", (answer: ThreadAnswer) => {
          if (answer.id !== id) return;
          const { results, recorded = [], failure } = answer;
          if (results) resolve({ results, recorded });
          else reject(errorOf(failure ?? { code: undefined, fix: undefined, text: "no answer" }));
        });
        worker.postMessage({ ...request, id });
      });
    } finally {
      signal.removeEventListener("abort", stop);
      for (const event of ["error", "exit", "message"]) worker.removeAllListeners(event);
      // Whatever it may still have to say is of no interest any more, and must not be an uncaught error.
      worker.on("error", () => undefined);
      worker.unref();
    }
  }

  /** Ends it; the next job starts another. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

/** Files of the user's that it has to import. */
function modulesOf({ policy, suites }: Omit<ThreadRequest, "id">): readonly string[] {
  const sources = Object.values(suites).map(({ environment }) => environment);
  const own = sources.flatMap((source) => (typeof source === "object" ? [source.module] : []));
  return policy.module ? [policy.module.url, ...own] : own;
}

/**
 * What a thread runs first. It is text, so that no file of its own has to be found from source and from the built
 * package; what it imports is found when it starts.
 */
const source = `"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const { tsx, main } = workerData;
(async () => {
  if (tsx) (await import(new URL("./esm/api/index.mjs", tsx))).register();
  (await import(main)).serveEvaluations(parentPort);
})().catch((error) => setImmediate(() => { throw error; }));`;

function start(modules: readonly string[]): Worker {
  const main = threadModule();
  const workerData = { main, tsx: tsxFor([main, ...modules]) };
  const worker = new Worker(source, { eval: true, execArgv: [], name: "espalier-evaluation", workerData });
  worker.unref();
  return worker;
}

const ended = (how: string, cause: unknown): EspalierError =>
  new EspalierError("EVALUATION_THREAD", `the thread that evaluates has ended: ${how}`, {
    fix: 'look at the environment and the policy, or evaluate inline: mode: "inline"',
    cause,
  });
