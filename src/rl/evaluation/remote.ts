import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../../core/index.ts";
import type { HookHost } from "../../hooks/index.ts";
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
  }

  /** Has the newest published checkpoint evaluated; where none was published, the newest that was saved. */
  async submit({ slots, state, counters }: TrainerContext): Promise<void> {
    const record = slots.previous(latestCheckpoint);
    this.#due = counters.steps;
    if (record) return this.#send(record, state);
    if (!this.#missed)
      this.#warn(
        `${this.#plan.name}: due at step ${counters.steps}, and there is no checkpoint yet to evaluate; it waits for one`,
      );
    this.#missed = true;
  }

  async #send(record: CheckpointRecord, state: TrainerContext["state"]): Promise<void> {
    const { name } = this.#plan;
    const found = record.published ?? { uri: record.uri ?? uriOf(record.path), counters: record.counters };
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
      throw error;
    }
    this.#newest = found.uri;
    this.#submitted = found.counters.steps;
  }

  /** Tells what has come. A failure is raised when everything else has been told. */
  async collect({ slots, state }: TrainerContext): Promise<void> {
    if (this.#under.size > 0) this.#tell(await this.#queue.results(this.#run(state)), slots);
  }

  /**
   * The same at the end: waits for what is under way, unless the run was broken off. What was evaluated when one was due
   * last was saved before that: the checkpoint that has come since is evaluated, too.
   */
  async end({ slots, state, outcome, signal }: TrainerContext): Promise<void> {
    const { patience, name } = this.#plan;
    const wait = outcome === "completed" || outcome === "stopped";
    const record = slots.previous(latestCheckpoint);
    if (wait && record && this.#due > this.#submitted) await this.#send(record, state);
    if (this.#under.size === 0) return;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(patience * 1000)]);
    const outcomes = await this.#queue.results(this.#run(state), wait ? { wait, signal: limit } : {});
    const left = this.#under.size - outcomes.length;
    if (left > 0)
      this.#warn(
        `${name}: ${left} ${left === 1 ? "evaluation has" : "evaluations have"} not come back and ${left === 1 ? "is" : "are"} given up`,
      );
    this.#tell(outcomes, slots);
  }

  async close(): Promise<void> {
    for (const release of this.#under.values()) release();
    this.#under.clear();
    await this.#queue.close();
  }

  #tell(outcomes: readonly EvaluationOutcome[], slots: TrainerContext["slots"]): void {
    const failures: EspalierError[] = [];
    for (const { job, results, failure } of outcomes) {
      this.#release(job);
      const { checkpoint, counters } = job;
      if (!results) failures.push(failed(job, failure));
      else if (this.#plan.primary)
        slots.set(evaluationScores, { scores: allScores(results), counters, checkpoint });
    }
    for (const error of failures.slice(1)) this.#warn(error.message);
    if (failures[0]) throw failures[0];
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
