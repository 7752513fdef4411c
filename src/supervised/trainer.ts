import type { ResumeOptions } from "../checkpoint/index.ts";
import { checkNames, EspalierError } from "../core/index.ts";
import type { Device, EngineChoice, Value } from "../engine/index.ts";
import type { MonitorOptions } from "../learner/index.ts";
import { withProgress } from "../metrics/index.ts";
import type { Model } from "../nn/index.ts";
import { adam, adamw, chain, clipByGlobalNorm, type Optimizer, skipNonFinite } from "../optim/index.ts";
import type { StateTree } from "../state/index.ts";
import { Trainer, type TrainerHook, type TrainerOptions, type TrainingResult } from "../trainer/index.ts";
import { type AutomaticParts, checkAutomatic, withAutomatic } from "./automatic-hooks.ts";
import { coreConfig, type SupervisedConfig, supervisedConfig } from "./config.ts";
import type { LossInput, Metrics, TargetsOf } from "./objective.ts";
import type { SupervisedData } from "./options.ts";
import { type ResumeFrom, restore } from "./restore.ts";
import { type SupervisedTask, supervisedTask } from "./task.ts";
import { fallbackStrategy, strategyOf, type TaskSpecOptions } from "./task-spec.ts";

/** Options of {@link supervisedTrainer}. */
export interface SupervisedTrainerOptions<X = Value, Y = Value, O = Value> {
  readonly model: Model<X, O>;
  /** One plain object for trainer and task; see `supervisedConfig`. */
  readonly trainingConfig?: Partial<SupervisedConfig>;
  readonly hooks?: TrainerHook | readonly TrainerHook[];
  /**
   * A directory for the run, and what most runs need with it: checkpoints, from which the run goes on when it is
   * started again; metrics on the console, in `metrics.jsonl` and for TensorBoard; a gradient monitor. A checkpoint,
   * metrics or gradient hook among `hooks` takes the place of that part.
   */
  readonly checkpointDir?: string;
  /** Which parts `checkpointDir` sets up. Default: all. */
  readonly automatic?: AutomaticParts;
  /** What kind of task it is. Without it and without a loss, the targets decide: whole numbers are classes. */
  readonly taskSpec?: TaskSpecOptions;
  /** Instead of the one that the configuration describes. */
  readonly optimizer?: Optimizer;
  /** Instead of the task's. */
  readonly loss?: LossInput<NoInfer<O>, Y, NoInfer<X>>;
  readonly metrics?: Metrics<NoInfer<O>, TargetsOf<NoInfer<Y>>>;
  /** What is reported of every update beside its losses and metrics. */
  readonly monitor?: MonitorOptions;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /** Handed to every run's trainer: where hooks' values go, the clock, who is told warnings. */
  readonly logger?: TrainerOptions["logger"];
  readonly clock?: TrainerOptions["clock"];
  readonly warn?: TrainerOptions["warn"];
}

/** What one run of a {@link SupervisedTrainer} is given. */
export interface TrainInputs {
  readonly trainData: SupervisedData;
  readonly valData?: SupervisedData;
  /** Goes on from the state of an earlier run: a checkpoint's path, a run directory, or states in memory. */
  readonly resumeFrom?: ResumeFrom | string | URL;
  /** How much of a checkpoint is taken over, and which differences are accepted. Default: all of it, and none. */
  readonly resume?: Pick<ResumeOptions, "mode" | "allow">;
  /**
   * Whether its progress is shown. Default: on a terminal, unless a hook logs metrics or there is a logger; with
   * `checkpointDir` everywhere, by the metrics that it sets up.
   */
  readonly progress?: boolean;
}

/** Trains a model on examples, once or again and again. */
export interface SupervisedTrainer<O = Value> {
  readonly config: SupervisedConfig;
  /** A new run: from the beginning, unless it resumes. */
  train(inputs: TrainInputs): Promise<TrainingResult>;
  /** The task of the last run: its parameters, `predict`. */
  readonly task: SupervisedTask<O>;
  /** The trainer of the last run. */
  readonly trainer: Trainer;
  /** All states of the last run as they are now, for `resumeFrom`. */
  state(): Promise<Readonly<Record<string, StateTree>>>;
  /** Ends the run under way after its batch. */
  stop(reason: string): void;
  /** Adds a hook, to the run under way and to those that follow. */
  registerHook(hook: TrainerHook): void;
  /** The same as `registerHook`. */
  addHook(hook: TrainerHook): void;
  /** False where there is no such hook. */
  unregisterHook(hook: TrainerHook | string): boolean;
  clearHooks(): void;
  getHooks(): readonly TrainerHook[];
}

const names = [
  "model",
  "trainingConfig",
  "hooks",
  "checkpointDir",
  "automatic",
  "taskSpec",
  "optimizer",
  "loss",
  "metrics",
  "monitor",
  "engine",
  "device",
  "logger",
  "clock",
  "warn",
];

