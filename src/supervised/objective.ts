import { EspalierError } from "../core/index.ts";
import type { Value, ValueLike } from "../engine/index.ts";
import {
  type LossFunction as AnyLossFunction,
  type Loss,
  objective as lossesObjective,
} from "../losses/index.ts";
import type { Model, Params } from "../nn/index.ts";
import type { Counters, Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import type { Settings } from "../trainer/index.ts";
import type { Batch } from "./batch.ts";
import { metricValues } from "./metric-values.ts";

/** A loss as a plain function of what the model gives and of the targets: one number, the mean over the examples. */
export type SupervisedLoss<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

/** A number about a batch: the mean over its examples, so that batches of different sizes can be joined. */
export type Metric<O = Value, Y = Value> = (outputs: O, y: Y) => Value;

/** Metrics by name. */
export type Metrics<O = Value, Y = Value> = Readonly<Record<string, Metric<O, Y>>>;

/** Targets as a metric gets them, where a loss takes more than values, such as plain numbers. */
export type TargetsOf<Y> = Value extends Y ? Value : Y;

/** What training makes small: a function, or losses with weights and schedules, whose batch is `{ x, y }`. */
export type LossInput<O = Value, Y = Value, X = Value> =
  | SupervisedLoss<O, Y>
  | Loss<Batch<X, Y>, O>
  | readonly (SupervisedLoss<O, Y> | Loss<Batch<X, Y>, O>)[];

/** What one evaluation is told. */
export interface ObjectiveInputs {
  readonly params: Params;
  readonly batch: Batch;
  readonly train: boolean;
  /** A key of this batch alone; none while validating. */
  readonly key?: Value;
  /** Values of the objective's ramps by name. */
  readonly ramps: Readonly<Record<string, ValueLike>>;
}

/** A forward pass and its losses. Which losses take part may change from batch to batch. */
export interface Objective {
  /** Weights that change over time. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  readonly components: Readonly<Record<string, Stateful>>;
  readonly hooks: readonly { readonly name: string }[];
  /** All losses. */
  readonly names: readonly string[];
  /** The losses in plain values: their weights, and when they take part. */
  readonly settings: Settings;
  /** Batches from these counters on, cut where the losses change. */
  stretches(counters: Counters, adds: Readonly<Record<string, number>>, count: number): readonly number[];
  /** The losses of a batch that begins at these counters. */
  active(counters: Counters, adds: Readonly<Record<string, number>>): readonly string[];
  /** Keeps what is made for each set of losses. */
  perSet<T>(make: (names: readonly string[]) => T): (names: readonly string[]) => T;
  /** The loss, and all scalars by name, `loss` among them. */
  compute(
    names: readonly string[],
    inputs: ObjectiveInputs,
  ): readonly [loss: Value, values: Readonly<Record<string, Value>>];
}

type AnyModel = Model<never, unknown>;
type AnyMetrics = Metrics<never, never>;

export function objectiveOf(
  model: AnyModel,
  loss: LossInput<never, never, never>,
  metrics: AnyMetrics,
): Objective {
  for (const name of Object.keys(metrics))
    if (name === "loss")
      throw new EspalierError("OPTION_INVALID", 'supervisedTask: no metric can be called "loss"', {
        fix: "the loss is reported under that name already; choose another",
      });
  return typeof loss === "function"
    ? oneFunction(model, loss, metrics)
    : severalLosses(model, Array.isArray(loss) ? loss : [loss], metrics);
}

function oneFunction(model: AnyModel, loss: SupervisedLoss<never, never>, metrics: AnyMetrics): Objective {
  const names = ["loss"];
  return {
    ramps: {},
    components: {},
    hooks: [],
    names,
    settings: { loss: {} },
    stretches: (_counters, _adds, count) => (count > 0 ? [count] : []),
    active: () => names,
    perSet: (make) => {
      let made: { readonly it: ReturnType<typeof make> } | undefined;
      return () => {
        made ??= { it: make(names) };
        return made.it;
      };
    },
    compute: (_names, { params, batch, train, key }) => {
      const outputs = model.apply(params, batch.x as never, { train, ...(key && { key }) });
      const value = loss(outputs as never, batch.y as never);
      return [value, { loss: value, ...metricValues(metrics, outputs, batch.y) }];
    },
  };
}

function severalLosses(
  model: AnyModel,
  losses: readonly (SupervisedLoss<never, never> | Loss<never, never>)[],
  metrics: AnyMetrics,
): Objective {
  // Metrics look at what the one forward pass gave. Tracing is synchronous, so the last pass is the one meant.
  let outputs: unknown;
  const aims = lossesObjective<Batch, unknown>({
    forward: (params, batch, options) => {
      outputs = model.apply(params, batch.x as never, options);
      return outputs;
    },
    losses: losses.map((loss) =>
      typeof loss === "function" ? ofBatch(loss) : (loss as unknown as Loss<Batch, unknown>),
    ),
  });
  return {
    ramps: aims.ramps,
    components: aims.components,
    hooks: aims.hooks,
    names: aims.names,
    settings: Object.fromEntries(
      aims.names.map((name) => [name, lossSettings(losses.find((loss) => loss.name === name))]),
    ),
    stretches: (counters, adds, count) => aims.stretches("train", counters, adds, count),
    active: (counters, adds) => aims.active("train", counters, adds),
    perSet: (make) => aims.perSet((_evaluate, names) => make(names)),
    compute: (names, { params, batch, train, key, ramps }) => {
      const result = aims.evaluate(names)(params, batch, ramps, { train, ...(key && { key }) });
      return [result.loss, { ...result.metrics, ...metricValues(metrics, outputs, batch.y) }];
    },
  };
}

function lossSettings(loss: SupervisedLoss<never, never> | Loss<never, never> | undefined): Settings {
  if (loss === undefined || typeof loss === "function") return {};
  const { weight = 1, active } = loss;
  return {
    weight: typeof weight === "number" ? weight : weight.describe(),
    ...(active?.train && { train: active.train.describe() }),
  };
}

/** A function of the targets as one of the batch, under its own name. */
function ofBatch(loss: SupervisedLoss<never, never>): AnyLossFunction<Batch, unknown> {
  const whole: AnyLossFunction<Batch, unknown> = (outputs, batch) => loss(outputs as never, batch.y as never);
  return Object.defineProperty(whole, "name", { value: loss.name });
}
