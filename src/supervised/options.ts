import {
  checkOptions,
  EspalierError,
  isPlainObject,
  type OptionTable,
  option,
  resolveOptions,
} from "../core/index.ts";
import type {
  ArrayInput,
  ArrayTree,
  DataLoader,
  Dataset,
  Example,
  ExampleTree,
  Tokenizer,
} from "../data/index.ts";
import type { Device, EngineChoice, Tensor, Value } from "../engine/index.ts";
import {
  checkMonitor,
  type DevicesOption,
  devicesRow,
  type MonitorOptions,
  type RateInputs,
} from "../learner/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Optimizer } from "../optim/index.ts";
import type { RandomStreams } from "../random/index.ts";
import { isRamp, type Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import { type TrainingConfig, trainingConfig, trainingConfigTable } from "../trainer/index.ts";
import type { Metrics } from "./metrics.ts";
import type { Batch, LossInput, TargetsOf } from "./objective.ts";

/** Examples: inputs and targets with as many entries along their first axes. */
export interface SupervisedData {
  readonly x: ArrayTree;
  /** May be left out where `targets` makes them from the inputs. */
  readonly y?: ArrayTree;
  /**
   * How much each example counts in losses and metrics, from 0 on; or each part of one, such as tokens [examples, time].
   * Default: 1.
   */
  readonly weight?: ArrayInput;
}

/** Examples that are streamed: they are loaded while the device works, and need not fit its memory. */
export type StreamedData = Dataset<Example> | DataLoader;

/** Options of {@link supervisedTask}. */
export interface SupervisedOptions<X = Value, Y = Value, O = Value> {
  readonly model: Model<X, O>;
  readonly optimizer: Optimizer;
  readonly data: SupervisedData;
  readonly loss: LossInput<NoInfer<O>, Y, NoInfer<X>>;
  /** Examples in a batch. Where there are fewer, all of them are one batch. */
  readonly batchSize: number;
  /** Batches in an update, which is one repeat of the task. Default: 1. */
  readonly accumulate?: number;
  /** Held-out examples; without them the task does not validate. */
  readonly validation?: SupervisedData;
  /** Numbers beside the loss, for training and validation. */
  readonly metrics?: Metrics<NoInfer<O>, TargetsOf<NoInfer<Y>>>;
  /** The optimizer's learning rate. Default: its own. */
  readonly learningRate?: Ramp | number | undefined;
  /** Further rates of the optimizer. */
  readonly rates?: RateInputs;
  /** Makes inputs and targets from the inputs alone: the next tokens of texts. */
  readonly targets?: (x: X) => Batch<X, Y>;
  /** Worker threads that load streamed examples, where they are no loader with its own. Default: 0. */
  readonly workers?: number;
  /** The transform that made the examples of rows, kept as the component `transform`. */
  readonly transform?: Stateful | undefined;
  /** The tokenizer that made the tokens, kept as the component `tokenizer` for those who use the model. */
  readonly tokenizer?: Tokenizer | undefined;
  /**
   * The element type of activations and products on xla. Parameters, the optimizer, sums, softmax, norms and losses are
   * f32 either way. Default: "f32".
   */
  readonly precision?: "f32" | "bf16";
  /** Keeps examples that do not fill an update, as a smaller one, or drops them. Default: "keep". */
  readonly lastBatch?: "keep" | "drop";
  /** A new order each epoch. Default: true. */
  readonly shuffle?: boolean;
  /** Without examples: an error, or epochs without batches. Default: "error". */
  readonly empty?: "error" | "skip";
  /** The seed of initial parameters, orders and dropout. Default: the trainer's. */
  readonly seed?: number;
  /** Instead of a seed, shared with others: the streams `params`, `data` and `dropout`. */
  readonly streams?: RandomStreams;
  /** Initial parameters. Default: those that the model draws. */
  readonly params?: Params<Tensor> | undefined;
  /** Norms of gradients, parameters and updates that are reported beside losses and metrics. */
  readonly monitor?: MonitorOptions | undefined;
  /** The most updates in one call. Default: 256, and 1 where convolutions would run in a loop on a CPU. */
  readonly maxFuse?: number;
  readonly engine?: EngineChoice | undefined;
  readonly device?: number | Device | undefined;
  /** Devices that train together, each on an equal part of every batch. Default: 1. */
  readonly devices?: DevicesOption | undefined;
  /** The same bits on every run where a device would not give them by itself. Default: the trainer's. */
  readonly deterministic?: boolean;
}

/** Options of {@link supervisedTask} where examples are streamed: those to train on, to validate on, or both. */
export type StreamedOptions<X = Value, Y = Value, O = Value> = Omit<
  SupervisedOptions<X, Y, O>,
  "data" | "validation"
> &
  (
    | { readonly data: StreamedData; readonly validation?: SupervisedData | StreamedData }
    | { readonly data: SupervisedData; readonly validation: StreamedData }
  );

/** The options without the types of inputs, targets and outputs, which matter to the caller alone. */
export interface AnyOptions
  extends Omit<
    SupervisedOptions<ExampleTree<Value>, ExampleTree<Value>, unknown>,
    "metrics" | "data" | "validation"
  > {
  readonly data: SupervisedData | StreamedData;
  readonly validation?: SupervisedData | StreamedData;
  readonly metrics?: Metrics<unknown, ExampleTree<Value>>;
}

/** An option that is checked where it is used. */
export const anything = <T>(is: string) => option.made<T>(is, () => true, {});

const has = (name: string) => (value: unknown) =>
  typeof (value as Readonly<Record<string, unknown>> | null)?.[name] === "function";

/** Rows that the options of tasks and of trainers share. */
export const commonRows = {
  model: option.made<AnyOptions["model"], { readonly required: true }>(
    "a model, such as nn.mlp({ hidden: [64], out: 3 })",
    has("apply"),
    { required: true },
  ),
  optimizer: option.made<Optimizer>("an optimizer, such as optim.adam()", has("update"), {}),
  loss: anything<AnyOptions["loss"]>("a loss, such as nn.mse, or a list of losses"),
  metrics: anything<Metrics<unknown, ExampleTree<Value>>>("metrics by name, such as { accuracy }"),
  params: anything<Params<Tensor>>("parameters"),
  tokenizer: option.made<Tokenizer>(
    "a tokenizer with its recipe, such as byteTokenizer()",
    (value) => (value as Tokenizer | null)?.recipe !== undefined,
    {},
  ),
  monitor: anything<MonitorOptions>("{ gradients: true }"),
  engine: anything<EngineChoice>("an engine"),
  device: anything<number | Device>("a device"),
  devices: devicesRow,
};

/** Rows of a task's options that the configuration of a run has too. */
const configRows = {
  accumulate: option.integer({ min: 1, default: 1 }),
  precision: option.oneOf(["f32", "bf16"], { default: "f32" }),
  shuffle: option.flag({ default: true }),
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
  workers: option.integer({ min: 0, max: 256, default: 0 }),
};

const table = {
  ...commonRows,
  ...configRows,
  optimizer: { ...commonRows.optimizer, required: true },
  loss: option.made<AnyOptions["loss"], { readonly required: true }>(
    commonRows.loss.is,
    (value) => typeof value === "function" || (typeof value === "object" && value !== null),
    { required: true },
  ),
  data: anything<AnyOptions["data"]>("{ x, y }: inputs and targets, or a dataset of such examples"),
  batchSize: option.integer({ min: 1, required: true }),
  validation: anything<AnyOptions["data"]>("{ x, y }: inputs and targets, or a dataset"),
  learningRate: anything<Ramp | number>("a number or a ramp"),
  rates: anything<RateInputs>("numbers and ramps by name"),
  targets: anything<NonNullable<AnyOptions["targets"]>>("a function of the inputs"),
  transform: anything<Stateful>("a transform, such as columns({ x, y })"),
  empty: option.oneOf(["error", "skip"], { default: "error" }),
  seed: anything<number>("a whole number"),
  streams: anything<RandomStreams>("random streams"),
  maxFuse: option.integer({ min: 1, default: 256 }),
  deterministic: option.flag({}),
} satisfies OptionTable<AnyOptions>;

/** Refuses unknown options and bad values. */
export function checkTaskOptions(kind: string, options: AnyOptions): void {
  checkOptions(kind, options, table);
  checkMonitor(kind, options.monitor ?? {});
}

/** The fields of a supervised run's configuration beside those of {@link TrainingConfig}. */
export interface SupervisedFields extends Required<Pick<SupervisedOptions, keyof typeof configRows>> {
  /** A number or a ramp. Default: 1e-3. */
  readonly learningRate: number | Ramp;
  /** Examples in a batch. Default: 32. */
  readonly batchSize: number;
  /** Gradients above this norm are scaled down. Default: Infinity, never. */
  readonly gradientClip: number;
  /** Weight decay of AdamW; 0 is plain Adam. Default: 0. */
  readonly weightDecay: number;
  /** Skips updates whose gradients are infinite or NaN. Default: true. */
  readonly skipNonFinite: boolean;
}

/** The configuration of a supervised run: the trainer's fields, and those of the task. */
export type SupervisedConfig = TrainingConfig & SupervisedFields;

const ramp = option.made<Ramp>("a ramp such as cosine({ ... })", isRamp, {});
const fields = {
  ...configRows,
  learningRate: option.either(option.number({ min: 0 }), ramp, { default: 1e-3 }),
  batchSize: option.integer({ min: 1, default: 32 }),
  gradientClip: option.number({ above: 0, infinite: true, default: Number.POSITIVE_INFINITY }),
  weightDecay: option.number({ min: 0, default: 0 }),
  skipNonFinite: option.flag({ default: true }),
} satisfies OptionTable<SupervisedFields>;

/**
 * Completes and checks the configuration of a supervised run: one object for the trainer and the task, whose fields
 * may also be getters or come from its class.
 *
 * @example
 * ```ts
 * const config = supervisedConfig({ epochs: 10, learningRate: 3e-4, batchSize: 64, gradientClip: 1 });
 * ```
 */
export function supervisedConfig(given: Partial<SupervisedConfig> = {}): SupervisedConfig {
  if (isPlainObject(given) && "checkpointDir" in given)
    throw new EspalierError("CONFIG_UNKNOWN", 'the training config has no field "checkpointDir"', {
      fix: "give it beside the training config: supervisedTrainer({ checkpointDir, trainingConfig })",
    });
  const config: SupervisedConfig = resolveOptions(
    "the training config",
    given,
    { ...trainingConfigTable, ...fields },
    { unknown: "CONFIG_UNKNOWN", invalid: "CONFIG_INVALID" },
  );
  return Object.freeze({ ...config, ...trainingConfig(coreConfig(config)) });
}

/** The part of a configuration that the trainer itself knows. */
export const coreConfig = (config: SupervisedConfig): Partial<TrainingConfig> =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !(name in fields)));

/** The part of a configuration that are options of the task, by the same names. */
export function taskFields(config: SupervisedConfig) {
  const names = [
    ...(Object.keys(configRows) as (keyof typeof configRows)[]),
    "batchSize",
    "seed",
    "deterministic",
  ] as const;
  return Object.fromEntries(names.map((name) => [name, config[name]])) as Pick<
    SupervisedConfig,
    (typeof names)[number]
  >;
}
