import {
  checkOptions,
  EspalierError,
  isPlainObject,
  type Options,
  option,
  resolveOptions,
  type Settings,
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
import { devicesRow, monitorRow, type RateInputs } from "../learner/index.ts";
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

/** An option that is checked where it is used. */
export const anything = <T>(is: string) => option.made<T>(is, () => true, {});

type AnyLossInput = LossInput<unknown, ExampleTree<Value>, ExampleTree<Value>>;

/** Rows that the options of tasks and of trainers share. */
export const commonRows = {
  model: option.object<Model<ExampleTree<Value>, unknown>, { readonly required: true }>(
    "a model, such as nn.mlp({ hidden: [64], out: 3 })",
    ["init", "apply"],
    { required: true },
  ),
  optimizer: option.object<Optimizer>("an optimizer, such as optim.adam()", ["update"], {}),
  loss: option.made<AnyLossInput>(
    "a loss, such as nn.mse, or a list of losses",
    (value) => typeof value === "function" || (typeof value === "object" && value !== null),
    {},
  ),
  metrics: anything<Metrics<unknown, ExampleTree<Value>>>("metrics by name, such as { accuracy }"),
  /** Initial parameters: those of another model, say. Default: those that the model draws. */
  params: anything<Params<Tensor>>("parameters"),
  /** The tokenizer that made the tokens, kept as the component `tokenizer`: `loadModel` gives it back. */
  tokenizer: option.made<Tokenizer>(
    "a tokenizer with its recipe, such as byteTokenizer()",
    (value) => (value as Tokenizer | null)?.recipe !== undefined,
    {},
  ),
  /** Norms of gradients, parameters and updates that are reported beside losses and metrics. */
  monitor: monitorRow,
  engine: anything<EngineChoice>("an engine"),
  device: anything<number | Device>("a device"),
  /** Devices that train together, each on an equal part of every batch. Default: 1. */
  devices: devicesRow,
};

/** The options of a trainer that are options of its task, by the same names. */
export const commonOptions = (options: object) =>
  Object.fromEntries(Object.keys(commonRows).map((name) => [name, Reflect.get(options, name)]));

/** Rows of a task's options that the configuration of a run has too. */
const configRows = {
  /** Batches in an update, which is one repeat of the task. Default: 1. */
  accumulate: option.integer({ min: 1, default: 1 }),
  /**
   * The element type of activations and products on xla. Parameters, the optimizer, sums, softmax, norms and losses are
   * f32 either way. Default: "f32".
   */
  precision: option.oneOf(["f32", "bf16"], { default: "f32" }),
  /** A new order each epoch. Default: true. */
  shuffle: option.flag({ default: true }),
  /** Keeps examples that do not fill an update, as a smaller one, or drops them. Default: "keep". */
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
  /** Worker threads that load streamed examples, where they are no loader with its own. Default: 0. */
  workers: option.integer({ min: 0, max: 256, default: 0 }),
};

const table = {
  ...commonRows,
  ...configRows,
  optimizer: { ...commonRows.optimizer, required: true as const },
  loss: { ...commonRows.loss, required: true as const },
  data: anything<SupervisedData | StreamedData>(
    "{ x, y }: inputs and targets, or a dataset of such examples",
  ),
  /** Examples in a batch. Where there are fewer, all of them are one batch. */
  batchSize: option.integer({ min: 1, required: true }),
  validation: anything<SupervisedData | StreamedData>("{ x, y }: inputs and targets, or a dataset"),
  /** The optimizer's learning rate. Default: its own. */
  learningRate: anything<Ramp | number>("a number or a ramp"),
  /** Further rates of the optimizer. */
  rates: anything<RateInputs>("numbers and ramps by name"),
  targets:
    anything<(x: ExampleTree<Value>) => Batch<ExampleTree<Value>, ExampleTree<Value>>>(
      "a function of the inputs",
    ),
  /** The transform that made the examples of rows, kept as the component `transform`. */
  transform: anything<Stateful>("a transform, such as columns({ x, y })"),
  /** Without examples: an error, or epochs without batches. Default: "error". */
  empty: option.oneOf(["error", "skip"], { default: "error" }),
  /** The seed of initial parameters, orders and dropout. Default: the trainer's. */
  seed: anything<number>("a whole number"),
  /** Instead of a seed, shared with others: the streams `params`, `data` and `dropout`. */
  streams: anything<RandomStreams>("random streams"),
  /** The most updates in one call. Default: 256, and 1 where convolutions would run in a loop on a CPU. */
  maxFuse: option.integer({ min: 1, default: 256 }),
  /** The same bits on every run where a device would not give them by itself. Default: the trainer's. */
  deterministic: option.flag({}),
};

/** The options without the types of inputs, targets and outputs, which matter to the caller alone. */
export interface AnyOptions extends Options<typeof table> {
  readonly data: SupervisedData | StreamedData;
}

/** Options of {@link supervisedTask}. */
export interface SupervisedOptions<X = Value, Y = Value, O = Value>
  extends Omit<AnyOptions, "model" | "loss" | "metrics" | "data" | "validation" | "targets"> {
  readonly model: Model<X, O>;
  readonly loss: LossInput<NoInfer<O>, Y, NoInfer<X>>;
  /** Numbers beside the loss, for training and validation. */
  readonly metrics?: Metrics<NoInfer<O>, TargetsOf<NoInfer<Y>>>;
  readonly data: SupervisedData;
  /** Held-out examples; without them the task does not validate. */
  readonly validation?: SupervisedData;
  /** Makes inputs and targets from the inputs alone: the next tokens of texts. */
  readonly targets?: (x: X) => Batch<X, Y>;
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

export function checkTaskOptions(kind: string, options: AnyOptions): void {
  checkOptions(kind, options, table);
}

const ramp = option.made<Ramp>("a ramp such as cosine({ ... })", isRamp, {});
const fields = {
  ...configRows,
  /** A number or a ramp. Default: 1e-3. */
  learningRate: option.either(option.number({ min: 0 }), ramp, { default: 1e-3 }),
  /** Examples in a batch. Default: 32. */
  batchSize: option.integer({ min: 1, default: 32 }),
  /** Gradients above this norm are scaled down. Default: Infinity, never. */
  gradientClip: option.number({ above: 0, infinite: true, default: Number.POSITIVE_INFINITY }),
  /** Weight decay of AdamW; 0 is plain Adam. Default: 0. */
  weightDecay: option.number({ min: 0, default: 0 }),
  /** Skips updates whose gradients are infinite or NaN. Default: true. */
  skipNonFinite: option.flag({ default: true }),
};

/** The configuration of a supervised run: the trainer's fields, and those of the task. */
export type SupervisedConfig = TrainingConfig & Settings<typeof fields>;

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
