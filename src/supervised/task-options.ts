import { checkNames, checkSize, checkWord } from "../core/index.ts";
import type { ArrayTree, TensorTree } from "../data/index.ts";
import type { Device, EngineChoice, Tensor, Value } from "../engine/index.ts";
import { checkMonitor, type MonitorOptions, type RateInputs } from "../learner/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Optimizer } from "../optim/index.ts";
import type { RandomStreams } from "../random/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { Batch } from "./batch.ts";
import type { LossInput, Metrics, TargetsOf } from "./objective.ts";

/** Examples: inputs and targets with as many entries along their first axes. */
export interface SupervisedData {
  readonly x: ArrayTree;
  /** May be left out where `targets` makes them from the inputs. */
  readonly y?: ArrayTree;
}

/** What a supervised task is made of. */
export interface SupervisedOptions<X = Value, Y = Value, O = Value> {
  readonly model: Model<X, O>;
  readonly optimizer: Optimizer;
  readonly data: SupervisedData;
  readonly loss: LossInput<NoInfer<O>, Y, NoInfer<X>>;
  /** How many examples a batch has. Where there are fewer, all of them are one batch. */
  readonly batchSize: number;
  /** How many batches make one update; 1 unless told. A repeat of the task is one update. */
  readonly accumulate?: number;
  /** Held-out examples; without them the task does not validate. */
  readonly validation?: SupervisedData;
  /** Numbers beside the loss, for training and validation. */
  readonly metrics?: Metrics<NoInfer<O>, TargetsOf<NoInfer<Y>>>;
  /** The optimizer's learning rate, changing or not; its own unless told. */
  readonly learningRate?: Ramp | number;
  /** Others of its rates. */
  readonly rates?: RateInputs;
  /** Makes inputs and targets of the inputs alone: the next tokens of texts. */
  readonly targets?: (x: X) => Batch<X, Y>;
  /** What becomes of examples that do not fill an update; kept as a smaller one unless told. */
  readonly lastBatch?: "keep" | "drop";
  /** A new order each epoch; true unless told. */
  readonly shuffle?: boolean;
  /** What happens without examples: an error unless told; `skip` makes epochs without batches. */
  readonly empty?: "error" | "skip";
  /** Where initial parameters, orders and dropout come from; the trainer's seed unless told. */
  readonly seed?: number;
  /** The same, shared with others: the streams `params`, `data` and `dropout`. */
  readonly streams?: RandomStreams;
  /** Parameters to start with, instead of those the model draws. */
  readonly params?: Params<Tensor>;
  /** What is reported of every update beside its losses and metrics: norms of gradients, parameters and updates. */
  readonly monitor?: MonitorOptions;
  /** The most updates in one call; 256 unless told, and 1 where convolutions would run in a loop on a CPU. */
  readonly maxFuse?: number;
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
  /** The same bits on every run where a device would not give them by itself. */
  readonly deterministic?: boolean;
}

const names = [
  ...[
    "model",
    "optimizer",
    "data",
    "loss",
    "batchSize",
    "accumulate",
    "validation",
    "metrics",
    "learningRate",
  ],
  ...["rates", "targets", "lastBatch", "shuffle", "empty", "seed", "streams", "params", "monitor", "maxFuse"],
  ...["engine", "device", "deterministic"],
];

/** Refuses what cannot be meant. Undefined counts as not given. */
export function checkTaskOptions(kind: string, options: SupervisedOptions<never, never, never>): void {
  checkNames(kind, options, names);
  checkSize(kind, "batchSize", options.batchSize);
  checkSize(kind, "accumulate", options.accumulate ?? 1);
  checkSize(kind, "maxFuse", options.maxFuse ?? 1);
  checkWord(kind, "lastBatch", options.lastBatch ?? "keep", ["keep", "drop"]);
  checkWord(kind, "empty", options.empty ?? "error", ["error", "skip"]);
  checkMonitor(kind, options.monitor ?? {});
}

/** Examples where the task computes. */
export interface PlacedData {
  readonly x: TensorTree;
  readonly y?: TensorTree;
}
