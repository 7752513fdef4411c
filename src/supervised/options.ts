import { checkOptions, type OptionTable, option } from "../core/index.ts";
import type { ArrayInput, ArrayTree, DataLoader, Dataset, Example, ExampleTree } from "../data/index.ts";
import type { Device, EngineChoice, Tensor, Value } from "../engine/index.ts";
import { checkMonitor, type MonitorOptions, type RateInputs } from "../learner/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Optimizer } from "../optim/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
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
  readonly learningRate?: Ramp | number;
  /** Further rates of the optimizer. */
  readonly rates?: RateInputs;
  /** Makes inputs and targets from the inputs alone: the next tokens of texts. */
  readonly targets?: (x: X) => Batch<X, Y>;
  /** Worker threads that load streamed examples, where they are no loader with its own. Default: 0. */
  readonly workers?: number;
  /** The transform that made the examples of rows, kept as the component `transform`. */
  readonly transform?: Stateful;
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
  readonly params?: Params<Tensor>;
  /** Norms of gradients, parameters and updates that are reported beside losses and metrics. */
  readonly monitor?: MonitorOptions;
  /** The most updates in one call. Default: 256, and 1 where convolutions would run in a loop on a CPU. */
  readonly maxFuse?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
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

const table = {
  model: anything<AnyOptions["model"]>("a model, such as nn.mlp({ hidden: [64], out: 3 })"),
  optimizer: anything<Optimizer>("an optimizer, such as optim.adam()"),
  data: anything<AnyOptions["data"]>("{ x, y }: inputs and targets, or a dataset of such examples"),
  loss: anything<AnyOptions["loss"]>("a loss, such as nn.mse, or a list of losses"),
  batchSize: option.integer({ min: 1, required: true }),
  accumulate: option.integer({ min: 1, default: 1 }),
  validation: anything<AnyOptions["data"]>("{ x, y }: inputs and targets, or a dataset"),
  metrics: anything<Metrics<unknown, ExampleTree<Value>>>("metrics by name, such as { accuracy }"),
  learningRate: anything<Ramp | number>("a number or a ramp"),
  rates: anything<RateInputs>("numbers and ramps by name"),
  targets: anything<NonNullable<AnyOptions["targets"]>>("a function of the inputs"),
  workers: option.integer({ min: 0, max: 256, default: 0 }),
  transform: anything<Stateful>("a transform, such as columns({ x, y })"),
  precision: option.oneOf(["f32", "bf16"], { default: "f32" }),
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
  shuffle: option.flag({ default: true }),
  empty: option.oneOf(["error", "skip"], { default: "error" }),
  seed: anything<number>("a whole number"),
  streams: anything<RandomStreams>("random streams"),
  params: anything<Params<Tensor>>("parameters"),
  monitor: anything<MonitorOptions>("{ gradients: true }"),
  maxFuse: option.integer({ min: 1, default: 256 }),
  engine: anything<EngineChoice>("an engine"),
  device: anything<number | Device>("a device"),
  deterministic: option.flag({}),
} satisfies OptionTable<AnyOptions>;

/** Refuses unknown options and bad values. */
export function checkTaskOptions(kind: string, options: AnyOptions): void {
  checkOptions(kind, options, table);
  checkMonitor(kind, options.monitor ?? {});
}
