import { flatten, treeLeaves, treeMap, unflatten } from "../core/index.ts";
import type { BatchGroup, ExampleTree } from "../data/index.ts";
import { type Feed, type Fetch, np, random, scan, type Value, type ValueLike } from "../engine/index.ts";
import {
  compileRankUpdate,
  compileUpdate,
  firstNonFinite,
  gradientsOf,
  type Learner,
  type RankSum,
  repeat,
} from "../learner/index.ts";
import { Moments, type Params } from "../nn/index.ts";
import type { OptimizerState } from "../optim/index.ts";
import type { AnyBatch, SupervisedObjective } from "./objective.ts";
import type { MetricStates } from "./tracker.ts";

type Values = Readonly<Record<string, Value>>;
type Gradients = readonly [values: Values, grads: Params];
/** What goes on from one micro-batch to the next: states of metrics, and running moments of layers. */
interface Carry {
  readonly metrics: MetricStates;
  readonly moments: readonly Value[];
}
/** Gradients of a micro-batch, or of several, and what goes on. */
type Step = readonly [...Gradients, after: Carry];

/** Rows of examples while tracing. Without targets those follow from the inputs. */
export type Rows = {
  readonly x: ExampleTree<Value>;
  readonly y?: ExampleTree<Value>;
  readonly weight?: Value;
};

/** What programs of training and of validation are made of. */
export interface ProgramOptions {
  readonly learner: Learner;
  readonly objective: SupervisedObjective;
  /** Examples in a micro-batch. */
  readonly batchSize: number;
  /** Makes a batch of gathered rows. */
  readonly batchOf: (rows: Rows) => AnyBatch;
  /** The most updates, or batches, in one call. */
  readonly capacity: number;
}

interface TrainProgramOptions extends ProgramOptions {
  /** The losses that are active. */
  readonly names: readonly string[];
  /** The updates of one size in an epoch; each takes `batches.size` examples. */
  readonly batches: BatchGroup;
  /** Micro-batches may run in a loop. */
  readonly loops: boolean;
  /** Positions of running moments among the parameters' leaves. Default: none. */
  readonly moments?: readonly number[];
}

/** Inputs of a call of the training program. */
type ProgramInputs = {
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
  const { learner, capacity, batches } = options;
  const program = compileUpdate(
    { updates: learner.states },
    (states, { at, ramps, ...inputs }: ProgramInputs) => {
      const [count, from, before] = [np.take(at, 0), np.take(at, 1), np.take(at, 2)];
      return repeat(capacity, count, states, learner.rates.stacks(ramps, capacity), (now, ramp, index) => {
        const start = index.mul(batches.size).add(from);
        const number = index.add(before);
        const step = updateGradients(options, now.params, { ...inputs, ramp, start, number });
        return applyUpdate(options, now, ramp, number, step);
      });
    },
    learner.compileOptions("the training program"),
  );
  return { program, numbers: learner.rampNumbers(capacity) };
}

/** The rows of an update that one rank of several has, in micro-batches of `size`. */
interface RankPart {
  readonly size: number;
  readonly from: number;
  readonly rows: number;
}

/**
 * The rows of an update that a rank has. An update is cut into micro-batches of one size, `batchSize` or, where that
 * leaves ranks without work, as many rows as make one for each; ranks take them in order. So `ranks` ranks compute what
 * one process computes with `accumulate: ranks`. `full` is the number of rows of a full update.
 */
function rankPart({ rank, ranks }: Ranks, batchSize: number, full: number, rows: number): RankPart {
  const size = Math.min(batchSize, Math.ceil(full / ranks));
  const each = size * Math.ceil(Math.ceil(rows / size) / ranks);
  const from = Math.min(rows, rank * each);
  return { size, from, rows: Math.min(rows - from, each) };
}

type Ranks = Pick<RankSum, "rank" | "ranks">;

