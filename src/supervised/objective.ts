import { EspalierError, shown } from "../core/index.ts";
import type { ExampleTree } from "../data/index.ts";
import { np, type Specs, Value, type ValueLike } from "../engine/index.ts";
import { type Loss, objective as lossesObjective, shareName, weightName } from "../losses/index.ts";
import type { Model, Moments, Params } from "../nn/index.ts";
import type { Adds, Counters, Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Settings } from "../trainer/index.ts";
import { isSetMetric, type Metric, type Metrics } from "./metrics.ts";
import { type AnySetMetric, type MetricStates, notOneNumber, notValue, SetMetrics } from "./tracker.ts";

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
 * batches of validation are then weighted by it; other losses count examples.
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
type AnyLoss = FunctionLoss | Loss<AnyBatch, unknown>;

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

/** A factor for each loss by name. */
export type Shares = Readonly<Record<string, ValueLike>>;

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
  /** Which losses are active may change. */
  readonly changes: boolean;
  /** Lengths of the parts of `count` batches, cut where the active losses change. */
  chunks(counters: Counters, adds: Adds, count: number): readonly number[];
  /** The losses that are active in a batch that begins at these counters. */
  active(counters: Counters, adds: Adds): readonly string[];
  /** Keeps what is made for each set of losses. */
  perSet<T>(make: (names: readonly string[]) => T): (names: readonly string[]) => T;
  /** Inside a program: the sum of these losses, all scalars by name, `loss` among them, and the metrics' states. */
  compute(
    names: readonly string[],
    inputs: ObjectiveInputs,
  ): readonly [loss: Value, values: Readonly<Record<string, Value>>, metrics: MetricStates];
  /** Metrics that have a state. */
  readonly setMetrics: SetMetrics;
  /** Inside a program: what each loss counts in a batch. Losses that count examples are left out. */
  counts(batch: AnyBatch): Readonly<Record<string, Value>>;
  /** Factors that make gradients and values of micro-batches sums, given shares of losses and that of examples. */
  factors(shares: Shares, examples: number): Factors;
  /** The sum of losses from each one's value by name, where it is not one loss. */
  sum?(values: Readonly<Record<string, number>>, ramps: Readonly<Record<string, number>>): number;
}

interface Factors {
  readonly grads: ValueLike;
  readonly value: (name: string) => ValueLike;
}

export interface ObjectiveParts {
  readonly model: Model<ExampleTree<Value>, unknown>;
  readonly loss: AnyLoss | readonly AnyLoss[];
  readonly metrics: Metrics<unknown, ExampleTree<Value>>;
  /** The data has weights. */
  readonly weighted: boolean;
  /** Shapes of a batch's outputs and targets; asked for once there are parameters. */
  readonly shapes: () => { readonly outputs: unknown; readonly y: Specs<ExampleTree<Value>> };
}

export function supervisedObjective(given: ObjectiveParts): SupervisedObjective {
  const { model, loss, metrics, weighted, shapes } = given;
  if ("loss" in metrics)
    throw new EspalierError("OPTION_INVALID", 'supervisedTask: no metric can be called "loss"', {
      fix: "the loss is reported under that name already; choose another",
    });
  const functions: Record<string, BatchMetric> = {};
  const sets: Record<string, AnySetMetric> = {};
  for (const [name, metric] of Object.entries<unknown>(metrics)) {
    // Accuracy is both: a function, and a metric of the set, which takes weights.
    if (typeof metric === "function" && !(weighted && isSetMetric(metric)))
      functions[name] = metric as BatchMetric;
    else if (isSetMetric(metric)) sets[name] = metric as AnySetMetric;
    else
      throw new EspalierError("METRIC_INVALID", `the metric "${name}" is ${shown(metric)}`, {
        fix: "give a function of outputs and targets, a metric such as f1(), or one of your own: { init, add, value }",
      });
  }
  const parts = { model, functions, sets: new SetMetrics(sets, shapes) };
  if (typeof loss === "function") return plainLoss(parts, loss);
  return severalLosses(parts, "term" in loss ? [loss] : [...loss]);
}

type BatchMetric = Metric<unknown, ExampleTree<Value>>;

interface Parts extends Pick<ObjectiveParts, "model"> {
  readonly functions: Readonly<Record<string, BatchMetric>>;
  readonly sets: SetMetrics;
}

