import { EspalierError, isPlainObject, shown } from "../core/index.ts";
import type { ExampleTree } from "../data/index.ts";
import { type Specs, Value, type ValueLike } from "../engine/index.ts";
import { type Loss, objective as lossesObjective } from "../losses/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Adds, Counters, Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Settings } from "../trainer/index.ts";
import { isSetMetric, type Metric, type Metrics, type SetMetric } from "./metrics.ts";

/** Inputs and targets, of values while tracing; each may be a tree. */
export interface Batch<X = unknown, Y = unknown> {
  readonly x: X;
  readonly y: Y;
}

/** A loss as a plain function of the model's outputs and the targets: one number, the mean over the examples. */
export type SupervisedLoss<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

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
  /** States of the set's metrics so far. Default: they are not computed. */
  readonly metrics?: MetricStates;
}

/** States of metrics of the whole set, by name. */
export type MetricStates = Readonly<Record<string, ExampleTree<Value>>>;

/** The metrics of a finished set: numbers, and tables. */
export interface SetValues {
  readonly numbers: Readonly<Record<string, Value>>;
  readonly tables: Readonly<Record<string, Value>>;
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
  /** Inside a program: the sum of these losses, all scalars by name, `loss` among them, and the metrics' states. */
  compute(
    names: readonly string[],
    inputs: ObjectiveInputs,
  ): readonly [loss: Value, values: Readonly<Record<string, Value>>, metrics: MetricStates];
  /** Metrics that have a state. */
  readonly setMetrics: SetMetrics;
}

export interface ObjectiveParts {
  readonly model: Model<ExampleTree<Value>, unknown>;
  readonly loss: AnyLoss | readonly AnyLoss[];
  readonly metrics: Metrics<unknown, ExampleTree<Value>>;
  /** Shapes of a batch's outputs and targets; asked for once there are parameters. */
  readonly shapes: () => { readonly outputs: unknown; readonly y: Specs<ExampleTree<Value>> };
}

export function supervisedObjective({ model, loss, metrics, shapes }: ObjectiveParts): SupervisedObjective {
  if ("loss" in metrics)
    throw new EspalierError("OPTION_INVALID", 'supervisedTask: no metric can be called "loss"', {
      fix: "the loss is reported under that name already; choose another",
    });
  const functions: Record<string, BatchMetric> = {};
  const sets: Record<string, AnySetMetric> = {};
  for (const [name, metric] of Object.entries<unknown>(metrics)) {
    if (typeof metric === "function") functions[name] = metric as BatchMetric;
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
type AnySetMetric = SetMetric<ExampleTree<Value>, unknown, ExampleTree<Value>>;

interface Parts extends Pick<ObjectiveParts, "model"> {
  readonly functions: Readonly<Record<string, BatchMetric>>;
  readonly sets: SetMetrics;
}

/** The metrics of a task that have a state, together. All but `any` is for use inside programs. */
export class SetMetrics {
  /** There are some. */
  readonly any: boolean;
  readonly #metrics: readonly (readonly [string, AnySetMetric])[];
  readonly #shapes: ObjectiveParts["shapes"];

  constructor(metrics: Readonly<Record<string, AnySetMetric>>, shapes: ObjectiveParts["shapes"]) {
    this.#metrics = Object.entries(metrics);
    this.#shapes = shapes;
    this.any = this.#metrics.length > 0;
  }

  /** States of a set of so many examples, before the first; undefined where the number is not known. */
  start(examples: number | undefined): MetricStates {
    if (!this.any) return {};
    const { outputs, y } = this.#shapes();
    const set = { examples, outputs, y } as Parameters<AnySetMetric["init"]>[0];
    return this.#each((metric) => metric.init(set));
  }

  add(states: MetricStates, outputs: unknown, { y }: AnyBatch): MetricStates {
    return this.#each((metric, name) => metric.add(states[name] as ExampleTree<Value>, outputs, y));
  }

  values(states: MetricStates): SetValues {
    const numbers: Record<string, Value> = {};
    const tables: Record<string, Value> = {};
    for (const [name, metric] of this.#metrics) {
      const given: unknown = metric.value(states[name] as ExampleTree<Value>);
      const named = given instanceof Value ? { [name]: given } : inside(name, given);
      for (const [full, value] of Object.entries(named)) {
        if (value.ndim === 0) numbers[full] = value.astype("f32");
        else if (value.ndim === 2) tables[full] = value.astype("f32");
        else throw notOneNumber(full, value);
      }
    }
    return { numbers, tables };
  }

  #each(make: (metric: AnySetMetric, name: string) => ExampleTree<Value>): MetricStates {
    return Object.fromEntries(this.#metrics.map(([name, metric]) => [name, make(metric, name)]));
  }
}

function inside(name: string, given: unknown): Readonly<Record<string, Value>> {
  if (!isPlainObject(given) || !Object.values(given).every((value) => value instanceof Value))
    throw notValue(name, given);
  const parts = Object.entries(given as Readonly<Record<string, Value>>);
  return Object.fromEntries(parts.map(([part, value]) => [`${name}.${part}`, value]));
}

/** One function: always active, reported as `loss` alone. */
function plainLoss(
  { model, functions, sets }: Parts,
  loss: SupervisedLoss<unknown, ExampleTree<Value>>,
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
    setMetrics: sets,
    compute: (_names, { params, batch, train, key, metrics }) => {
      const outputs = model.apply(params, batch.x, { train, ...(key && { key }) });
      const value = loss(outputs, batch.y);
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
    chunks: (counters, adds, count) => terms.chunks("train", counters, adds, count),
    active: (counters, adds) => terms.active("train", counters, adds),
    perSet: (make) => terms.perSet((_evaluate, names) => make(names)),
    setMetrics: sets,
    compute: (names, { params, batch, train, key, ramps, metrics: states }) => {
      const { loss, metrics } = terms.evaluate(names)(params, batch, ramps, { train, ...(key && { key }) });
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
function ofBatch(loss: SupervisedLoss<unknown, ExampleTree<Value>>) {
  const whole = (outputs: unknown, batch: AnyBatch): Value => loss(outputs, batch.y);
  return Object.defineProperty(whole, "name", { value: loss.name });
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

const notValue = (name: string, given: unknown): EspalierError =>
  new EspalierError("METRIC_INVALID", `the metric "${name}" gave ${shown(given)}, which is no value`, {
    fix: "compute it from the outputs and the targets, such as np.mean(...); a constant is np.full([], 2)",
  });

const notOneNumber = (name: string, given: Value): EspalierError =>
  new EspalierError(
    "METRIC_INVALID",
    `the metric "${name}" gave ${given.type.text}, which is not one number`,
    { fix: "give the mean over the batch's examples, np.mean(...), or several metrics of one number each" },
  );