/** The training program of one rank of several: a call is one update. `full` is the number of rows of a full update. */
export function rankProgram(options: TrainProgramOptions, ranks: RankSum, full: number) {
  const { learner, objective, batchSize, batches } = options;
  const rows = batches.size;
  const gradientsOn =
    (part: RankPart) =>
    (params: Params, { at, ...inputs }: ProgramInputs, ramp: Values) => {
      const [start, number] = [np.take(at, 1), np.take(at, 2)];
      const step = updateGradients(options, params, { ...inputs, ramp, start, number }, part);
      const [values, grads, { metrics, moments }] = step;
      // Running moments become their mean by rows.
      const share = moments.map((value) => value.mul(part.rows / rows));
      return { values, grads, metrics: objective.setMetrics.sums(metrics), moments: share };
    };
  const part = rankPart(ranks, batchSize, full, rows);
  const update = compileRankUpdate(learner, ranks, {
    name: "the training program",
    gradients: gradientsOn(part),
    ...(part.rows === 0 && { shapes: gradientsOn(rankPart({ ...ranks, rank: 0 }, batchSize, full, rows)) }),
    apply: (now, { values, grads, ...after }, ramp, { at }: { readonly at: Value }) => {
      const [next, result] = applyUpdate(options, now, ramp, np.take(at, 2), [values, grads, after]);
      return [next, treeMap((value: Value) => np.expandDims(value, 0), result)] as const;
    },
  });
  const program = (inputs: Feed<ProgramInputs>): Promise<Fetch<ReturnType<typeof applyUpdate>[1]>> =>
    update(inputs, { at: inputs.at });
  return { program, numbers: learner.rampNumbers(1) };
}

/** Inside a program: one step of the optimizer, by the gradients of an update. */
function applyUpdate(
  { learner, objective, moments: positions = [] }: TrainProgramOptions,
  now: { readonly params: Params; readonly state: OptimizerState; readonly first: Value },
  ramp: Values,
  number: Value,
  [values, grads, { metrics, moments }]: Step,
) {
  const all = { ...values, ...objective.setMetrics.values(metrics).numbers };
  const next = learner.applyGradients(now, ramp, all, grads, ({ params, applied }) => {
    // An update that was left out moves no moments either.
    const old = leavesAt(now.params, positions);
    const reached = (value: Value, i: number): Value =>
      applied ? np.where(np.equal(applied, 0), old[i] as Value, value) : value;
    return withLeaves(params, positions, moments.map(reached));
  });
  const first = firstNonFinite(now.first, next.finite, number);
  return [
    { params: next.params, state: next.state, first },
    { values: next.values, applied: next.applied ?? null },
  ] as const;
}

/** The examples that `size` entries of an order from `start` on name. */
function gatherRows(data: Rows, order: Value, start: Value, size: number): Rows {
  const rows = np.dynamicSlice(order, [start], [size]);
  return treeMap((array: Value) => np.take(array, rows, { axis: 0 }), data);
}

/** An update while tracing. */
interface UpdateInputs extends Pick<ProgramInputs, "data" | "order" | "key"> {
  readonly ramp: Values;
  /** Its first entry of the order, and its index in the run. */
  readonly start: Value;
  readonly number: Value;
}

/**
 * Inside a program: gradients of one batch, or of several micro-batches as if they were one: each is weighted by its
 * examples, or by its share of what a loss counts (tokens that are not masked, weights of examples). Of a part of the
 * update the gradients and values are the part's share of the whole.
 */
