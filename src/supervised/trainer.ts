import {
  checkpointHook,
  isOnS3,
  openCheckpoint,
  type ResumeOptions,
  resumeTrainer,
} from "../checkpoint/index.ts";
import {
  badOption,
  checkNames,
  checkOptions,
  EspalierError,
  isPlainObject,
  node,
  type Options,
  option,
} from "../core/index.ts";
import { Dataset, type Transform } from "../data/index.ts";
import type { Value } from "../engine/index.ts";
import type { Slot } from "../hooks/index.ts";
import type { MonitorOptions } from "../learner/index.ts";
import {
  consoleSink,
  gradientMonitor,
  jsonlSink,
  Logger,
  metricsHook,
  tensorBoardSink,
  withProgress,
} from "../metrics/index.ts";
import type { Model } from "../nn/index.ts";
import { adam, adamw, chain, clipByGlobalNorm, type Optimizer, skipNonFinite } from "../optim/index.ts";
import type { StateTree } from "../state/index.ts";
import {
  type Frozen,
  gradientHealth,
  latestCheckpoint,
  latestMetrics,
  Trainer,
  type TrainerHook,
  type TrainerOptions,
  type TrainingConfig,
  type TrainingResult,
  withoutStop,
} from "../trainer/index.ts";
import { after, isStreamed, loading, sampleOf } from "./feed.ts";
import type { Metrics } from "./metrics.ts";
import type { LossInput, TargetsOf } from "./objective.ts";
import {
  type AnyOptions,
  anything,
  commonOptions,
  commonRows,
  coreConfig,
  type StreamedData,
  type StreamedOptions,
  type SupervisedConfig,
  type SupervisedData,
  type SupervisedOptions,
  supervisedConfig,
  taskFields,
} from "./options.ts";
import { fallbackStrategy, type LossStrategy, strategyOf, type TaskSpecOptions } from "./strategies.ts";
import { type SupervisedTask, supervisedTask } from "./task.ts";
import { confusionMatrixHook, isTable, validationTables } from "./tracker.ts";

const parts = {
  /** A `checkpointHook` in the directory, which also goes on from what is there. Default: true. */
  checkpoints: option.flag({}),
  /** A `metricsHook` that writes to the console, to `metrics.jsonl` and to `tensorboard/` in it. Default: true. */
  metrics: option.flag({}),
  /** A `gradientMonitor`, and the norms that it needs. Default: true. */
  gradients: option.flag({}),
};

const table = {
  ...commonRows,
  /** One plain object for trainer and task; see `supervisedConfig`. */
  trainingConfig: anything<Partial<SupervisedConfig>>("an object such as { epochs: 10, batchSize: 32 }"),
  hooks: option.made<TrainerHook | readonly TrainerHook[]>(
    "a hook, or a list of hooks",
    (value) => [value].flat().every((hook) => typeof hook === "object" && hook !== null),
    {},
  ),
  /**
   * A directory for the run, and what most runs need with it: checkpoints, from which the run goes on when it is
   * started again; metrics on the console, in `metrics.jsonl` and for TensorBoard; a gradient monitor. A checkpoint,
   * metrics or gradient hook among `hooks` takes the place of that part.
   */
  checkpointDir: option.made<string>(
    'a directory of this machine, such as "runs/mnist"; checkpoints alone go to S3 by hooks: checkpointHook({ directory })',
    (value) => typeof value === "string" && value.trim() !== "" && !isOnS3(value),
    {},
  ),
  /** The parts that `checkpointDir` sets up. Default: all. */
  automatic: option.group<Options<typeof parts>>(parts, {}),
  /** The kind of task. Default, without a loss: the targets decide, whole numbers are classes. */
  taskSpec: anything<TaskSpecOptions>('an object such as { modality: "vision" }'),
  /**
   * Turns the rows of the datasets that are given into examples. It is fitted to the training rows, once, and kept as
   * the component `transform`.
   */
  transform: anything<Transform<unknown>>("a transform, such as columns({ x, y })"),
  /** Options of every run's {@link Trainer}. */
  logger: anything<NonNullable<TrainerOptions["logger"]>>("a logger"),
  ranks: anything<NonNullable<TrainerOptions["ranks"]>>("ranks of trainOnRanks"),
  clock: anything<NonNullable<TrainerOptions["clock"]>>("a clock"),
  warn: anything<NonNullable<TrainerOptions["warn"]>>("a function"),
};

