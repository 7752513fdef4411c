/**
 * Worker processes on one machine: real processes that each run a worker, with the trainer's queue in this process.
 *
 *     workerProcesses({ module, count: 2 })
 *       publish(weights)     writes a file in shared memory (shared-weights.ts), tells every process its name;
 *                            the first time it starts the processes
 *       process (process-main.ts)
 *         "rollout"          into the queue (transport.ts), "accepted" when it is there: a full queue makes it wait
 *         it dies            what it had not had acknowledged does not count; another takes its place under a new name
 *         it ends, code 0    its worker had nothing more to do
 *       close()              ends the channels, and with them the processes
 *
 * Each process has a channel to this one. It ends with this process, however that ends, and the workers with it.
 */
import type { ChildProcess } from "node:child_process";
import {
  badOption,
  EspalierError,
  environmentVariable,
  node,
  type Options,
  option,
  required,
  resolveOptions,
} from "../core/index.ts";
import { ownFile, tsxFor } from "../engine/index.ts";
import type { Stateful } from "../state/index.ts";
import { patience } from "./process-main.ts";
import type { Rollout, Transport, WorkerLink } from "./rollout.ts";
import { type SharedWeights, weightFiles } from "./shared-weights.ts";
import { capacityOption, checkWeights, RolloutQueue, workersEnded } from "./transport.ts";

/** What a module gets to make the worker of a process with. */
export interface WorkerStart<O = unknown> {
  /** Unique among all processes of a transport: "worker-1.4" is the fourth process, and has the second place. */
  readonly name: string;
  /** Its place, from 0: the one that replaces it has the same. */
  readonly index: number;
  readonly link: WorkerLink;
  /** `options` of {@link workerProcesses}. */
  readonly options: O;
}

export type ToWorker =
  | {
      readonly kind: "start";
      readonly module: string;
      readonly export: string;
      readonly start: Omit<WorkerStart, "link">;
    }
  | { readonly kind: "weights"; readonly weights: SharedWeights }
  | { readonly kind: "accepted"; readonly n: number };

/** A message from a worker process. `n` counts what it sent. */
export type ToTrainer =
  | { readonly kind: "rollout"; readonly n: number; readonly rollout: Rollout }
  | { readonly kind: "cancel"; readonly n: number };

const optionTable = {
  /**
   * The file that makes workers, as a path or URL. Every process imports it: where it trains too, it does so only
   * `if (!isWorkerProcess())`.
   */
  module: required(
    option.made<string>("a file, such as import.meta.url or a path", option.text({}).accepts, {}),
  ),
  /** Its export: a function of a {@link WorkerStart} that gives a RolloutWorker. Default: "worker". */
  name: option.text({ default: "worker" }),
  /** Given to that function: values that messages can hold. */
  options: option.made<unknown>("values that messages can hold", () => true, {}),
  /** Processes. Default: 2. */
  count: option.integer({ min: 1, default: 2 }),
  /** Rollouts that wait for the trainer; a worker that sends one more waits itself. Default: 8. */
  capacity: capacityOption,
  /** Environment variables beside those of this process. */
  env: option.object<Readonly<Record<string, string>>>("environment variables", [], {}),
  /** Called with each process that is started. */
  started: option.function<(pid: number, name: string) => void>("a function", {}),
};

/** A transport whose workers are processes: {@link workerProcesses}. */
export interface WorkerProcesses extends Transport {
  /** The processes that run now. */
  readonly pids: readonly number[];
  /** How many processes were started: saved with a run, it keeps names unique when the run is resumed. */
  readonly state: Stateful;
}

/** Processes of one place that may die in a row before their first rollout. One more is an error. */
const attempts = 3;
/** Milliseconds before the first of them is replaced; each after that waits twice as long. */
const firstDelay = 100;

/**
 * Runs workers in processes of their own on this machine. They start with the first weights. One that dies is replaced;
 * what it printed goes to this process's standard error, with its name in front.
 *
 * @example
 * ```ts
 * // worker.ts
 * export const worker = ({ name, index, link, options }: WorkerStart<{ seed: number }>) =>
 *   new RolloutWorker({ name, link, generator: makeGenerator(), seed: options.seed + index });
 *
 * // train.ts
 * const transport = workerProcesses({ module: "./worker.ts", options: { seed: 1 }, count: 4 });
 * await transport.publish({ id: 0, arrays });
 * const rollout = await transport.take();
 * await transport.close();
 * ```
 */
