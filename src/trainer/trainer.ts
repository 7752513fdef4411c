import { EspalierError } from "../core/index.ts";
import type { HookManager, HookResults } from "../hooks/index.ts";
import type { Stateful } from "../state/index.ts";
import { componentsOf } from "./components.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerEvent, TrainerEvents, TrainerHook } from "./events.ts";
import { resultOf, type TrainingResult } from "./result.ts";
import { emit, type Run } from "./run.ts";
import { setUp, type TrainerOptions } from "./set-up.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { catchSignals } from "./signals.ts";
import { TrainingLoop } from "./training-loop.ts";
import { checkValidation, validateAtEnd } from "./validation-loop.ts";

/**
 * Trains: has the task do its work in order, and runs hooks at the events between. It knows nothing of networks,
 * environments, files or logs. The loop itself is in `training-loop.ts`.
 *
 * @example
 * ```ts
 * const trainer = new Trainer({ task, config: { epochs: 10 }, hooks: [myHook] });
 * const { outcome, metrics } = await trainer.train();
 * ```
 */
export class Trainer {
  readonly #run: Run;
  #used = false;
  #result: TrainingResult | undefined;

  constructor(options: TrainerOptions) {
    this.#run = setUp(options);
  }

  get config(): TrainingConfig {
    return this.#run.config;
  }
  /** The manager of its hooks: plan, timings, explain, enable and disable. */
  get hooks(): HookManager<TrainerEvents> {
    return this.#run.hooks;
  }
  /** Everything that belongs to the run's state, by name. Restore it before `train` or in `onTrainingStart`. */
  get components(): Readonly<Record<string, Stateful>> {
    return componentsOf(this.#run);
  }
  /** What a run that resumes this one must share with it. */
  get settings(): Settings {
    return settingsOf(this.#run);
  }
  /** How the run went, once it has ended; also where it failed. */
  get result(): TrainingResult | undefined {
    return this.#result;
  }

  registerHook(hook: TrainerHook): void {
    this.hooks.register(hook);
  }
  /** The same as `registerHook`. */
  addHook(hook: TrainerHook): void {
    this.hooks.register(hook);
  }
  /** False where there is no such hook. */
  unregisterHook(hook: TrainerHook | string): boolean {
    return this.hooks.unregister(hook);
  }
  clearHooks(): void {
    this.hooks.clear();
  }
  getHooks(): readonly TrainerHook[] {
    return this.hooks.list();
  }
  /** Runs an event's hooks by hand, at the counters of now. */
  async runHooks(event: TrainerEvent): Promise<HookResults | undefined> {
    const { context } = this.#run;
    const { since, values } = context;
    try {
      return await emit(this.#run, event);
    } finally {
      context.since = since;
      context.values = values;
    }
  }

  /** Ends the run after the work under way, with the end events. The first reason counts. */
  stop(reason: string): void {
    this.#run.ending.stop(reason);
  }

  /**
   * Trains to the end: once a trainer. Resolves with the result of a run that was completed, stopped or interrupted;
   * rejects with what failed, after `onError` and `onTrainingEnd`.
   */
  async train(): Promise<TrainingResult> {
    if (this.#used)
      throw new EspalierError("TRAINER_USED", "this trainer has trained already", {
        fix: "make a new Trainer; to go on from here, restore this one's components into it",
      });
    this.#used = true;
    const run = this.#run;
    const { ending, hooks, task, progress, config, random, warn } = run;
    const signals = config.handleSignals
      ? catchSignals(
          (signal, code) => run.ended || ending.interrupt(`interrupted by ${signal}`, code),
          (signal) => ending.abort(signal),
        )
      : undefined;
    try {
      try {
        hooks.check();
        await task.begin?.({ config, random, warn });
      } catch (error) {
        ending.fail(error);
        await this.#attempt(() => hooks.close());
        throw error;
      }
      progress.startClock();
      this.#result = await this.#toTheEnd();
    } finally {
      signals?.release();
    }
    if (this.#result.outcome === "failed") throw this.#result.error;
    if (signals && this.#result.outcome === "interrupted" && ending.exitCode)
      process.exitCode = ending.exitCode;
    return this.#result;
  }

  async #toTheEnd(): Promise<TrainingResult> {
    const run = this.#run;
    const { ending, hooks } = run;
    let metrics: TrainingResult["metrics"] = {};
    try {
      await emit(run, "onTrainingStart");
      checkValidation(run);
      this.#staysStopped();
      await new TrainingLoop(run).run();
      await validateAtEnd(run);
      await hooks.settle();
      await run.finite.look();
      // What failed on the device comes to light here, before the run can look completed.
      metrics = await run.metrics.reader()();
      await run.task.end?.();
      if (ending.outcome === "stopped") run.progress.stopped = ending.reason;
    } catch (error) {
      ending.fail(await run.finite.cause(error, run.progress, () => hooks.settle()));
      run.ahead = 0;
      await this.#attempt(() => emit(run, "onError"));
      await this.#attempt(() => hooks.settle());
    }
    ending.complete(undefined);
    run.ended = true;
    await this.#attempt(() => emit(run, "onTrainingEnd"));
    await this.#attempt(() => hooks.close());
    return resultOf(run, metrics);
  }

  /** A run that was stopped, and that is started again from its end, has nothing left to do. */
  #staysStopped(): void {
    const { progress, ending, warn } = this.#run;
    const { stopped, counters } = progress;
    if (stopped === undefined) return;
    ending.stop(stopped);
    warn(
      `this run was stopped after ${counters.updates} updates (${stopped}) and stays ended; to go on anyway, resume it with ` +
        'allow: ["stopped"], as in checkpointHook({ directory, allow: ["stopped"] })',
    );
  }

  /** Does what comes after the loop: its failure fails the run, unless something failed before, which is then told. */
  async #attempt(work: () => unknown): Promise<void> {
    const { ending, warn } = this.#run;
    try {
      await work();
    } catch (error) {
      if (ending.outcome === "failed") warn(`after the run had failed, this failed too: ${String(error)}`);
      else ending.fail(error);
    }
  }
}
