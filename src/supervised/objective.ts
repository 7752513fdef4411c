import { EspalierError, shown } from "../core/index.ts";
import type { ExampleTree } from "../data/index.ts";
import { np, Value, type ValueLike } from "../engine/index.ts";
import { type Loss, objective as lossesObjective } from "../losses/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Adds, Counters, Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Settings } from "../trainer/index.ts";

/** Inputs and targets, of values while tracing; each may be a tree. */
export interface Batch<X = unknown, Y = unknown> {
  readonly x: X;
  readonly y: Y;
}

/** A loss as a plain function of the model's outputs and the targets: one number, the mean over the examples. */
export type SupervisedLoss<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

/** A number about a batch: the mean over its examples, so that batches of different sizes can be joined. */
export type Metric<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

/** Metrics by name. */
export type Metrics<O = Value, Y = Value> = Readonly<Record<string, Metric<O, Y>>>;

/** Targets as a metric gets them, where a loss takes more than values, such as plain numbers. */
export type TargetsOf<Y> = Value extends Y ? Value : Y;

/** The minimised quantity: a function, or losses with weights and schedules, whose batch is `{ x, y }`. */
export type LossInput<O = Value, Y = Value, X = Value> =
  | SupervisedLoss<O, Y>
  | Loss<Batch<X, Y>, O>
  | readonly (SupervisedLoss<O, Y> | Loss<Batch<X, Y>, O>)[];

/** A batch whose inputs and targets are any trees of values. */
export type AnyBatch = Batch<ExampleTree<Value>, ExampleTree<Value>>;
type AnyLoss = SupervisedLoss<unknown, ExampleTree<Value>> | Loss<AnyBatch, unknown>;

export interface ObjectiveInputs {
  readonly params: Params;
  readonly batch: AnyBatch;
  readonly train: boolean;
  /** A key of this batch alone; none while validating. */
  readonly key?: Value;
  /** Values of the objective's ramps by name. */
  readonly ramps: Readonly<Record<string, ValueLike>>;
}

/** A forward pass with its losses and metrics. Which losses are active may change from batch to batch. */
export interface SupervisedObjective {
  /** Weights that change over time. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  readonly components: Readonly<Record<string, Stateful>>;
  readonly hooks: readonly { readonly name: string }[];
  /** All losses. */
  readonly names: readonly string[];
  /** The losses in plain values: their weights, and when they are active. */
  readonly settings: Settings;
  /** Lengths of the parts of `count` batches, cut where the active losses change. */
  chunks(counters: Counters, adds: Adds, count: number): readonly number[];
  /** The losses that are active in a batch that begins at these counters. */
  active(counters: Counters, adds: Adds): readonly string[];
  /** Keeps what is made for each set of losses. */
  perSet<T>(make: (names: readonly string[]) => T): (names: readonly string[]) => T;
  /** Inside a program: the sum of these losses, and all scalars by name, `loss` among them. */
  compute(
    names: readonly string[],
    inputs: ObjectiveInputs,
  ): readonly [loss: Value, values: Readonly<Record<string, Value>>];
}

export interface ObjectiveParts {
  readonly model: Model<ExampleTree<Value>, unknown>;
  readonly loss: AnyLoss | readonly AnyLoss[];
  readonly metrics: Metrics<unknown, ExampleTree<Value>>;
}

export function supervisedObjective({ model, loss, metrics }: ObjectiveParts): SupervisedObjective {
  if ("loss" in metrics)
    throw new EspalierError("OPTION_INVALID", 'supervisedTask: no metric can be called "loss"', {
      fix: "the loss is reported under that name already; choose another",
    });
  if (typeof loss === "function") return plainLoss(model, loss, metrics);
  return severalLosses(model, "term" in loss ? [loss] : [...loss], metrics);
}

