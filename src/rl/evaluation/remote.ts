import { isOnS3, uriOf } from "../../checkpoint/index.ts";
import { EspalierError, messageOf, node } from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
import type { Counters } from "../../schedule/index.ts";
import {
  type CheckpointRecord,
  evaluationScores,
  latestCheckpoint,
  latestReplay,
  type TrainerContext,
} from "../../trainer/index.ts";
import { evaluationSeed } from "./evaluate-checkpoint.ts";
import type { EvaluationSettings } from "./evaluation-hook.ts";
import type { EvaluationJob, EvaluationOutcome, EvaluationQueue } from "./process-queue.ts";
import { allScores } from "./suites.ts";

/** Has checkpoints of one run evaluated through a queue, and publishes the results that come back. */
export class RemoteEvaluations {
  readonly #settings: EvaluationSettings;
  readonly #queue: EvaluationQueue;
  readonly #warn: (text: string) => void;
  /** Releases the checkpoints of jobs under way, by the job's id. */
  readonly #jobs = new Map<string, () => void>();
  #newest: string | undefined;
  /** Steps of the last submitted checkpoint, and of the last evaluation that was due. */
  #submitted = -1;
  #due = -1;
  #missed = false;
  /** Evaluations that could not be done, and those that were submitted, in this process. */
  #failed = 0;
  #count = 0;

  constructor(settings: EvaluationSettings, queue: EvaluationQueue, { warn }: HookHost) {
    this.#settings = settings;
    this.#queue = queue;
    this.#warn = warn;
  }

  /** Submits the newest published checkpoint; if none was published, the newest saved one. */
  async submit(context: TrainerContext): Promise<void> {
    const { slots, counters } = context;
    const record = slots.previous(latestCheckpoint);
    this.#due = counters.steps;
    if (record) return this.#send(record, context);
    if (!this.#missed)
      this.#warn(
        `${this.#settings.name}: due at step ${counters.steps}, and there is no checkpoint yet to evaluate; it waits for one`,
      );
    this.#missed = true;
  }

  async #send(record: CheckpointRecord, context: TrainerContext): Promise<void> {
    const { name } = this.#settings;
    const { state, signal } = context;
    const found = this.#addressOf(record);
    if (found.uri === this.#newest) return; // It is evaluated already.
    const { suites, episodes, deterministic, seed = evaluationSeed(state.seed) } = this.#settings;
    const job: EvaluationJob = {
      id: `${name}-${found.counters.steps}`,
      checkpoint: found.uri,
      suites,
      episodes,
      deterministic,
      seed,
      run: this.#run(state),
      step: found.counters.steps,
      counters: found.counters,
      ...this.#replays(),
    };
    const release = record.use?.() ?? (() => undefined);
    this.#jobs.set(job.id, release);
    try {
      await this.#queue.submit(job, { signal });
    } catch (error) {
      this.#release(job);
      if (signal.aborted) return; // The run ends at once.
      this.#newest = found.uri; // It is counted once.
      this.#countFailed(1, context);
      throw failed(job, error);
    }
    this.#newest = found.uri;
    this.#submitted = found.counters.steps;
  }

  /** The next job's option `replays`, where it is due. */
  #replays(): Pick<EvaluationJob, "replays"> {
    const { replays } = this.#settings;
    if (!replays) return {};
    const { directory, every, episodes } = replays;
    if (this.#count++ % every !== 0) return {};
    const to = isOnS3(directory) ? directory : node.path.resolve(directory);
    return { replays: { to, episodes } };
  }

  /** The published checkpoint, or the one that the run saved if evaluators cannot open that address. */
  #addressOf({ published, uri, path, counters }: CheckpointRecord): { uri: string; counters: Counters } {
    const own = { uri: uriOf(path), counters };
    const found = published ?? (uri === null ? own : { uri, counters });
    return (this.#queue.opens?.(found.uri) ?? true) ? found : own;
  }

  /** Publishes the results that have come. A failure is raised after everything else is published. */
  async collect(context: TrainerContext): Promise<void> {
    if (this.#jobs.size > 0) this.#publish(await this.#queue.results(this.#run(context.state)), context);
  }

  /**
   * The same at the end: waits for jobs under way, unless the run was aborted. If an evaluation was due since the last
   * submitted checkpoint, the newest one is evaluated too.
   */
  async end(context: TrainerContext): Promise<void> {
    const { slots, state, outcome, signal } = context;
    const { patience, name } = this.#settings;
    const wait = outcome === "completed" || outcome === "stopped";
    const record = slots.previous(latestCheckpoint);
    if (wait && this.#due > this.#submitted) {
      if (record) await this.#send(record, context);
      else if (this.#missed) {
        this.#countFailed(1, context);
        throw new EspalierError("EVALUATION_FAILED", `${name}: the run has saved no checkpoint to evaluate`, {
          fix: "give the run a checkpointHook whose schedule is due before the evaluation's",
        });
      }
    }
    if (this.#jobs.size === 0) return;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(patience * 1000)]);
    const outcomes = await this.#queue.results(this.#run(state), wait ? { wait, signal: limit } : {});
    const left = this.#jobs.size - outcomes.filter(({ job }) => this.#jobs.has(job.id)).length;
    const lost =
      left > 0 &&
      new EspalierError(
        "EVALUATION_FAILED",
        `${name}: ${left} ${left === 1 ? "evaluation has" : "evaluations have"} not come back and ${left === 1 ? "is" : "are"} cancelled`,
        { fix: `look at the evaluators, or wait longer for them than ${patience} s: patience` },
      );
    if (lost) this.#countFailed(left, context);
    this.#publish(outcomes, context, lost ? [lost] : []);
  }

  async close(): Promise<void> {
    for (const release of this.#jobs.values()) release();
    this.#jobs.clear();
    await this.#queue.close();
  }

  #publish(
    outcomes: readonly EvaluationOutcome[],
    context: TrainerContext,
    before: readonly EspalierError[] = [],
  ): void {
    const { slots } = context;
    const failures = [...before];
    for (const { job, results, replays = [], failure } of outcomes) {
      this.#release(job);
      const { checkpoint, counters } = job;
      if (!results || failure) failures.push(failed(job, failure));
      if (!results || !this.#settings.primary) continue;
      slots.set(evaluationScores, { scores: allScores(results), counters, checkpoint });
      // One after the other: metrics file each of them.
      for (const replay of replays) slots.set(latestReplay, { ...replay, counters });
    }
    if (failures.length > before.length) this.#countFailed(failures.length - before.length, context);
    for (const error of failures.slice(1)) this.#warn(error.message);
    if (failures[0]) throw failures[0];
  }

  /** Counts evaluations that could not be done, as the metric `health/evaluations.failed`. */
  #countFailed(more: number, { log }: TrainerContext): void {
    this.#failed += more;
    log({ "evaluations.failed": this.#failed }, "health");
  }

  #release({ id }: EvaluationJob): void {
    this.#jobs.get(id)?.();
    this.#jobs.delete(id);
  }

  #run(state: TrainerContext["state"]): string {
    return this.#settings.run ?? state.run;
  }
}

const failed = ({ checkpoint, step }: EvaluationJob, cause: unknown): EspalierError =>
  new EspalierError(
    "EVALUATION_FAILED",
    `the evaluation of ${checkpoint} (step ${step}) failed: ${messageOf(cause)}`,
    { fix: "look at what the evaluator said; later checkpoints are evaluated all the same", cause },
  );