/** Options of {@link supervisedTrainer}. */
export interface SupervisedTrainerOptions<X = Value, Y = Value, O = Value>
  extends Omit<Options<typeof table>, "model" | "optimizer" | "loss" | "metrics"> {
  readonly model: Model<X, O>;
  /** Default: the one that the configuration describes. */
  readonly optimizer?: Optimizer | undefined;
  /** Default: that of the kind of task. */
  readonly loss?: LossInput<NoInfer<O>, Y, NoInfer<X>>;
  readonly metrics?: Metrics<NoInfer<O>, TargetsOf<NoInfer<Y>>>;
}

/** Inputs of one run of a {@link SupervisedTrainer}. */
export interface TrainInputs {
  /** Arrays, which stay on the device; or a dataset of examples, or a loader, which are streamed. */
  readonly trainData: SupervisedData | StreamedData | Dataset<unknown>;
  readonly valData?: SupervisedData | StreamedData | Dataset<unknown> | undefined;
  /** Goes on from the state of an earlier run: a checkpoint's path, a run directory, or states in memory. */
  readonly resumeFrom?: ResumeFrom | string | URL;
  /** The part of a checkpoint that is restored, and differences that are accepted. Default: all of it, and none. */
  readonly resume?: Pick<ResumeOptions, "mode" | "allow">;
  /**
   * Shows progress. Default: on a terminal, except where a hook logs metrics or there is a logger; with `checkpointDir`
   * everywhere, by the metrics that it sets up.
   */
  readonly progress?: boolean;
}

/** Inputs of `validate` and `test` of a {@link SupervisedTrainer}. */
export interface TestInputs {
  readonly data: SupervisedData | StreamedData | Dataset<unknown>;
  /** The parameters: a checkpoint's path, or a run directory, whose newest counts. Default: those of the last run. */
  readonly resumeFrom?: string | URL;
}

