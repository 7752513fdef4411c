import { EspalierError } from "../core/index.ts";
import type { ExampleTree } from "../data/index.ts";
import { np, Value, type ValueLike } from "../engine/index.ts";
import { asLoss, type Loss, objective as lossesObjective, shareName, weightName } from "../losses/index.ts";
import type { Model, Moments, Params } from "../nn/index.ts";
import type { Settings } from "../trainer/index.ts";
import { isSetMetric, type Metric, type Metrics } from "./metrics.ts";
import { type MetricStates, notOneNumber, notValue, SetMetrics, type Shapes } from "./tracker.ts";

/** Inputs and targets, of values while tracing; each may be a tree. */
export interface Batch<X = unknown, Y = unknown> {
  readonly x: X;
  readonly y: Y;
  /** How much each example counts, or each part of one: of the first axes of its losses. */
  readonly weight?: Value;
}

/**
 * A loss as a plain function of the model's outputs and the targets: one number, the mean over the examples. Where the
 * data has weights, they are the `mask` of its options, as the losses of `nn` take it.
 */
export type SupervisedLoss<O = Value, Y = Value> = (
  outputs: O,
  y: Y,
  options?: { readonly mask?: Value },
) => Value;

/** The sum of weights that a loss's mean over a batch is divided by. */
export type LossCount<Y = Value> = (y: Y, weight?: Value) => Value;

/**
 * A loss that leaves out part of a batch by a mask of its own, with the count of what is left. Micro-batches and
 * batches of validation are then weighted by it; other losses count the batch's weights, or its examples. Losses that
 * are objects have a `count` of their own.
 *
 * @example
 * ```ts
 * const known = (y: Value) => np.notEqual(y, -1);
 * const loss = countedLoss(
 *   (out: Value, y: Value) => nn.crossEntropy(out, y, { mask: known(y) }),
 *   (y) => np.sum(known(y)),
 * );
 * ```
 */
export function countedLoss<O = Value, Y = Value>(
  loss: SupervisedLoss<O, Y>,
  count: LossCount<Y>,
): SupervisedLoss<O, Y> & { readonly count: LossCount<Y> } {
  const counted: SupervisedLoss<O, Y> = (outputs, y, options) =>
    options ? loss(outputs, y, options) : loss(outputs, y);
  return Object.assign(Object.defineProperty(counted, "name", { value: loss.name }), { count });
}

/** Targets as a metric gets them, where a loss takes more than values, such as plain numbers. */
export type TargetsOf<Y> = Value extends Y ? Value : Y;

/** The minimised quantity: a function, or losses with weights and schedules, whose batch is `{ x, y }`. */
export type LossInput<O = Value, Y = Value, X = Value> =
  | SupervisedLoss<O, Y>
  | Loss<Batch<X, Y>, O>
  | readonly (SupervisedLoss<O, Y> | Loss<Batch<X, Y>, O>)[];

/** A batch whose inputs and targets are any trees of values. */
export type AnyBatch = Batch<ExampleTree<Value>, ExampleTree<Value>>;
type FunctionLoss = SupervisedLoss<unknown, ExampleTree<Value>>;
type AnyLoss = FunctionLoss | Loss<AnyBatch, unknown>;
type BatchMetric = Metric<unknown, ExampleTree<Value>>;

export interface ObjectiveParts {
  readonly model: Model<ExampleTree<Value>, unknown>;
  readonly loss: AnyLoss | readonly AnyLoss[];
  readonly metrics: Metrics<unknown, ExampleTree<Value>>;
  /** The data has weights. */
  readonly weighted: boolean;
  /** Asked for once there are parameters. */
  readonly shapes: Shapes;
}

export interface ObjectiveInputs {
  readonly params: Params;
  readonly batch: AnyBatch;
  readonly train: boolean;
  /** A key of this batch alone; none while validating. */
  readonly key?: Value;
  /** Values of the objective's ramps by name. */
  readonly ramps: Readonly<Record<string, ValueLike>>;
  /** States of the set's metrics so far. Default: they are not computed. */
  readonly metrics?: MetricStates;
  /** Takes the running moments that layers reach while training. */
  readonly moments?: Moments;
  /** The share of each loss that this micro-batch holds of its update. Default: all of it. */
  readonly shares?: Shares;
}

type Shares = Readonly<Record<string, ValueLike>>;

export type SupervisedObjective = ReturnType<typeof supervisedObjective>;

/**
 * A forward pass with its losses and metrics. Which losses are active may change from batch to batch. A single function
 * is reported as `loss` alone, several losses each under its name too.
 */
