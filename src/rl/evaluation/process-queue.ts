import { badOption, checkNames, checkSize, EspalierError, systemClock } from "../../core/index.ts";
import { openStatsStore, type StatsStore } from "../../metrics/index.ts";
import { isFileAddress } from "./described.ts";
import { type EvaluatorProcess, startEvaluator } from "./evaluator-process.ts";
import { runIn } from "./filing.ts";
import { espalierProgram } from "./own-files.ts";
import type { EvaluationJob, EvaluationOutcome, EvaluationQueue } from "./queue.ts";

/** Options of {@link processQueue}. */
export interface ProcessQueueOptions {
  /** Where the stats store is: a SQLite file or a postgres:// URL. Evaluators report there. */
  readonly store: string;
  /** How many evaluate at once. Default 1. */
  readonly processes?: number;
  /** Environment variables beside those of this process, such as ESPALIER_ENGINE. */
  readonly env?: Readonly<Record<string, string>>;
  /** How `espalier` is called: a program and its arguments. Default: this package's own. */
  readonly program?: readonly string[];
  /** Told of each process that is started. */
  readonly started?: (pid: number, job: EvaluationJob) => void;
}

interface Entry {
  readonly job: EvaluationJob;
  readonly done: Promise<void>;
  outcome: EvaluationOutcome | undefined;
}

/**
 * Evaluates checkpoints in processes of their own on this machine: each is given the checkpoint's address, and reports
 * through the stats store. One that fails or is killed is told of as such, and the next goes on.
 *
 * @example
 * ```ts
 * const queue = processQueue({ store: "runs/stats.db", env: { ESPALIER_ENGINE: "wasm" } });
 * ```
 */
export function processQueue(options: ProcessQueueOptions): EvaluationQueue {
  checkNames("processQueue", options, ["store", "processes", "env", "program", "started"]);
  const { store: location, env = {}, program = espalierProgram(), started } = options;
  if (typeof location !== "string" || location === "")
    throw badOption(
      "processQueue",
      `store is ${typeof location === "string" ? "empty" : "not the place of a store"}`,
      'say where it is, as other processes open it: a SQLite file, "runs/stats.db", or a postgres:// URL',
    );
  const most = checkSize("processQueue", "processes", options.processes ?? 1);
  const entries: Entry[] = [];
  const running = new Set<EvaluatorProcess>();
  const waiting: { readonly resolve: () => void; readonly reject: (why: Error) => void }[] = [];
  let free = most;
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
    else await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
  }
  function next(): void {
    const first = waiting.shift();
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
      const evaluator = startEvaluator({ program, env, job: { ...job, run }, store: location });
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
    opens: isFileAddress,
    submit: async (job) => {
      const run = await runIn(await store(), job.run, systemClock);
      const entry: Entry = {
        job,
        outcome: undefined,
        done: perform(job, run).then((outcome) => {
          entry.outcome = outcome;
        }),
      };
      entries.push(entry);
    },
    results: async (run, { wait = false, signal } = {}) => {
      const own = entries.filter(({ job }) => job.run === run);
      if (wait) await untilDone(own, signal);
      const outcomes: EvaluationOutcome[] = [];
      // In order: one that is done waits for those before it.
      for (const entry of own) {
        if (entry.outcome === undefined) break;
        outcomes.push(entry.outcome);
        entries.splice(entries.indexOf(entry), 1);
      }
      return outcomes;
    },
    close: async () => {
      for (const { reject } of waiting.splice(0)) reject(new Error("it was given up"));
      entries.length = 0;
      await Promise.all([...running].map((evaluator) => evaluator.stop()));
      const closing = opened;
      opened = undefined;
      await (await closing?.catch(() => undefined))?.close();
    },
  };
}

async function untilDone(entries: readonly Entry[], signal: AbortSignal | undefined): Promise<void> {
  const all = Promise.all(entries.map(({ done }) => done));
  if (!signal) return void (await all);
  if (signal.aborted) return;
  let stop = (): void => undefined;
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([all, aborted]);
  signal.removeEventListener("abort", stop);
}

/** What an evaluator filed: the newest row of each suite that names the checkpoint. */
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
