import { isStoreAddress } from "../../checkpoint/index.ts";
import {
  checkOptions,
  EspalierError,
  inTime,
  node,
  type Options,
  option,
  required,
  systemClock,
} from "../../core/index.ts";
import { ownFile, tsxFor } from "../../engine/index.ts";
import { openStatsStore, type StatsStore } from "../../metrics/index.ts";
import type { Counters } from "../../schedule/index.ts";
import { openRun } from "./publish.ts";
import type { SuiteResult, Suites } from "./suites.ts";

/** The evaluation of a checkpoint in another process. Plain data. */
export interface EvaluationJob {
  /** Unique within its run. */
  readonly id: string;
  /** The address of the checkpoint: all that an evaluator gets of the run. */
  readonly checkpoint: string;
  readonly suites: Suites;
  readonly episodes: number;
  readonly seed: number;
  readonly deterministic: boolean;
  /** The run's id or name in the stats store that results are filed in. */
  readonly run: string;
  /** The step that results are filed under, and the counters of the checkpoint. */
  readonly step: number;
  readonly counters: Counters;
  /** Records the first episodes of each suite: in the directory or the store of this address. */
  readonly replays?: { readonly to: string; readonly episodes: number };
}

/** The outcome of a job: scores of its suites, or the failure; both where scores could not be filed. */
export interface EvaluationOutcome {
  readonly job: EvaluationJob;
  readonly results?: readonly Pick<SuiteResult, "suite" | "scores">[];
  /** Where recorded episodes lie. */
  readonly replays?: readonly { readonly path: string; readonly uri: string | null }[];
  readonly failure?: Error;
}

/**
 * Has checkpoints evaluated elsewhere: in other processes ({@link processQueue}), on other machines (`natsEvaluations`).
 * Either files a row for each suite, which names the checkpoint, in the stats store that it is told of.
 *
 * @example
 * ```ts
 * const queue = processQueue({ store: "runs/stats.db" });
 * evaluationHook({ player, suites, schedule: every({ epochs: 10 }), mode: "remote", queue });
 * ```
 */
export interface EvaluationQueue {
  /**
   * True if its evaluators can open a checkpoint at this address. A published one that they cannot open is evaluated
   * from where the run saved it. Default: true for all.
   */
  opens?(address: string): boolean;
  /** True if its evaluators record replays. Default: false. */
  readonly recordsReplays?: boolean;
  /** Called at the beginning of a run, before its jobs. Rejects where nobody could take them. */
  begin?(): Promise<void>;
  /** Takes a job. Resolves once it is safe with the queue, not when it is done; rejects when the signal is aborted. */
  submit(job: EvaluationJob, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Returns the outcomes of a run's jobs since the last call, in the order in which they were submitted. With `wait`,
   * when all of them are done or the signal is aborted.
   */
  results(
    run: string,
    options?: { readonly wait?: boolean; readonly signal?: AbortSignal },
  ): Promise<readonly EvaluationOutcome[]>;
  /** Cancels the jobs under way. */
  close(): Promise<void>;
}

const optionTable = {
  /** Location of the stats store, a SQLite file or a postgres:// URL. Evaluators report there. */
  store: required(
    option.made<string>(
      'its location, as other processes open it: a SQLite file, "runs/stats.db", or a postgres:// URL',
      option.text({}).accepts,
      {},
    ),
  ),
  /** How many evaluate at once. Default: 1. */
  processes: option.integer({ min: 1, default: 1 }),
  /** Environment variables beside those of this process, such as ESPALIER_ENGINE. */
  env: option.object<Readonly<Record<string, string>>>("environment variables", [], {}),
  /** The `espalier` program and its arguments. Default: this package's own. */
  program: option.list<string>("a program and its arguments", {}),
  /** Called with each process that is started. */
  started: option.function<(pid: number, job: EvaluationJob) => void>("a function", {}),
};

/**
 * Evaluates checkpoints in processes of their own on this machine: each gets the checkpoint's address, and reports
 * through the stats store. One that fails or is killed is the failure of its job; others go on.
 *
 * @example
 * ```ts
 * const queue = processQueue({ store: "runs/stats.db", env: { ESPALIER_ENGINE: "wasm" } });
 * ```
 */
export function processQueue(options: Options<typeof optionTable>): EvaluationQueue {
  checkOptions("processQueue", options, optionTable);
  const { store: location, env = {}, processes = 1, started } = options;
  const program = options.program ?? espalierProgram();
  const submitted = new SubmittedJobs();
  const running = new Set<ReturnType<typeof startEvaluator>>();
  const queued: { readonly resolve: () => void; readonly reject: (why: Error) => void }[] = [];
  let free = processes;
  let opened: Promise<StatsStore> | undefined;
  const store = (): Promise<StatsStore> => {
    opened ??= openStatsStore(location).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };

  async function turn(): Promise<void> {
    if (free > 0) free--;
    else await new Promise<void>((resolve, reject) => queued.push({ resolve, reject }));
  }
  function next(): void {
    const first = queued.shift();
    if (first) first.resolve();
    else free++;
  }

  async function perform(job: EvaluationJob, run: string): Promise<EvaluationOutcome> {
    try {
      await turn();
    } catch (error) {
      return { job, failure: error as Error };
    }
    try {
      const evaluator = startEvaluator(program, env, location, { ...job, run });
      running.add(evaluator);
      started?.(evaluator.pid, job);
      await evaluator.done.finally(() => running.delete(evaluator));
      return { job, results: await reported(await store(), run, job) };
    } catch (error) {
      return { job, failure: error instanceof Error ? error : new Error(String(error)) };
    } finally {
      next();
    }
  }

  return {
    opens: isStoreAddress,
    submit: async (job) => {
      const run = await openRun(await store(), job.run, systemClock);
      const done = submitted.add(job);
      void perform(job, run).then(done);
    },
    results: (run, options) => submitted.results(run, options),
    close: async () => {
      for (const { reject } of queued.splice(0)) reject(new Error("it was cancelled"));
      submitted.clear();
      await Promise.all([...running].map((evaluator) => evaluator.stop()));
      const closing = opened;
      opened = undefined;
      await (await closing?.catch(() => undefined))?.close();
    },
  };
}

/** A job of a queue. */
interface Entry {
  readonly job: EvaluationJob;
  readonly done: Promise<void>;
  outcome: EvaluationOutcome | undefined;
}

/** The jobs of a queue, in the order in which they were submitted, until their outcomes are taken. */
export class SubmittedJobs {
  readonly #entries: Entry[] = [];