/** One function: always active, reported as `loss` alone. */
function plainLoss(
  model: ObjectiveParts["model"],
  loss: SupervisedLoss<unknown, ExampleTree<Value>>,
  metrics: ObjectiveParts["metrics"],
): SupervisedObjective {
  const names = ["loss"];
  return {
    ramps: {},
    components: {},
    hooks: [],
    names,
    settings: { loss: {} },
    chunks: (_counters, _adds, count) => (count > 0 ? [count] : []),
    active: () => names,
    perSet: (make) => {
      let made: { readonly it: ReturnType<typeof make> } | undefined;
      return () => {
        made ??= { it: make(names) };
        return made.it;
      };
    },
    compute: (_names, { params, batch, train, key }) => {
      const outputs = model.apply(params, batch.x, { train, ...(key && { key }) });
      const value = loss(outputs, batch.y);
      return [value, { loss: value, ...metricValues(metrics, outputs, batch.y) }];
    },
  };
}

function severalLosses(
  model: ObjectiveParts["model"],
  losses: readonly AnyLoss[],
  metrics: ObjectiveParts["metrics"],
): SupervisedObjective {
  const terms = lossesObjective<AnyBatch, unknown>({
    forward: (params, batch, options) => model.apply(params, batch.x, options),
    losses: losses.map((loss) => (typeof loss === "function" ? ofBatch(loss) : loss)),
    metrics: (outputs, batch) => metricValues(metrics, outputs, batch.y),
  });
  return {
    ramps: terms.ramps,
    components: terms.components,
    hooks: terms.hooks,
    names: terms.names,
    settings: Object.fromEntries(
      terms.names.map((name) => [name, lossSettings(losses.find((loss) => loss.name === name))]),
    ),
    chunks: (counters, adds, count) => terms.chunks("train", counters, adds, count),
    active: (counters, adds) => terms.active("train", counters, adds),
    perSet: (make) => terms.perSet((_evaluate, names) => make(names)),
    compute: (names, { params, batch, train, key, ramps }) => {
      const { loss, metrics } = terms.evaluate(names)(params, batch, ramps, { train, ...(key && { key }) });
      return [loss, metrics];
    },
  };
}

function lossSettings(loss: AnyLoss | undefined): Settings {
  if (loss === undefined || typeof loss === "function") return {};
  const { weight = 1, active } = loss;
  return {
    weight: typeof weight === "number" ? weight : weight.describe(),
    ...(active?.train && { train: active.train.describe() }),
  };
}

/** A function of the targets as one of the batch, under its own name. */
function ofBatch(loss: SupervisedLoss<unknown, ExampleTree<Value>>) {
  const whole = (outputs: unknown, batch: AnyBatch): Value => loss(outputs, batch.y);
  return Object.defineProperty(whole, "name", { value: loss.name });
}

/** The metrics of a batch, each one number: its mean over batches is taken by their examples. */
function metricValues(
  metrics: ObjectiveParts["metrics"],
  outputs: unknown,
  y: ExampleTree<Value>,
): Readonly<Record<string, Value>> {
  const values = Object.entries(metrics).map(([name, metric]) => {
    const given: unknown = metric(outputs, y);
    if (!(given instanceof Value))
      throw new EspalierError(
        "METRIC_INVALID",
        `the metric "${name}" gave ${shown(given)}, which is no value`,
        {
          fix: "compute it from the outputs and the targets, such as np.mean(...); a constant is np.full([], 2)",
        },
      );
    if (given.ndim !== 0)
      throw new EspalierError(
        "METRIC_INVALID",
        `the metric "${name}" gave ${given.type.text}, which is not one number`,
        {
          fix: "give the mean over the batch's examples, np.mean(...), or several metrics of one number each",
        },
      );
    return [name, given] as const;
  });
  return Object.fromEntries(values);
}

/**
 * The share of examples whose greatest output is the one of their label. Labels are whole numbers without the axis of
 * classes, or distributions of the outputs' shape.
 *
 * @example
 * ```ts
 * supervisedTask({ ..., loss: nn.crossEntropy, metrics: { accuracy } });
 * ```
 */
export function accuracy(outputs: Value, y: Value): Value {
  if (outputs.ndim === 0)
    throw new EspalierError("SHAPE_MISMATCH", "accuracy: the outputs are one number", {
      fix: "give outputs with one number for each class along the last axis",
    });
  const chosen = np.argmax(outputs, { axis: -1 });
  const labels = y.ndim === outputs.ndim ? np.argmax(y, { axis: -1 }) : y.astype("i32");
  return np.mean(np.equal(chosen, labels).astype("f32"));
}