/**
 * A trainer of models on examples, in one call: the task, the optimizer and the trainer from one configuration.
 *
 * @example
 * ```ts
 * const trainer = supervisedTrainer({
 *   model: nn.mlp({ hidden: [64], out: 3 }),
 *   trainingConfig: { epochs: 10, learningRate: 3e-3, batchSize: 32 },
 *   hooks: [myHook],
 * });
 * const { metrics, validation } = await trainer.train({ trainData: { x, y }, valData });
 * ```
 */
export function supervisedTrainer<X = Value, Y = Value, O = Value>(
  options: SupervisedTrainerOptions<X, Y, O>,
): SupervisedTrainer<O> {
  checkNames("supervisedTrainer", options, names);
  checkAutomatic(options);
  const config = supervisedConfig(options.trainingConfig);
  const strategy = options.taskSpec && strategyOf(options.taskSpec);
  let hooks = options.hooks === undefined ? [] : ([options.hooks].flat() as readonly TrainerHook[]);
  let last: { readonly task: SupervisedTask<O>; readonly trainer: Trainer } | undefined;

  const start = ({ trainData, valData, progress }: TrainInputs) => {
    const { model, engine, device, logger, clock, warn } = options;
    const all = withAutomatic(hooks, options, progress ?? logger === undefined);
    const { monitor } = all;
    const handed = { ...(logger && { logger }), ...(clock && { clock }), ...(warn && { warn }) };
    const { learningRate, batchSize, accumulate, shuffle, lastBatch, seed, deterministic } = config;
    const found = strategy ?? (options.loss ? undefined : fallbackStrategy(trainData?.y));
    const task = supervisedTask<X, Y, O>({
      ...{ model, data: trainData, batchSize, accumulate, shuffle, lastBatch, seed, deterministic },
      ...(found?.targets && { targets: found.targets as never }),
      optimizer: options.optimizer ?? optimizerOf(config),
      loss: options.loss ?? (found?.loss as never),
      metrics: options.metrics ?? (options.loss ? {} : ((found?.metrics ?? {}) as never)),
      ...(wantsRate(options.optimizer, options.trainingConfig) && { learningRate }),
      ...(valData && { validation: valData }),
      ...(monitor !== undefined && { monitor }),
      ...(engine !== undefined && { engine }),
      ...(device !== undefined && { device }),
      empty: config.onEmpty === "finish" ? "skip" : "error",
    });
    const shown = withProgress(all.hooks, logger ? (progress ?? false) : progress);
    return { task, trainer: new Trainer({ task, config: coreConfig(config), hooks: shown, ...handed }) };
  };
  const run = () => {
    if (last) return last;
    throw new EspalierError("NOT_TRAINED", "supervisedTrainer: there has been no run yet", {
      fix: "call train({ trainData }) first",
    });
  };

  const underWay = (): Trainer | undefined =>
    last?.trainer.result === undefined ? last?.trainer : undefined;
  const registerHook = (hook: TrainerHook): void => {
    underWay()?.registerHook(hook);
    hooks = [...hooks, hook];
  };

  return {
    config,
    train: async (inputs) => {
      checkNames("train", inputs, ["trainData", "valData", "resumeFrom", "resume", "progress"]);
      const begun = start(inputs);
      last = begun;
      const { resumeFrom, resume } = inputs;
      const { warn } = options;
      if (resumeFrom !== undefined)
        await restore(begun.trainer, resumeFrom, { ...resume, ...(warn && { warn }) });
      return begun.trainer.train();
    },
    get task() {
      return run().task;
    },
    get trainer() {
      return run().trainer;
    },
    state: async () => {
      const parts = Object.entries(run().trainer.components);
      const states = parts.map(async ([name, part]) => [name, await part.getState()] as const);
      return Object.fromEntries(await Promise.all(states));
    },
    stop: (reason) => run().trainer.stop(reason),
    registerHook,
    addHook: registerHook,
    unregisterHook: (hook) => {
      underWay()?.unregisterHook(hook);
      const before = hooks.length;
      hooks = hooks.filter((each) => each !== hook && each.name !== hook);
      return hooks.length < before;
    },
    clearHooks: () => {
      underWay()?.clearHooks();
      hooks = [];
    },
    getHooks: () => hooks,
  };
}

/** The optimizer that a configuration describes. */
function optimizerOf({
  learningRate,
  weightDecay,
  gradientClip,
  skipNonFinite: skip,
}: SupervisedConfig): Optimizer {
  const rate = typeof learningRate === "number" ? { learningRate } : {};
  const step = weightDecay > 0 ? adamw({ ...rate, weightDecay }) : adam(rate);
  const clipped = Number.isFinite(gradientClip) ? chain(clipByGlobalNorm(gradientClip), step) : step;
  return skip ? skipNonFinite(clipped) : clipped;
}

/** An optimizer of the caller's keeps its own rate, unless the configuration names one. */
const wantsRate = (optimizer: Optimizer | undefined, given: Partial<SupervisedConfig> | undefined): boolean =>
  optimizer === undefined || given?.learningRate !== undefined;
