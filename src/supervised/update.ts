import { treeMap } from "../core/index.ts";
import type { BatchGroup, ExampleTree } from "../data/index.ts";
import { np, random, scan, type Value } from "../engine/index.ts";
import { compileUpdate, firstNonFinite, gradientsOf, type Learner, repeat } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { AnyBatch, MetricStates, ObjectiveInputs, SupervisedObjective } from "./objective.ts";

type Values = Readonly<Record<string, Value>>;
type Gradients = readonly [values: Values, grads: Params];
/** Gradients of a micro-batch, with the metrics' states after it. */
type Step = readonly [...Gradients, metrics: MetricStates];

/** Rows of examples while tracing. Without targets those follow from the inputs. */
export type Rows = {
  readonly x: ExampleTree<Value>;
  readonly y?: ExampleTree<Value>;
  readonly weight?: Value;
};

export interface TrainProgramOptions {
  readonly learner: Learner;
  readonly objective: SupervisedObjective;
  /** The losses that are active. */
  readonly names: readonly string[];
  /** The updates of one size in an epoch; each takes `batches.size` examples. */
  readonly batches: BatchGroup;
  /** Examples in a micro-batch. */
  readonly batchSize: number;
  /** Makes a batch of gathered rows. */
  readonly batchOf: (rows: Rows) => AnyBatch;
  /** The most updates in one call. */
  readonly capacity: number;
  /** Micro-batches may run in a loop. */
  readonly loops: boolean;
}

/** Inputs of a call of the training program. */
export type ProgramInputs = {
  readonly data: Rows;
  /** The rows of this epoch, in order. */
  readonly order: Value;
  /** i32[3]: updates in this call, the position in the order where they begin, updates before. */
  readonly at: Value;
  readonly ramps: Value | null;
  readonly key: Value;
};

/**
 * Updates in one call. How many, where in the order they begin and all rates are inputs: one program, whether it is
 * called for one update or for many, so that the bits are the same.
 */
export function trainProgram(options: TrainProgramOptions) {
  const { learner, capacity, batches, batchOf } = options;
  const program = compileUpdate(
    { updates: learner.states },
    (states, { data, order, at, ramps, key }: ProgramInputs) => {
      const [count, from, before] = [np.take(at, 0), np.take(at, 1), np.take(at, 2)];
      return repeat(capacity, count, states, learner.rates.stacks(ramps, capacity), (now, ramp, index) => {
        const start = index.mul(batches.size).add(from);
        const number = index.add(before);
        const [values, grads] = updateGradients(options, {
          params: now.params,
          rows: (offset, size) => batchOf(gatherRows(data, order, start.add(offset), size)),
          ramps: ramp,
          key: random.foldIn(key, number),
        });
        const next = learner.applyGradients(now, ramp, values, grads);
        const first = firstNonFinite(now.first, next.finite, number);
        return [
          { params: next.params, state: next.state, first },
          { values: next.values, applied: next.applied ?? null },
        ] as const;
      });
    },
    learner.compileOptions("the training program"),
  );
  return { program, numbers: learner.rampNumbers(capacity) };
}

/** The examples that `size` entries of an order from `start` on name. */
function gatherRows(data: Rows, order: Value, start: Value, size: number): Rows {
  const rows = np.dynamicSlice(order, [start], [size]);
  return treeMap((array: Value) => np.take(array, rows, { axis: 0 }), data);
}

interface UpdateInputs extends Pick<ObjectiveInputs, "params"> {
  /** The examples from one within the update on. */
  readonly rows: (offset: Value | number, size: number) => AnyBatch;
  readonly ramps: Values;
  readonly key: Value;
}

/**
 * Gradients of one batch, or of several micro-batches as if they were one: each is weighted by its examples, or by its
 * share of what a loss counts (tokens that are not masked, weights of examples).
 */