/** Trains a model on examples, once or again and again. Hooks are added to the run under way and to those that follow. */
export interface SupervisedTrainer<O = Value>
  extends Pick<Trainer, "registerHook" | "addHook" | "unregisterHook" | "clearHooks" | "getHooks"> {
  readonly config: SupervisedConfig;
  /** Starts a new run, from the beginning or from `resumeFrom`. */
  train(inputs: TrainInputs): Promise<TrainingResult>;
  /** The options of a {@link Trainer} for a new run, for commands that train themselves; `config` counts before the trainer's. */
  setup(
    inputs: Pick<TrainInputs, "trainData" | "valData"> & { readonly config?: Partial<TrainingConfig> },
  ): Promise<TrainerOptions>;
  /**
   * Losses and metrics of the validation data of the last run, or of `data`, without training: no events, and all state
   * stays as it is. With `data` and `resumeFrom` there need be no run: parameters come from that checkpoint.
   */
  validate(inputs?: Partial<TestInputs>): Promise<Readonly<Record<string, number>>>;
  /** The same for a set of its own. */
  test(inputs: TestInputs): Promise<Readonly<Record<string, number>>>;
  /** The task of the last run: its parameters, `predict`. */
  readonly task: SupervisedTask<O>;
  /** The trainer of the last run. */
  readonly trainer: Trainer;
  /** All states of the last run as they are now, for `resumeFrom`. */
  state(): Promise<Readonly<Record<string, StateTree>>>;
  /** Ends the run under way after its batch. */
  stop(reason: string): void;
}

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
  checkOptions("supervisedTrainer", options, table);
  if (options.automatic !== undefined && options.checkpointDir === undefined)
    throw badOption(
      "supervisedTrainer",
      "automatic is given, and nothing is set up without checkpointDir",
      'give checkpointDir: "runs/mnist" too, or leave automatic out',
    );
  const ownConfig = supervisedConfig(options.trainingConfig);
  if (options.optimizer) checkOwnOptimizer(ownConfig);
  const strategy = options.taskSpec && strategyOf(options.taskSpec);
  const { logger, ranks, clock, warn, transform } = options;
  let hooks = options.hooks === undefined ? [] : ([options.hooks].flat() as readonly TrainerHook[]);
  type Begun = { readonly task: SupervisedTask<O>; readonly trainer: Trainer };
  type Parts = TrainerOptions & { readonly task: SupervisedTask<O> };
  let last: Begun | undefined;

  const partsOf = (
    inputs: TrainInputs,
    given?: readonly TrainerHook[],
    config = ownConfig,
  ): Parts | Promise<Parts> => {
    const { valData, progress } = inputs;
    const metrics: object = options.metrics ?? strategy?.metrics ?? {};
    const tables = valData !== undefined && Object.values(metrics).some(isTable);
    const { hooks: all, monitor } = given
      ? { hooks: given, monitor: options.monitor }
      : withAutomatic(hooks, options, progress ?? logger === undefined, tables);
    const taskOf = ({ data, validation }: RunData, found: LossStrategy | undefined) =>
      supervisedTask<X, Y, O>({
        ...commonOptions(options),
        ...taskFields(config),
        ...lossParts(options, found),
        transform,
        monitor,
        data,
        validation,
        optimizer: options.optimizer ?? optimizerOf(config),
        // An optimizer of the caller's keeps its own rate where the configuration names none.
        ...((!options.optimizer || options.trainingConfig?.learningRate !== undefined) && {
          learningRate: config.learningRate,
        }),
        empty: config.onEmpty === "finish" ? "skip" : "error",
        // The overloads tell data that is streamed by its type.
      } as StreamedOptions<X, Y, O>) as SupervisedTask<O> | Promise<SupervisedTask<O>>;
    const optionsOf = (task: SupervisedTask<O>): Parts => ({
      task,
      config: coreConfig(config),
      hooks: withProgress(all, logger ? (progress ?? false) : progress),
      ...(logger && { logger }),
      ...(ranks && { ranks }),
      ...(clock && { clock }),
      ...(warn && { warn }),
    });
    const task = after(runData(inputs, transform), (run) =>
      after(strategy || options.loss ? strategy : kindOf(run.data, config), (found) => taskOf(run, found)),
    );
    return after(task, optionsOf);
  };
  /** At once where the data is arrays, so that the run can be stopped from then on. */
  const start = (inputs: TrainInputs, given?: readonly TrainerHook[]): Begun | Promise<Begun> =>
    after(partsOf(inputs, given), (parts) => ({ task: parts.task, trainer: new Trainer(parts) }));
  const run = () => {
    if (last) return last;
    throw new EspalierError("NOT_TRAINED", "supervisedTrainer: there has been no run yet", {
      fix: "call train({ trainData }) first",
    });
  };

  const test = async ({ data, resumeFrom }: TestInputs) => {
    if (resumeFrom === undefined) {
      const { task, trainer } = run();
      return task.test(await examplesOf(data, transform), trainer.result?.counters);
    }
    if (transform && !transform.fitted) {
      const checkpoint = await openCheckpoint(resumeFrom, warn);
      await transform.setState(await checkpoint.state("transform"));
    }
    const { task, trainer } = await start({ trainData: data, progress: false }, []);
    await restore(trainer, resumeFrom, {
      mode: "warmStart",
      parameters: task.model ?? ["params"],
      ...(warn && { warn }),
    });
    return task.test(await examplesOf(data, transform));
  };

  const underWay = (): Trainer | undefined =>
    last?.trainer.result === undefined ? last?.trainer : undefined;
  const registerHook = (hook: TrainerHook): void => {
    underWay()?.registerHook(hook);
    hooks = [...hooks, hook];
  };

  return {
    config: ownConfig,
    train: async (inputs) => {
      checkNames("train", inputs, ["trainData", "valData", "resumeFrom", "resume", "progress"]);
      const starting = start(inputs);
      last = starting instanceof Promise ? await starting : starting;
      const { trainer } = last;
      const { resumeFrom, resume } = inputs;
      // The main rank's state is sent to the others.
      if (resumeFrom !== undefined && (ranks?.rank ?? 0) === 0)
        await restore(trainer, resumeFrom, { ...resume, ...(warn && { warn }) });
      return trainer.train();
    },
    setup: async ({ config: more, ...inputs }) => {
      checkNames("setup", inputs, ["trainData", "valData"]);
      const config = supervisedConfig({ ...options.trainingConfig, ...more });
      return partsOf({ ...inputs, progress: false }, undefined, config);
    },
    validate: async (inputs = {}) => {
      checkNames("validate", inputs, ["data", "resumeFrom"]);
      const { data, resumeFrom } = inputs;
      if (data !== undefined) return test({ ...inputs, data });
      if (resumeFrom === undefined) return run().trainer.validate();
      throw badOption("validate", "resumeFrom is given without data", "give data: { x, y } too");
    },
    test: async (inputs) => {
      checkNames("test", inputs, ["data", "resumeFrom"]);
      return test(inputs);
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

/** A run's hooks with those that `checkpointDir` adds. A given hook that provides the same slot takes a part's place. */
function withAutomatic(
  hooks: readonly TrainerHook[],
  {
    checkpointDir,
    automatic = {},
    monitor,
  }: Pick<SupervisedTrainerOptions, "checkpointDir" | "automatic" | "monitor">,
  console: boolean,
  tables: boolean,
): { readonly hooks: readonly TrainerHook[]; readonly monitor: MonitorOptions | undefined } {
  const drawn = tables && !hooks.some(({ wants = [] }) => wants.includes(validationTables));
  const stream = console ? {} : { stream: false as const };
  if (checkpointDir === undefined)
    return { hooks: drawn ? [...hooks, confusionMatrixHook(stream)] : hooks, monitor };
  const { checkpoints = true, metrics = true, gradients = true } = automatic;
  const isFree = (slot: Slot): boolean => !hooks.some((hook) => doesProvide(hook, slot));
  const norms = gradients && monitor?.gradients !== false;
  const added: TrainerHook[] = [];
  if (metrics && isFree(latestMetrics))
    added.push(metricsHook({ logger: () => loggerIn(checkpointDir, console) }));
  if (drawn) added.push(confusionMatrixHook({ directory: checkpointDir, ...stream }));
  if (norms && isFree(gradientHealth)) added.push(gradientMonitor());
  if (checkpoints && isFree(latestCheckpoint)) added.push(checkpointHook({ directory: checkpointDir }));
  return { hooks: [...hooks, ...added], monitor: norms ? { gradients: true, ...monitor } : monitor };
}

const doesProvide = (
  { provides = [], children = [] }: Pick<TrainerHook, "provides" | "children">,
  slot: Slot,
): boolean => provides.includes(slot) || children.some((child) => doesProvide(child as TrainerHook, slot));

function loggerIn(directory: string, console: boolean): Logger {
  const files = [
    jsonlSink(node.path.join(directory, "metrics.jsonl")),
    tensorBoardSink(node.path.join(directory, "tensorboard")),
  ];
  return new Logger({ sinks: console ? [consoleSink(), ...files] : files });
}

/** The data of a run as examples. */
type RunData = Pick<AnyOptions, "data" | "validation">;

function runData(
  { trainData, valData }: TrainInputs,
  transform: Transform<unknown> | undefined,
): RunData | Promise<RunData> {
  const unfitted = transform && !transform.fitted && trainData instanceof Dataset;
  return after(unfitted ? transform.fit(trainData) : undefined, () => ({
    data: examplesOf(trainData, transform),
    validation: valData && examplesOf(valData, transform),
  }));
}

/**
 * The examples that a transform makes of rows. Rows without a transform are examples already; one that is none is an
 * error that names it.
 */
function examplesOf(
  data: TrainInputs["trainData"],
  transform: Transform<unknown> | undefined,
): SupervisedData | StreamedData {
  if (!transform) return data as SupervisedData | StreamedData;
  if (data instanceof Dataset) return data.transform(transform);
  throw new EspalierError("OPTION_INVALID", "supervisedTrainer: a transform needs rows to work on", {
    fix: 'give a dataset of rows, such as await csv("houses.csv").inMemory(), or leave transform out',
  });
}

/** The kind of task by the targets of its data, or of its first example. */
function kindOf(data: RunData["data"], config: SupervisedConfig): LossStrategy | Promise<LossStrategy> {
  const what = "supervisedTrainer";
  const known = isStreamed(data) ? sampleOf(what, loading(what, data, config)) : data;
  return after<Partial<SupervisedData> | undefined, LossStrategy>(known, (first) =>
    fallbackStrategy(first?.y),
  );
}

/** The caller's loss and metrics; otherwise those of the kind of task. */
function lossParts<X, Y, O>(
  { loss, metrics }: SupervisedTrainerOptions<X, Y, O>,
  found: LossStrategy | undefined,
) {
  const parts = {
    ...(found?.targets && { targets: found.targets }),
    loss: loss ?? found?.loss,
    metrics: metrics ?? (loss ? {} : (found?.metrics ?? {})),
  };
  // A strategy is of plain values: who chooses one has a model and targets of plain values.
  return parts as unknown as Pick<SupervisedOptions<X, Y, O>, "loss" | "metrics" | "targets">;
}

function optimizerOf(config: SupervisedConfig): Optimizer {
  const { learningRate, weightDecay, gradientClip, skipNonFinite: skip } = config;
  const rate = typeof learningRate === "number" ? { learningRate } : {};
  const step = weightDecay > 0 ? adamw({ ...rate, weightDecay }) : adam(rate);
  const clipped = Number.isFinite(gradientClip) ? chain(clipByGlobalNorm(gradientClip), step) : step;
  return skip ? skipNonFinite(clipped) : clipped;
}

/** What only the optimizer of the configuration does is not done by one of the caller's. */
function checkOwnOptimizer({ gradientClip, weightDecay }: SupervisedConfig): void {
  const [name, call] = Number.isFinite(gradientClip)
    ? ["gradientClip", `optim.chain(optim.clipByGlobalNorm(${gradientClip}), optimizer)`]
    : ["weightDecay", `optim.adamw({ weightDecay: ${weightDecay} })`];
  if (Number.isFinite(gradientClip) || weightDecay > 0)
    throw badOption(
      "supervisedTrainer",
      `trainingConfig has ${name}, and there is an optimizer, which would not follow it`,
      `let the optimizer do it, ${call}, or leave optimizer out`,
    );
}

/** The state of a run to go on from: states of all its components by name, alone or as a snapshot gives them. */
export type ResumeFrom = Frozen | Readonly<Record<string, StateTree>>;

/**
 * Restores a run: from files as `options` say; from states exactly, every component there is and no other. Of the
 * options `allow: ["stopped"]` counts there too.
 */
async function restore(
  trainer: Trainer,
  from: ResumeFrom | string | URL,
  options: ResumeOptions = {},
): Promise<void> {
  if (typeof from === "string" || from instanceof URL) {
    await resumeTrainer(trainer, from, options);
    return;
  }
  if (!isPlainObject(from))
    throw new EspalierError("STATE_INVALID", `resumeFrom is ${String(from)}, which is no state of a run`, {
      fix: "pass { components } or the components' states by name",
    });
  const { components } = trainer;
  const states = (isPlainObject(from.components) ? from.components : from) as Frozen["components"];
  const missing = Object.keys(components).filter((name) => !(name in states));
  const extra = Object.keys(states).filter((name) => !(name in components));
  if (missing.length > 0 || extra.length > 0)
    throw new EspalierError(
      "STATE_MISMATCH",
      `the state does not fit this run: it lacks ${missing.join(", ") || "nothing"}, and has besides ${extra.join(", ") || "nothing"}`,
      { fix: "resume with the same model, losses and hooks, or restore single components by hand" },
    );
  const goesOn = options.allow?.includes("stopped");
  for (const [name, component] of Object.entries(components)) {
    const state = states[name] as StateTree;
    await component.setState(goesOn && name === "trainer" ? withoutStop(state) : state);
  }
}