export function workerProcesses(options: Options<typeof optionTable>): WorkerProcesses {
  const settings = resolveOptions("workerProcesses", options, optionTable);
  checkMessage(options.options);
  const command = commandFor(options.module);
  const queue = new RolloutQueue(settings.capacity);
  const files = weightFiles();
  const running = new Set<WorkerProcess>();
  const over = new AbortController();
  let newest: SharedWeights | undefined;
  let begun = false;
  let processes = 0;
  let replaced = 0;
  let closing: Promise<void> | undefined;

  /** Keeps a process at a place until it has nothing more to do: one that dies is replaced. */
  async function keep(index: number): Promise<void> {
    for (let failures = 0; ; replaced++) {
      const name = `worker-${index}.${++processes}`;
      const worker = startProcess(command.args, name, settings.env);
      running.add(worker);
      settings.started?.(worker.child.pid ?? 0, name);
      const start = { name, index, options: settings.options };
      worker.tell({ kind: "start", module: command.module, export: settings.name, start });
      if (newest) worker.tell({ kind: "weights", weights: newest });
      const delivered = await takeFrom(worker);
      running.delete(worker);
      if (over.signal.aborted || worker.child.exitCode === 0) return;
      failures = delivered ? 0 : failures + 1;
      if (failures > attempts)
        return fail(workerFailed(worker.name, await worker.ended, await worker.output()));
      const delay = failures === 0 ? 0 : firstDelay * 2 ** (failures - 1);
      const { signal } = over;
      await node.timersPromises.setTimeout(delay, undefined, { signal }).catch(() => undefined);
      if (over.signal.aborted) return;
    }
  }

  /** Puts rollouts of a process into the queue until it has ended. True where there were some. */
  async function takeFrom(worker: WorkerProcess): Promise<boolean> {
    let delivered = false;
    const waiting = new Map<number, AbortController>();
    worker.child.on("message", async (message: ToTrainer) => {
      if (message.kind === "cancel") return waiting.get(message.n)?.abort();
      const { n, rollout } = message;
      const controller = new AbortController();
      waiting.set(n, controller);
      try {
        await queue.put(withOwnMemory(rollout), { signal: controller.signal });
        delivered = true;
        worker.tell({ kind: "accepted", n });
      } catch {
        // It was cancelled, or its worker has died, or the queue is closed: the worker hears of that by itself.
      } finally {
        waiting.delete(n);
      }
    });
    await worker.ended;
    worker.child.removeAllListeners("message");
    for (const controller of waiting.values()) controller.abort();
    return delivered;
  }

  function fail(error: EspalierError): void {
    queue.fail(error);
    void endAll();
  }

  async function endAll(): Promise<void> {
    over.abort();
    await Promise.all([...running].map((worker) => worker.end()));
  }

  return {
    publish: async (weights) => {
      checkWeights(weights);
      queue.checkOpen();
      newest = files.write(weights);
      for (const worker of running) worker.tell({ kind: "weights", weights: newest });
      files.removePrevious(newest);
      if (begun) return;
      begun = true;
      const places = Array.from({ length: settings.count }, (_, index) => keep(index));
      void Promise.all(places).then(() => over.signal.aborted || fail(workersEnded()), fail);
    },
    take: async (waiting) => {
      const staysAlive = setInterval(() => undefined, 2 ** 30);
      try {
        return await queue.take(waiting);
      } finally {
        clearInterval(staysAlive);
      }
    },
    get stats() {
      return { ...queue.counts, workers: running.size, replaced };
    },
    get pids() {
      return [...running].flatMap(({ child }) => child.pid ?? []);
    },
    state: {
      getState: () => ({ processes }),
      setState: (state) => {
        // A run that was saved with another transport has none.
        ({ processes = 0 } = state as { readonly processes?: number });
      },
    },
    close: () => {
      queue.close();
      closing ??= endAll().then(() => files.close());
      return closing;
    },
  };
}

/** Refuses options that no message can hold, such as functions. */
function checkMessage(options: unknown): void {
  try {
    structuredClone(options);
  } catch (cause) {
    throw badOption(
      "workerProcesses",
      `options cannot be sent to a process: ${(cause as Error).message}`,
      "give plain values, and make functions in the module of the worker",
    );
  }
}

/** Small arrays lie in memory that many messages share: a copy does not keep all of it. */
function withOwnMemory(rollout: Rollout): Rollout {
  const arrays = Object.entries(rollout.arrays).map(([name, { data, shape }]) => {
    const shared = data.byteLength < data.buffer.byteLength / 2;
    return [name, { data: shared ? data.slice() : data, shape }] as const;
  });
  return { ...rollout, arrays: Object.fromEntries(arrays) };
}