function updateGradients(
  { objective, names, batchSize, batches, loops }: TrainProgramOptions,
  inputs: UpdateInputs,
): Gradients {
  const rows = batches.size;
  let metrics = objective.setMetrics.start(rows);
  const of = (
    key: Value,
    offset: Value | number,
    size: number,
    before: MetricStates,
    totals?: Values,
  ): Step => {
    const batch = inputs.rows(offset, size);
    const { ramps } = inputs;
    const byExamples = Object.fromEntries(names.map((name) => [name, size / rows]));
    const shares = totals && { ...byExamples, ...sharesOf(objective.counts(batch), totals) };
    const given = { batch, train: true, key, ramps, metrics: before, ...(shares && { shares }) };
    const [values, grads, metrics] = gradientsOf(
      (params) => objective.compute(names, { params, ...given }),
      inputs.params,
    );
    if (!shares) return [values, grads, metrics];
    const factors = objective.factors(shares, size / rows);
    const scaledValues = Object.entries(values).map(([name, value]) => [
      name,
      value.mul(factors.value(name)),
    ]);
    const scaledGrads = treeMap((grad: Value) => grad.mul(factors.grads), grads);
    return [Object.fromEntries(scaledValues), scaledGrads, metrics];
  };
  const finished = ([values, grads]: Gradients, states: MetricStates): Gradients => [
    { ...values, ...objective.setMetrics.values(states).numbers },
    grads,
  ];
  const parts = [
    { size: batchSize, count: Math.floor(rows / batchSize) },
    { size: rows % batchSize, count: 1 },
  ].filter(({ size, count }) => size > 0 && count > 0);
  if (parts.length === 1 && parts[0]?.count === 1) {
    const [values, grads, states] = of(inputs.key, 0, rows, metrics);
    return finished([values, grads], states);
  }
  // Targets and weights of the whole update; the inputs are not gathered for it.
  const counts = objective.counts(inputs.rows(0, rows));
  const totals = Object.keys(counts).length > 0 ? counts : undefined;
  let [offset, index] = [0, 0];
  const sums = parts.map(({ size, count }): Gradients => {
    const [from, first] = [offset, index];
    offset += size * count;
    index += count;
    const one = (i: Value | number, before: MetricStates): Step => {
      const [values, grads, after] =
        typeof i === "number"
          ? of(random.foldIn(inputs.key, first + i), from + i * size, size, before, totals)
          : of(random.foldIn(inputs.key, i.add(first)), i.mul(size).add(from), size, before, totals);
      if (totals) return [values, grads, after];
      return [values, treeMap((grad: Value) => grad.mul(size / rows), grads), after];
    };
    const [values, grads, after] =
      loops && count > 1 ? looped(one, count, inputs.params, metrics) : unrolled(one, count, metrics);
    metrics = after;
    return totals ? [values, grads] : scaled([values, grads], size / rows);
  });
  return finished(sums.reduce(added), metrics);
}

/** Parts of totals; nothing has no part. */
const sharesOf = (counts: Values, totals: Values): Values =>
  Object.fromEntries(
    Object.entries(counts).map(([name, count]) => {
      const total = totals[name] as Value;
      return [name, count.div(np.where(np.equal(total, 0), 1, total))];
    }),
  );

const added = (a: Gradients, b: Gradients): Gradients => treeMap((x: Value, y: Value) => x.add(y), a, b);
const scaled = ([values, grads]: Gradients, by: number): Gradients => [
  treeMap((value: Value) => value.mul(by), values),
  grads,
];

type OneStep<I> = (i: I, before: MetricStates) => Step;

function unrolled(one: OneStep<number>, count: number, metrics: MetricStates): Step {
  let states = metrics;
  const parts = Array.from({ length: count }, (_, i): Gradients => {
    const [values, grads, after] = one(i, states);
    states = after;
    return [values, grads];
  });
  return [...parts.reduce(added), states];
}

function looped(one: OneStep<Value>, count: number, params: Params, metrics: MetricStates): Step {
  const [{ grads, states }, stacks] = scan(
    (sum: { readonly grads: Params; readonly states: MetricStates }, _x: undefined, i: Value) => {
      const [values, own, states] = one(i, sum.states);
      return [{ grads: treeMap((a: Value, b: Value) => a.add(b), sum.grads, own), states }, values] as const;
    },
    { grads: treeMap((param: Value) => np.zerosLike(param), params), states: metrics },
    undefined,
    { length: count },
  );
  return [treeMap((stack: Value) => np.sum(stack), stacks), grads, states];
}