/** One function: always active, reported as `loss` alone. */
function plainLoss({ model, functions, sets }: Parts, loss: FunctionLoss): SupervisedObjective {
  const names = ["loss"];
  return {
    ramps: {},
    components: {},
    hooks: [],
    names,
    settings: { loss: {} },
    changes: false,
    chunks: (_counters, _adds, count) => (count > 0 ? [count] : []),
    active: () => names,
    perSet: (make) => {
      let made: { readonly it: ReturnType<typeof make> } | undefined;
      return () => {
        made ??= { it: make(names) };
        return made.it;
      };
    },
    setMetrics: sets,
    counts: (batch) => countsOf({ loss }, batch),
    // Outside the loss, so that a batch without masks is weighted as one by its examples, bit for bit.
    factors: ({ loss: share = 1 }, examples) => ({
      grads: share,
      value: (name) => (name === "loss" ? share : examples),
    }),
    compute: (_names, { params, batch, train, key, metrics, moments }) => {
      const outputs = model.apply(params, batch.x, {
        train,
        ...(key && { key }),
        ...(moments && { moments }),
      });
      const value = lossOf(loss, outputs, batch);
      const values = { loss: value, ...metricValues(functions, outputs, batch.y) };
      return [value, values, metrics ? sets.add(metrics, outputs, batch) : {}];
    },
  };
}

function severalLosses({ model, functions, sets }: Parts, losses: readonly AnyLoss[]): SupervisedObjective {
  let newest: unknown;
  const terms = lossesObjective<AnyBatch, unknown>({
    forward: (params, batch, options) => model.apply(params, batch.x, options),
    losses: losses.map((loss) => (typeof loss === "function" ? ofBatch(loss) : loss)),
    metrics: (outputs, batch) => {
      newest = outputs;
      return metricValues(functions, outputs, batch.y);
    },
  });
  return {
    ramps: terms.ramps,
    components: terms.components,
    hooks: terms.hooks,
    names: terms.names,
    settings: Object.fromEntries(
      terms.names.map((name) => [name, lossSettings(losses.find((loss) => loss.name === name))]),
    ),
    changes: losses.some((loss) => typeof loss !== "function" && loss.active?.train !== undefined),
    chunks: (counters, adds, count) => terms.chunks("train", counters, adds, count),
    active: (counters, adds) => terms.active("train", counters, adds),
    perSet: (make) => terms.perSet((_evaluate, names) => make(names)),
    setMetrics: sets,
    counts: (batch) => countsOf(functionsOf(losses), batch),
    // Inside the sum, where each loss has a share of its own.
    factors: (shares, examples) => ({
      grads: 1,
      value: (name) => (name === "loss" ? 1 : (shares[ownerOf(terms.names, name)] ?? examples)),
    }),
    sum: (values, ramps) =>
      terms.names.reduce((sum, name) => {
        const found = losses.find((loss) => loss.name === name);
        const weight = typeof found === "object" ? (found.weight ?? 1) : 1;
        const factor = typeof weight === "number" ? weight : (ramps[weightName(name)] ?? 1);
        return sum + factor * (values[`${name}.loss`] ?? 0);
      }, 0),
    compute: (names, { params, batch, train, key, ramps, metrics: states, moments, shares = {} }) => {
      const parts = Object.entries(shares).map(([name, share]) => [shareName(name), share]);
      const weights = { ...ramps, ...Object.fromEntries(parts) };
      const how = { train, ...(key && { key }), ...(moments && { moments }) };
      const { loss, metrics } = terms.evaluate(names)(params, batch, weights, how);
      return [loss, metrics, states ? sets.add(states, newest, batch) : {}];
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
function ofBatch(loss: FunctionLoss) {
  const whole = (outputs: unknown, batch: AnyBatch): Value => lossOf(loss, outputs, batch);
  return Object.defineProperty(whole, "name", { value: loss.name });
}

type FunctionLoss = SupervisedLoss<unknown, ExampleTree<Value>>;

const functionsOf = (losses: readonly AnyLoss[]): Readonly<Record<string, FunctionLoss>> =>
  Object.fromEntries(losses.flatMap((loss) => (typeof loss === "function" ? [[loss.name, loss]] : [])));

/** The loss that reports a value: `fit` of `fit.loss`. */
const ownerOf = (names: readonly string[], value: string): string =>
  names.find((name) => value.startsWith(`${name}.`)) ?? "";

/** A loss of a batch. Weights that it does not look at would be lost in silence. */
function lossOf(loss: FunctionLoss, outputs: unknown, { y, weight }: AnyBatch): Value {
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

function countsOf(
  losses: Readonly<Record<string, FunctionLoss>>,
  { y, weight }: AnyBatch,
): Readonly<Record<string, Value>> {
  const counts = Object.entries(losses).flatMap(([name, loss]) => {
    const own = (loss as { readonly count?: LossCount<ExampleTree<Value>> }).count;
    const count = own ? own(y, weight) : weight && np.sum(weight);
    return count ? [[name, count.astype("f32")] as const] : [];
  });
  return Object.fromEntries(counts);
}

/** The metrics of a batch, each one number: its mean over batches is taken by their examples. */
function metricValues(
  metrics: Parts["functions"],
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