export function supervisedObjective({ model, loss, metrics, weighted, shapes }: ObjectiveParts) {
  const { functions, setMetrics } = metricsOf(metrics, weighted, shapes);
  const alone = typeof loss === "function";
  const given: readonly AnyLoss[] = Array.isArray(loss) ? loss : [loss];
  const losses = given.map(lossOfBatch);
  let newest: unknown;
  const terms = lossesObjective<AnyBatch, unknown>({
    forward: (params, batch, options) => model.apply(params, batch.x, options),
    losses,
    metrics: (outputs, batch) => {
      newest = outputs;
      return metricValues(functions, outputs, batch.y);
    },
  });
  const { names } = terms;
  return {
    ...terms,
    setMetrics,
    /** The losses in plain values: their weights, and when they are active. */
    settings: alone
      ? { loss: {} }
      : Object.fromEntries(
          names.map((name) => [name, lossSettings(given.find((each) => each.name === name))]),
        ),
    /** Which losses are active may change. */
    changes: losses.some(({ active }) => active?.train !== undefined),

    /** Inside a program: the sum of these losses, all scalars by name, `loss` among them, and the metrics' states. */
    compute: (
      active: readonly string[],
      { params, batch, train, key, ramps, metrics: states, moments, shares = {} }: ObjectiveInputs,
    ): readonly [loss: Value, values: Readonly<Record<string, Value>>, metrics: MetricStates] => {
      const parts = Object.entries(alone ? {} : shares).map(([name, share]) => [shareName(name), share]);
      const weights = { ...ramps, ...Object.fromEntries(parts) };
      const how = { train, ...(key && { key }), ...(moments && { moments }) };
      const { loss: sum, metrics: all } = terms.evaluate(active)(params, batch, weights, how);
      const { [`${names[0]}.loss`]: own, ...rest } = all;
      return [sum, alone ? rest : all, states ? setMetrics.add(states, newest, batch) : {}];
    },

    /** Inside a program: what each loss counts in a batch. Losses that count examples are left out. */
    counts: (batch: AnyBatch): Readonly<Record<string, Value>> =>
      Object.fromEntries(
        losses.flatMap((each) => {
          const count = each.count ? each.count(batch) : batch.weight && np.sum(batch.weight);
          return count ? [[each.name, count.astype("f32")] as const] : [];
        }),
      ),

    /**
     * Factors that make gradients and values of micro-batches sums, given shares of losses and that of examples. A
     * single loss has its share outside, so that a batch without masks is weighted as one by its examples, bit for bit;
     * several have theirs inside the sum.
     */
    factors: (shares: Shares, examples: number) => ({
      grads: alone ? (shares[names[0] as string] ?? 1) : 1,
      value: (name: string): ValueLike => {
        if (name === "loss") return alone ? (shares[names[0] as string] ?? 1) : 1;
        return (alone ? undefined : shares[ownerOf(names, name)]) ?? examples;
      },
    }),

    /** The sum of losses from each one's value by name; undefined where there is one. */
    sum: alone
      ? undefined
      : (values: Readonly<Record<string, number>>, ramps: Readonly<Record<string, number>>): number =>
          terms.names.reduce((sum, name) => {
            const weight = losses.find((each) => each.name === name)?.weight ?? 1;
            const factor = typeof weight === "number" ? weight : (ramps[weightName(name)] ?? 1);
            return sum + factor * (values[`${name}.loss`] ?? 0);
          }, 0),
  };
}

function metricsOf(metrics: ObjectiveParts["metrics"], weighted: boolean, shapes: Shapes) {
  if ("loss" in metrics)
    throw new EspalierError("OPTION_INVALID", 'supervisedTask: no metric can be called "loss"', {
      fix: "the loss is reported under that name already; choose another",
    });
  const functions: Record<string, BatchMetric> = {};
  const sets: Record<string, unknown> = {};
  for (const [name, metric] of Object.entries<unknown>(metrics)) {
    // Accuracy is both: a function, and a metric of the set, which takes weights.
    if (typeof metric === "function" && !(weighted && isSetMetric(metric)))
      functions[name] = metric as BatchMetric;
    else sets[name] = metric;
  }
  return { functions, setMetrics: new SetMetrics(sets, shapes) };
}

function lossSettings(loss: AnyLoss | undefined): Settings {
  if (loss === undefined || typeof loss === "function") return {};
  const { weight = 1, active } = loss;
  return {
    weight: typeof weight === "number" ? weight : weight.describe(),
    ...(active?.train && { train: active.train.describe() }),
  };
}

/** A function of the targets as a loss of the batch, under its own name; a loss as it is. */
function lossOfBatch(loss: AnyLoss): Loss<AnyBatch, unknown> {
  if (typeof loss !== "function") return loss;
  const { count } = loss as { readonly count?: LossCount<ExampleTree<Value>> };
  return {
    ...asLoss<AnyBatch, unknown>((outputs, batch) => weightedLoss(loss, outputs, batch), loss.name || "loss"),
    ...(count && { count: ({ y, weight }) => count(y, weight) }),
  };
}

/** The loss that reports a value: `fit` of `fit.loss`. */
const ownerOf = (names: readonly string[], value: string): string =>
  names.find((name) => value.startsWith(`${name}.`)) ?? "";

/** A loss of a batch. Weights that it does not look at would be lost in silence. */
function weightedLoss(loss: FunctionLoss, outputs: unknown, { y, weight }: AnyBatch): Value {
  if (weight === undefined) return loss(outputs, y);
  let read = false;
  const options = {
    get mask() {
      read = true;
      return weight;
    },
  };
  const value = loss(outputs, y, options);
  if (read) return value;
  throw new EspalierError(
    "WEIGHTS_UNUSED",
    `the data has weights, and the loss ${loss.name === "" ? "function" : `"${loss.name}"`} does not use them`,
    {
      fix: "take them as a third argument: (outputs, y, { mask }) => nn.mse(outputs, y, { mask }); or leave them out",
    },
  );
}

/** The metrics of a batch, each one number: its mean over batches is taken by their examples. */
function metricValues(
  metrics: Readonly<Record<string, BatchMetric>>,
  outputs: unknown,
  y: ExampleTree<Value>,
): Readonly<Record<string, Value>> {
  const values = Object.entries(metrics).map(([name, metric]) => {
    const given: unknown = metric(outputs, y);
    if (!(given instanceof Value)) throw notValue(name, given);
    if (given.ndim !== 0) throw notOneNumber(name, given);
    return [name, given] as const;
  });
  return Object.fromEntries(values);
}