function updateGradients(
  {
    learner,
    batchOf,
    objective,
    names,
    batchSize,
    batches,
    loops,
    moments: positions = [],
  }: TrainProgramOptions,
  initial: Params,
  { data, order, ramp: ramps, start, ...update }: UpdateInputs,
  part: RankPart = { size: batchSize, from: 0, rows: batches.size },
): Step {
  const updateKey = random.foldIn(update.key, update.number);
  const rowsAt = (offset: Value | number, size: number): AnyBatch =>
    batchOf(learner.shard(gatherRows(data, order, start.add(offset), size)));
  const rows = batches.size;
  let carry: Carry = {
    metrics: objective.setMetrics.start(rows),
    moments: leavesAt(initial, positions),
  };
  const of = (key: Value, offset: Value | number, size: number, before: Carry, totals?: Values): Step => {
    const batch = rowsAt(offset, size);
    const byExamples = Object.fromEntries(names.map((name) => [name, size / rows]));
    const shares = totals && { ...byExamples, ...sharesOf(objective.counts(batch), totals) };
    const [values, grads, after] = gradientsOf<Carry>((params) => {
      const moments = new Moments();
      const applied = withLeaves(params, positions, before.moments);
      const given = { batch, train: true, key, ramps, metrics: before.metrics, moments };
      const inputs = { ...given, params: applied, ...(shares && { shares }) };
      const [loss, values, metrics] = objective.compute(names, inputs);
      return [loss, values, { metrics, moments: leavesAt(moments.merge(applied), positions) }];
    }, initial);
    if (!shares) return [values, grads, after];
    const factors = objective.factors(shares, size / rows);
    const scaledValues = Object.entries(values).map(([name, value]) => [
      name,
      value.mul(factors.value(name)),
    ]);
    const scaledGrads = treeMap((grad: Value) => grad.mul(factors.grads), grads);
    return [Object.fromEntries(scaledValues), scaledGrads, after];
  };
  const parts = [
    { size: part.size, count: Math.floor(part.rows / part.size) },
    { size: part.rows % part.size, count: 1 },
  ].filter(({ size, count }) => size > 0 && count > 0);
  if (parts.length === 1 && parts[0]?.count === 1 && part.rows === rows) return of(updateKey, 0, rows, carry);
  // Targets and weights of the whole update; the inputs are not gathered for it.
  const counts = objective.counts(rowsAt(0, rows));
  const totals = Object.keys(counts).length > 0 ? counts : undefined;
  let [offset, index] = [part.from, part.from / part.size];
  const sums = parts.map(({ size, count }): Gradients => {
    const [from, first] = [offset, index];
    offset += size * count;
    index += count;
    const one = (i: Value | number, before: Carry): Step => {
      const [index, offset] =
        typeof i === "number" ? [first + i, from + i * size] : [i.add(first), i.mul(size).add(from)];
      const [values, grads, after] = of(random.foldIn(updateKey, index), offset, size, before, totals);
      if (totals) return [values, grads, after];
      return [values, treeMap((grad: Value) => grad.mul(size / rows), grads), after];
    };
    const [values, grads, after] =
      loops && count > 1 ? looped(one, count, initial, carry) : unrolled(one, count, carry);
    carry = after;
    return [totals ? values : treeMap((value: Value) => value.mul(size / rows), values), grads];
  });
  return [...sums.reduce(added), carry];
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

/**
 * Inside a program: the gradient of a batch from those of its micro-batches, each by its share of what the batch counts.
 * `accumulate` of a task does this; it is here for programs of one's own.
 *
 * @example
 * ```ts
 * let sum = new GradientAccumulator();
 * for (const part of parts) sum = sum.add(gradients(params, part), part.rows / rows);
 * optimizer.update(sum.gradients, state, params);
 * ```
 */
export class GradientAccumulator {
  readonly #sum: Params | undefined;

  constructor(sum?: Params) {
    this.#sum = sum;
  }

  /** With the mean gradient of one more micro-batch. Shares of all add up to 1; of gradients that were scaled, 1 each. */
  add(grads: Params, share: ValueLike = 1): GradientAccumulator {
    const part = share === 1 ? grads : treeMap((grad: Value) => grad.mul(share), grads);
    if (!this.#sum) return new GradientAccumulator(part);
    return new GradientAccumulator(treeMap((a: Value, b: Value) => a.add(b), this.#sum, part));
  }

  get gradients(): Params {
    return this.#sum ?? {};
  }
}

type OneStep<I> = (i: I, before: Carry) => Step;

function unrolled(one: OneStep<number>, count: number, carry: Carry): Step {
  let now = carry;
  let sum = new GradientAccumulator();
  const parts = Array.from({ length: count }, (_, i): Values => {
    const [values, grads, after] = one(i, now);
    now = after;
    sum = sum.add(grads);
    return values;
  });
  const values = parts.reduce((a, b) => treeMap((x: Value, y: Value) => x.add(y), a, b));
  return [values, sum.gradients, now];
}

function looped(one: OneStep<Value>, count: number, params: Params, carry: Carry): Step {
  const [{ grads, now }, stacks] = scan(
    (sum: { readonly grads: Params; readonly now: Carry }, _x: undefined, i: Value) => {
      const [values, own, after] = one(i, sum.now);
      const { gradients } = new GradientAccumulator(sum.grads).add(own);
      return [{ grads: gradients, now: after }, values] as const;
    },
    { grads: treeMap((param: Value) => np.zerosLike(param), params), now: carry },
    undefined,
    { length: count },
  );
  return [treeMap((stack: Value) => np.sum(stack), stacks), grads, now];
}

const leavesAt = (params: Params, positions: readonly number[]): readonly Value[] => {
  const leaves = treeLeaves<Value>(params);
  return positions.map((i) => leaves[i] as Value);
};

function withLeaves(params: Params, positions: readonly number[], values: readonly Value[]): Params {
  if (positions.length === 0) return params;
  const leaves: unknown[] = [];
  const shape = flatten(params, leaves);
  positions.forEach((at, i) => {
    leaves[at] = values[i];
  });
  return unflatten(shape, leaves) as Params;
}
