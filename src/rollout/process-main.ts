/**
 * A worker process, from its first message to its end. processes.ts starts it and has the other side of the messages.
 *
 *     runWorkerProcess
 *       "start"            imports the module, makes the worker with a link, and runs it
 *       "weights"          the link's receive reads them from shared memory
 *       "accepted"         the link's send resolves
 *       the channel ends   the trainer has closed or died: the link is closed, the worker is interrupted, it exits;
 *                          where it does not yield, trainer-watch.ts ends it
 *       SIGTERM            the worker is interrupted, and replaced by the trainer if that goes on
 */
import { EspalierError, node } from "../core/index.ts";
import { startThread } from "../engine/index.ts";
import type { ToTrainer, ToWorker } from "./processes.ts";
import type { WorkerLink } from "./rollout.ts";
import { readSharedWeights, removeWeightsOf, type SharedWeights } from "./shared-weights.ts";
import type { TrainerWatchData } from "./trainer-watch.ts";
import { LinkCalls, Newest } from "./transport.ts";
import type { RolloutWorker } from "./worker.ts";

/** Milliseconds for a worker to end in, once its trainer is gone or it was told to. Then it is ended. */
export const patience = 10_000;

/** The work of a worker process of the process `trainer`. The process ends with it. */
export async function runWorkerProcess(trainer: number): Promise<void> {
  // However early the trainer died, and wherever that was heard of: this process is another one's child by then.
  process.on("exit", () => process.ppid !== trainer && removeWeightsOf(trainer));
  const watched: TrainerWatchData = { trainer, patience };
  startThread("rollout/trainer-watch", { name: "espalier-trainer-watch", data: watched });
  const interrupted = new AbortController();
  const link = processLink();
  const end = (why: string, exitCode: number): void => {
    if (!interrupted.signal.aborted) setTimeout(() => process.exit(), patience).unref();
    process.exitCode = exitCode;
    interrupted.abort(new Error(why));
  };
  // 0 says that there was nothing more to do; with others a process is replaced while the trainer is there.
  process.on("SIGTERM", () => end("SIGTERM", 143));
  // A terminal sends it to trainer and workers alike: the trainer decides what becomes of them.
  process.on("SIGINT", () => undefined);
  process.on("disconnect", () => {
    void link.close();
    end("the trainer has ended", 0);
  });
  const started = new Promise<StartMessage | undefined>((resolve) => {
    process.on("disconnect", () => resolve(undefined));
    process.on("message", (message: ToWorker) => {
      if (message.kind === "start") resolve(message);
      else link.deliver(message);
    });
  });
  try {
    const start = await started;
    const worker = start && (await makeWorker(start, link));
    await worker?.run({ signal: interrupted.signal });
  } catch (error) {
    // The end of the transport is an error to whoever sends; here it is the end of the work.
    if (!interrupted.signal.aborted) {
      process.stderr.write(`${report(error)}\n`);
      process.exitCode = 1;
    }
  }
  process.exit();
}

/** An error in words, last, because the trainer keeps the last lines; before it the stack of what is no error of ours. */
function report(error: unknown): string {
  if (!(error instanceof EspalierError)) return node.util.inspect(error);
  let cause: unknown = error;
  while (cause instanceof EspalierError) ({ cause } = cause);
  return cause === undefined ? String(error) : `${node.util.inspect(cause)}\n${error}`;
}

type StartMessage = Extract<ToWorker, { readonly kind: "start" }>;

type ProcessWorker = Pick<RolloutWorker, "run">;

export async function makeWorker(
  { module, export: name, start }: Pick<StartMessage, "module" | "export" | "start">,
  link: WorkerLink,
): Promise<ProcessWorker> {
  const exports = (await import(module)) as Readonly<Record<string, unknown>>;
  const make = exports[name];
  if (typeof make !== "function")
    throw new EspalierError("WORKER_MODULE", `${module} exports no function "${name}"`, {
      fix: `its exports are: ${Object.keys(exports).join(", ") || "none"}`,
    });
  const worker: unknown = await make({ ...start, link });
  if (typeof (worker as Partial<ProcessWorker> | undefined)?.run !== "function")
    throw new EspalierError("WORKER_MODULE", `"${name}" of ${module} gave no worker`, {
      fix: "return new RolloutWorker({ link, ... })",
    });
  return worker as ProcessWorker;
}

/** A worker's link to its trainer by the channel between their processes. */
function processLink() {
  const calls = new LinkCalls();
  const newest = new Newest<SharedWeights>();
  const sent = new Map<number, () => void>();
  let received = 0;
  let sends = 0;
  /** A message fails where the trainer is gone, which may be known here before the channel says so. */
  const tell = (message: ToTrainer): void =>
    void process.send?.(message, undefined, undefined, (error) => error && calls.close());
  const link: WorkerLink = {
    receive: ({ wait = false, signal } = {}) =>
      calls.during(signal, async (signal) => {
        for (let seen = received; ; ) {
          const found = await newest.after(seen, { wait, signal });
          const weights = found && readSharedWeights(found.value);
          if (weights) received = found.version;
          if (weights || !found) return weights;
          // Their file is gone: newer ones are on the way.
          seen = found.version;
        }
      }),
    send: (rollout, { signal } = {}) =>
      calls.during(signal, async (signal) => {
        signal.throwIfAborted();
        const n = ++sends;
        try {
          await new Promise<void>((resolve, reject) => {
            sent.set(n, resolve);
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
            tell({ kind: "rollout", n, rollout });
          });
        } catch (error) {
          tell({ kind: "cancel", n });
          throw error;
        } finally {
          sent.delete(n);
        }
      }),
    close: async () => calls.close(),
  };
  return {
    ...link,
    deliver: (message: Exclude<ToWorker, StartMessage>): void => {
      if (message.kind === "weights") newest.set(message.weights);
      else sent.get(message.n)?.();
    },
  };
}