  /** Returns the function that takes the job's outcome. Without one the job is removed. */
  add(job: EvaluationJob): (outcome?: EvaluationOutcome) => void {
    let settle = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const entry: Entry = { job, done, outcome: undefined };
    this.#entries.push(entry);
    return (outcome) => {
      entry.outcome = outcome;
      if (!outcome) this.#remove(entry);
      settle();
    };
  }

  /** {@link EvaluationQueue.results}. */
  results: EvaluationQueue["results"] = async (run, { wait = false, signal } = {}) => {
    const own = this.#entries.filter(({ job }) => job.run === run);
    if (wait) {
      const all = Promise.all(own.map(({ done }) => done));
      await inTime(all, undefined, signal).catch(() => undefined);
    }
    const outcomes: EvaluationOutcome[] = [];
    // In order: one that is done waits for those before it.
    for (const entry of own) {
      if (entry.outcome === undefined) break;
      outcomes.push(entry.outcome);
      this.#remove(entry);
    }
    return outcomes;
  };

  clear(): void {
    this.#entries.length = 0;
  }

  #remove(entry: Entry): void {
    const at = this.#entries.indexOf(entry);
    if (at >= 0) this.#entries.splice(at, 1);
  }
}

/** Reads the results that an evaluator has filed: the newest row of each suite that names the checkpoint. */
async function reported(
  store: StatsStore,
  run: string,
  { checkpoint, suites, step }: EvaluationJob,
): Promise<NonNullable<EvaluationOutcome["results"]>> {
  const rows = (await store.list(run, "evaluation")).filter(
    (row) => row.checkpoint === checkpoint && row.step === step,
  );
  return Object.keys(suites).map((suite) => {
    const row = rows.findLast(({ name }) => name === suite);
    if (row) return { suite, scores: row.scores };
    throw new EspalierError("EVALUATION_UNREPORTED", `nothing was filed about the suite "${suite}"`, {
      fix: `look at the evaluations of run ${run} in ${store.location}`,
    });
  });
}

/** Characters of its standard error that are kept for its error. */
const kept = 4000;

/** Starts a process that evaluates a job's checkpoint. */
function startEvaluator(
  [command = process.execPath, ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  store: string,
  job: EvaluationJob,
) {
  const { checkpoint, suites, episodes, seed, deterministic, run } = job;
  const flags = { suite: JSON.stringify(suites), episodes, seed, store, run };
  const child = node.childProcess.spawn(
    command,
    [
      ...args,
      "evaluate",
      checkpoint,
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]),
      ...(deterministic ? [] : ["--sample"]),
    ],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-kept);
  });
  const gone = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(signal ? `was killed by ${signal}` : `exit code ${code}`));
  });
  const done = gone.then((how) => {
    if (how === "exit code 0") return;
    const words = said.trim() === "" ? "" : `: ${said.trim()}`;
    throw new EspalierError("EVALUATOR_FAILED", `the evaluator process ${child.pid} ended (${how})${words}`);
  });
  // A process that is stopped is not waited for.
  done.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    /** Resolves when it has reported; rejects where it failed or was killed, with what it said. */
    done,
    /** Ends it. Resolves when it is gone. */
    stop: async () => {
      child.kill("SIGTERM");
      await gone;
    },
  };
}

/** The command that runs the `espalier` program of this package. */
function espalierProgram(): readonly string[] {
  const main = ownFile("cli/main");
  const loader = tsxFor([main]);
  return [
    process.execPath,
    ...(loader === undefined ? [] : ["--import", loader]),
    node.url.fileURLToPath(main),
  ];
}
