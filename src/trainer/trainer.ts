import { type Clock, checkNames, EspalierError } from "../core/index.ts";
import {
  type HookFailure,
  type HookLogger,
  type HookManager,
  type HookResults,
  type HookTiming,
  HostOfHooks,
} from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import { componentsOf, settingsOf } from "./context.ts";
import { catchSignals } from "./ending.ts";
import type { Outcome, PhaseTimings, TrainerEvent, TrainerEvents, TrainerHook } from "./events.ts";
import type { RankGroup } from "./ranks.ts";
import { Run } from "./run.ts";
import { type Settings, type Task, taskFailed } from "./task.ts";
import { TrainingLoop } from "./training-loop.ts";
import { checkValidation, validateAtEnd } from "./validation.ts";

/** Options of {@link Trainer}. */
export interface TrainerOptions {
  readonly task: Task;
  /** Fields that are left out have the defaults of `TrainingConfig`. */
  readonly config?: Partial<TrainingConfig>;
  readonly hooks?: readonly TrainerHook[];
  readonly clock?: Clock;
  /** Takes values that hooks log, beside `metricsHook`. */
  readonly logger?: HookLogger;
  /** Takes messages that do not stop the run. Default: standard error. */
  readonly warn?: (text: string) => void;
  /** Ranks that train the task together; `rank` and `ranks` of the configuration are theirs. See `trainOnRanks`. */
  readonly ranks?: RankGroup | undefined;
}

/**
 * Makes everything a `Trainer` needs, new with each call. A file that exports one as `setup` can be handed to commands
 * that train by themselves, such as `espalier prove-resume FILE`. It trains nothing when it is imported.
 *
 * @example
 * ```ts
 * export const setup: TrainingSetup = () => ({
 *   task: supervisedTask({ model, optimizer, data, loss, batchSize: 32 }),
 *   config: { epochs: 6, seed: 1 },
 *   hooks: [myHook],
 * });
 * ```
 */
export type TrainingSetup = () => TrainerOptions | Promise<TrainerOptions>;

/** How a run went. */
export interface TrainingResult {
  readonly run: string;
  readonly outcome: Outcome;
  /** The reason for which it ended before the last epoch; undefined where it did not. */
  readonly reason: string | undefined;
  readonly counters: Counters;
  /** The newest value of every scalar metric that batches and rollouts reported, as `state.metrics()` gives them. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Metrics of the last validation. */
  readonly validation: Readonly<Record<string, number>> | undefined;
  readonly timings: {
    /** Of the whole run, those before a resume included. */
    readonly seconds: number;
    readonly phases: PhaseTimings;
    readonly hooks: readonly HookTiming[];
  };
  /** Hooks that failed without stopping the run (`onFailure: "warn"` or `"disable"`): how often, and the last cause. */
  readonly hookFailures: readonly HookFailure[];
  /** The failure, where the outcome is failed. */
  readonly error: unknown;
}

/**
 * Trains: has the task do its work in order, and runs hooks at the events between. It knows nothing of networks,
 * environments, files or logs.
 *
 * ```
 * new Trainer   run = config, task, random streams, progress, hooks, context       run.ts
 * train()       the hooks' plan is checked, signals are caught, the task begins
 *               onTrainingStart: a checkpoint may be restored here
 *               the loop over epochs                                               training-loop.ts
 *               the last validation, metrics, hooks in the background
 *               onError where something failed, onTrainingEnd, the result
 * ```
 *
 * @example
 * ```ts
 * const trainer = new Trainer({ task, config: { epochs: 10 }, hooks: [myHook] });
 * const { outcome, metrics } = await trainer.train();
 * ```
 */
export class Trainer extends HostOfHooks<TrainerEvents, TrainerHook> {
  readonly #run: Run;
  #used = false;
  #begun: Promise<void> | undefined;
  #result: TrainingResult | undefined;

  constructor(options: TrainerOptions) {
    super();
    checkNames("Trainer", options, ["task", "config", "hooks", "clock", "logger", "warn", "ranks"]);
    this.#run = new Run(options);
  }