const workerFailed = (name: string, how: string, output: string): EspalierError =>
  new EspalierError(
    "WORKER_FAILED",
    `${attempts + 1} worker processes in a row have died before their first rollout; the last, ${name}, ${how}${
      output === "" ? ", and said nothing" : `:\n${output}`
    }`,
    { fix: "mend what it says, or if it was killed look for what kills it: often memory (fewer processes)" },
  );

/** The arguments of a worker process, and the URL of its module. */
function commandFor(given: string) {
  const nested = environmentVariable(workerVariable);
  if (nested !== undefined)
    throw new EspalierError(
      "WORKER_NESTED",
      `${nested} is a worker process, and starts worker processes itself`,
      {
        fix: "train only if (!isWorkerProcess()), or export the worker from a file of its own: every process imports it",
      },
    );
  const { url, fs, path } = node;
  const module = given.startsWith("file:") ? given : url.pathToFileURL(path.resolve(given)).href;
  if (!fs.existsSync(url.fileURLToPath(module)))
    throw new EspalierError("WORKER_MODULE", `there is no file ${url.fileURLToPath(module)}`, {
      fix: 'give its path, or its URL: new URL("./worker.ts", import.meta.url).href',
    });
  const main = ownFile("rollout/process-main");
  const loader = tsxFor([main, module]);
  const run = "import(process.argv[1]).then((main) => main.runWorkerProcess(Number(process.argv[2])))";
  const load = loader === undefined ? [] : ["--import", loader];
  return { module, args: [...load, "--eval", run, main, String(process.pid)] };
}

/**
 * True in a process that {@link workerProcesses}, `espalier worker` or `espalier evaluator` started: for a program that
 * trains and exports its worker in one file.
 *
 * @example
 * ```ts
 * export const worker = ({ name, link }: WorkerStart) => new RolloutWorker({ name, link, generator });
 * if (!isWorkerProcess()) await train(workerProcesses({ module: import.meta.url }));
 * ```
 */
export const isWorkerProcess = (): boolean => environmentVariable(workerVariable) !== undefined;

/** Set in worker processes, to their name. */
export const workerVariable = "ESPALIER_WORKER";

type WorkerProcess = ReturnType<typeof startProcess>;

function startProcess(args: readonly string[], name: string, env: Options<typeof optionTable>["env"]) {
  const child: ChildProcess = node.childProcess.spawn(process.execPath, [...args], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // Typed arrays travel as they are.
    serialization: "advanced",
    env: { ...process.env, ...env, [workerVariable]: name },
  });
  // A program that is done ends, and its workers with it, though nobody closed the transport: take() keeps it alive.
  for (const part of [child, child.channel, child.stdout, child.stderr])
    (part as { unref?(): void } | null | undefined)?.unref?.();
  const said: string[] = [];
  void passOn(child.stdout, name, []);
  const written = passOn(child.stderr, name, said);
  const ended = new Promise<string>((resolve) => {
    child.on("error", ({ message }) => {
      // Also a message that could not be sent any more; then the process is about to end.
      if (child.pid === undefined) resolve(`could not be started (${message})`);
    });
    child.on("exit", (code, signal) =>
      resolve(signal ? `was killed by ${signal}` : `ended with exit code ${code}`),
    );
  });
  return {
    name,
    child,
    ended,
    /** The last lines of its standard error, after its end. */
    output: async () => {
      // A process that it started itself may hold the pipe open.
      await Promise.race([written, node.timersPromises.setTimeout(1000, undefined, { ref: false })]);
      return said.join("\n").trim();
    },
    tell: (message: ToWorker): void => {
      // Nobody is there any more where it fails, and `ended` says so.
      if (child.connected) child.send(message, () => undefined);
    },
    /** Ends it. Resolves when it is gone. */
    end: async () => {
      const timer = setTimeout(() => child.kill("SIGKILL"), patience);
      if (child.connected) child.disconnect();
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Lines that are kept for the error of a process that died. */
const keptLines = 20;

/** Passes on what a process writes, line by line with its name in front, and keeps the last lines. */
async function passOn(stream: NodeJS.ReadableStream | null, name: string, kept: string[]): Promise<void> {
  if (!stream) return;
  for await (const line of node.readline.createInterface({ input: stream })) {
    process.stderr.write(`[${name}] ${line}\n`);
    kept.push(line);
    if (kept.length > keptLines) kept.shift();
  }
}
