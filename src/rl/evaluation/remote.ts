import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
import type { Counters } from "../../schedule/index.ts";
import {
  type CheckpointRecord,
  evaluationScores,
  latestCheckpoint,
  type TrainerContext,
} from "../../trainer/index.ts";
import { evaluationSeed } from "./evaluate-checkpoint.ts";
import type { EvaluationPlan } from "./evaluation-options.ts";
import type { EvaluationJob, EvaluationOutcome, EvaluationQueue } from "./queue.ts";
import { allScores } from "./scores.ts";

/** Has checkpoints evaluated by somebody else, and tells what comes back. */
export class RemoteEvaluations {
  readonly #plan: EvaluationPlan;
  readonly #queue: EvaluationQueue;
  #warn: (text: string) => void = () => undefined;
  /** Jobs under way, and what lets go of their checkpoints. */
  readonly #under = new Map<string, () => void>();
  #newest: string | undefined;
  /** Steps of the checkpoint that was submitted last, and at which an evaluation was due last. */
  #submitted = -1;
  #due = -1;
  #missed = false;
  /** Evaluations that could not be done, in this process. */
  #failed = 0;

  constructor(plan: EvaluationPlan, queue: EvaluationQueue) {
    this.#plan = plan;
    this.#queue = queue;
  }

  begin({ warn }: HookHost): void {
    this.#warn = warn;
    this.#newest = undefined;
    this.#submitted = -1;
    this.#due = -1;
    this.#missed = false;
    this.#failed = 0;
  }

  /** Has the newest published checkpoint evaluated; where none was published, the newest that was saved. */
  async submit(context: TrainerContext): Promise<void> {
    const { slots, counters } = context;
    const record = slots.previous(latestCheckpoint);
    this.#due = counters.steps;
    if (record) return this.#send(record, context);
    if (!this.#missed)
      this.#warn(
        `${this.#plan.name}: due at step ${counters.steps}, and there is no checkpoint yet to evaluate; it waits for one`,
      );
    this.#missed = true;
  }

  async #send(record: CheckpointRecord, context: TrainerContext): Promise<void> {
    const { name } = this.#plan;
    const { state } = context;
    const found = this.#addressOf(record);
    if (found.uri === this.#newest) return; // It is evaluated already.
    const { suites, episodes, deterministic, seed = evaluationSeed(state.seed) } = this.#plan;
    const job: EvaluationJob = {
      ...{
        id: `${name}-${found.counters.steps}`,
        checkpoint: found.uri,
        suites,
        episodes,
        deterministic,
        seed,
      },
      ...{ run: this.#run(state), step: found.counters.steps, counters: found.counters },
    };
    const release = record.use?.() ?? (() => undefined);
    this.#under.set(job.id, release);
    try {
      await this.#queue.submit(job);
    } catch (error) {
      this.#release(job);
      this.#newest = found.uri; // It is counted once.
      this.#count(1, context);
      throw failed(job, error);
    }
    this.#newest = found.uri;
    this.#submitted = found.counters.steps;
  }

  /** The published checkpoint, or where the evaluators cannot open that address, the one that the run saved. */
  #addressOf({ published, uri, path, counters }: CheckpointRecord): { uri: string; counters: Counters } {
    const own = { uri: uriOf(path), counters };
    const found = published ?? (uri === null ? own : { uri, counters });
    return (this.#queue.opens?.(found.uri) ?? true) ? found : own;
  }

  /** Tells what has come. A failure is raised when everything else has been told. */
  async collect(context: TrainerContext): Promise<void> {
    if (this.#under.size > 0) this.#tell(await this.#queue.results(this.#run(context.state)), context);
  }

  /**
   * The same at the end: waits for what is under way, unless the run was broken off. What was evaluated when one was due
   * last was saved before that: the checkpoint that has come since is evaluated, too.
   */
  async end(context: TrainerContext): Promise<void> {
    const { slots, state, outcome, signal } = context;
    const { patience, name } = this.#plan;
    const wait = outcome === "completed" || outcome === "stopped";
    const record = slots.previous(latestCheckpoint);
    if (wait && record && this.#due > this.#submitted) await this.#send(record, context);
    if (this.#under.size === 0) return;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(patience * 1000)]);
    const outcomes = await this.#queue.results(this.#run(state), wait ? { wait, signal: limit } : {});
    const left = this.#under.size - outcomes.length;
    const lost =
      left > 0 &&
      new EspalierError(
        "EVALUATION_FAILED",
        `${name}: ${left} ${left === 1 ? "evaluation has" : "evaluations have"} not come back and ${left === 1 ? "is" : "are"} given up`,
        { fix: `look at the evaluators, or wait longer for them than ${patience} s: patience` },
      );
    if (lost) this.#count(left, context);
    this.#tell(outcomes, context, lost ? [lost] : []);
  }

  async close(): Promise<void> {
    for (const release of this.#under.values()) release();
    this.#under.clear();
    await this.#queue.close();
  }

  #tell(
    outcomes: readonly EvaluationOutcome[],
    context: TrainerContext,
    before: readonly EspalierError[] = [],
  ): void {
    const { slots } = context;
    const failures = [...before];
    for (const { job, results, failure } of outcomes) {
      this.#release(job);
      const { checkpoint, counters } = job;
      if (!results) failures.push(failed(job, failure));
      else if (this.#plan.primary)
        slots.set(evaluationScores, { scores: allScores(results), counters, checkpoint });
    }
    if (failures.length > before.length) this.#count(failures.length - before.length, context);
    for (const error of failures.slice(1)) this.#warn(error.message);
    if (failures[0]) throw failures[0];
  }

  /** Counts evaluations that could not be done, as the metric `health/evaluations.failed`. */
  #count(more: number, { log }: TrainerContext): void {
    this.#failed += more;
    log({ "evaluations.failed": this.#failed }, "health");
  }

  #release({ id }: EvaluationJob): void {
    this.#under.get(id)?.();
    this.#under.delete(id);
  }

  #run(state: TrainerContext["state"]): string {
    return this.#plan.run ?? state.run;
  }
}

const uriOf = (path: string): string => (isAbsolute(path) ? pathToFileURL(path).href : path);

const failed = ({ checkpoint, step }: EvaluationJob, cause: unknown): EspalierError =>
  new EspalierError(
    "EVALUATION_FAILED",
    `the evaluation of ${checkpoint} (step ${step}) failed: ${cause instanceof Error ? cause.message : String(cause)}`,
    { fix: "look at what the evaluator said; later checkpoints are evaluated all the same", cause },
  );