  get config(): TrainingConfig {
    return this.#run.config;
  }
  get hooks(): HookManager<TrainerEvents> {
    return this.#run.hooks;
  }
  /** Everything that belongs to the run's state, by name. Restore it before `train` or in `onTrainingStart`. */
  get components(): Readonly<Record<string, Stateful>> {
    return componentsOf(this.#run);
  }
  /** Settings that a run that resumes this one must share with it. */
  get settings(): Settings {
    return settingsOf(this.#run);
  }
  /** The result, once the run has ended; also where it failed. */
  get result(): TrainingResult | undefined {
    return this.#result;
  }

  override registerHook(hook: TrainerHook): void {
    this.#run.register(hook);
  }
  async runHooks(event: TrainerEvent): Promise<HookResults | undefined> {
    const { context } = this.#run;
    const { since, values } = context;
    try {
      return await this.#run.emit(event);
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
   * Pauses the run after the work under way, as a signal does: it ends as interrupted, without a last validation, and one
   * that is resumed from its checkpoint goes on exactly there.
   */
  interrupt(reason: string): void {
    this.#run.ending.interrupt(reason);
  }

  /**
   * Trains to the end: once a trainer. Resolves with the result of a run that was completed, stopped or interrupted;
   * rejects with the failure, after `onError` and `onTrainingEnd`.
   */
  async train(): Promise<TrainingResult> {
    if (this.#used)
      throw new EspalierError("TRAINER_USED", "this trainer has trained already", {
        fix: "make a new Trainer; to go on from here, restore this one's components into it",
      });
    this.#used = true;
    const run = this.#run;
    const { ending, hooks, progress, config } = run;
    const signals = config.handleSignals
      ? catchSignals(
          (signal, code) => ending.interrupt(`interrupted by ${signal}`, code),
          (signal) => ending.abort(signal),
        )
      : undefined;
    try {
      try {
        hooks.check();
        await this.#begin();
      } catch (error) {
        ending.fail(error);
        await ending.attempt(() => hooks.close());
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

  /**
   * Validates with the parameters as they are now, without training: before, while or after it trains. No hook hears of
   * it, and the run's state stays as it is; a task that has not begun begins, as it would in `train`.
   *
   * @example
   * ```ts
   * await resumeTrainer(trainer, "runs/mnist");
   * const { accuracy } = await trainer.validate();
   * ```
   */
  async validate(): Promise<Readonly<Record<string, number>>> {
    const { task, progress, ending } = this.#run;
    if (!task.validate)
      throw new EspalierError("VALIDATION_MISSING", "the task has no validation data", {
        fix: "give it some: supervisedTask({ validation }), train({ valData }), languageTask({ examples })",
      });
    await this.#begin();
    try {
      return await task.validate({ counters: progress.counters, signal: ending.signal });
    } catch (cause) {
      throw taskFailed("validate", progress.counters, cause);
    }
  }

  #begin(): Promise<void> {
    const { task, config, random, warn, ranks } = this.#run;
    this.#begun ??= (async () => task.begin?.({ config, random, warn, ranks }))();
    return this.#begun;
  }

  async #toTheEnd(): Promise<TrainingResult> {
    const run = this.#run;
    const { ending, hooks } = run;
    let metrics: TrainingResult["metrics"] = {};
    try {
      await run.emit("onTrainingStart");
      checkValidation(run);
      this.#staysEnded();
      await new TrainingLoop(run).run();
      await validateAtEnd(run);
      await hooks.settle();
      await run.finite.look();
      // Failures on the device come to light here, before the run can look completed.
      metrics = await run.metrics.reader()();
      await run.task.end?.();
      if (ending.outcome === "stopped") run.progress.stop(ending.reason);
    } catch (error) {
      ending.fail(await run.finite.cause(error, run.progress, () => hooks.settle()));
      run.pass(run.ahead); // The failure is where hooks see the run.
      await ending.attempt(() => run.emit("onError"));
      await ending.attempt(() => hooks.settle());
    }
    ending.decide();
    await ending.attempt(() => run.emit("onTrainingEnd"));
    await ending.attempt(() => hooks.close());
    return this.#resultWith(metrics);
  }

  /** A run that was stopped or completed, and that is started again from its end, has nothing left to do. */
  #staysEnded(): void {
    const { progress, ending, warn, config } = this.#run;
    const { stopped, counters } = progress;
    if (stopped === undefined && counters.epochs > 0 && counters.epochs >= config.epochs)
      warn(
        `this run has completed ${counters.epochs} epochs already, of ${config.epochs}, so that nothing is trained; ` +
          "give more epochs, or another directory to train from the beginning",
      );
    if (stopped === undefined) return;
    ending.stop(stopped);
    warn(
      `this run was stopped after ${counters.updates} updates (${stopped}) and stays ended; to go on anyway, resume it with ` +
        'allow: ["stopped"], as in checkpointHook({ directory, allow: ["stopped"] })',
    );
  }

  #resultWith(metrics: TrainingResult["metrics"]): TrainingResult {
    const { progress, ending, timings, hooks, config, clock } = this.#run;
    return {
      run: config.name,
      outcome: ending.outcome ?? "completed",
      reason: ending.reason,
      counters: progress.counters,
      metrics,
      validation: progress.validation,
      timings: {
        seconds: progress.secondsAt(clock.now()),
        phases: timings.read(),
        hooks: hooks.timings(),
      },
      hookFailures: hooks.failures(),
      error: ending.error,
    };
  }
}
