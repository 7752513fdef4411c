import { EspalierError, treeMap } from "../core/index.ts";
import { np, random, scan, type Value, valueAndGrad } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";
import { applyUpdates, type Optimizer, type OptimizerState, type Rates, valueIn } from "../optim/index.ts";
import { type MonitorOptions, statistics } from "./monitor.ts";
import type { ObjectiveInputs } from "./objective.ts";

type Values = Readonly<Record<string, Value>>;

/** Micro-batches of one size, one after the other. */
export interface MicroBatches {
  readonly size: number;
  readonly count: number;
}

export interface UpdateSpec {
  readonly optimizer: Optimizer;
  readonly compute: (inputs: ObjectiveInputs) => readonly [loss: Value, values: Values];
  /** The micro-batches of one update, in order. */
  readonly parts: readonly MicroBatches[];
  /** Whether micro-batches go through a loop. */
  readonly loops: boolean;
  /** What is reported of each update beside its values. */
  readonly monitor: MonitorOptions;
}

export interface UpdateInputs {
  readonly params: Params;
  readonly state: OptimizerState;
  /** The examples from one within the update on. */
  readonly rows: (offset: Value | number, size: number) => ObjectiveInputs["batch"];
  readonly rates: Rates;
  readonly ramps: Readonly<Record<string, Value>>;
  readonly key: Value;
}

type Gradients = readonly [values: Values, grads: Params];

/** One update of the parameters, by one batch or by the mean gradient of several, each counted by its examples. */
export function update(spec: UpdateSpec, inputs: UpdateInputs) {
  const [values, grads] = gradients(spec, inputs);
  const { optimizer, monitor } = spec;
  const { params: before, rates } = inputs;
  const { updates, state } = optimizer.update(grads, inputs.state, before, rates);
  const after = applyUpdates(before, updates);
  const applied = appliedIn(inputs.state, state);
  const known = monitor.gradients === undefined ? knownNorm(state, applied) : {};
  const asked = statistics(monitor, { optimizer, rates, grads, before, after, updates });
  return { params: after, state, values: { ...values, ...known, ...asked } as Values, ...applied };
}

/** Whether the update took effect, where the optimizer may leave one out. */
function appliedIn(before: OptimizerState, after: OptimizerState): { readonly applied?: Value } {
  const [old, now] = [stateValue(before, "skipped"), stateValue(after, "skipped")];
  return old && now ? { applied: np.subtract(1, np.subtract(now, old)) } : {};
}

/** The norm that the optimizer clips by. Of an update that was left out it has only that of the one before. */
function knownNorm(state: OptimizerState, { applied }: { readonly applied?: Value }): Values {
  const norm = stateValue(state, "norm");
  if (!norm) return {};
  return { gradientNorm: applied ? np.where(applied.equal(1), norm, Number.NaN) : norm };
}

function gradients(spec: UpdateSpec, inputs: UpdateInputs): Gradients {
  const { parts } = spec;
  const rows = parts.reduce((sum, { size, count }) => sum + size * count, 0);
  const of = (key: Value, offset: Value | number, size: number): Gradients => {
    const batch = inputs.rows(offset, size);
    const [[, values], grads] = valueAndGrad((params: Params) =>
      spec.compute({ params, batch, train: true, key, ramps: inputs.ramps }),
    )(inputs.params);
    return [treeMap((value: Value) => value.astype("f32"), values), grads];
  };
  if (parts.length === 1 && parts[0]?.count === 1) return of(inputs.key, 0, rows);
  let [offset, index] = [0, 0];
  const sums = parts.map(({ size, count }): Gradients => {
    const [from, first] = [offset, index];
    offset += size * count;
    index += count;
    const one = (i: Value | number): Gradients => {
      const [values, grads] =
        typeof i === "number"
          ? of(random.foldIn(inputs.key, first + i), from + i * size, size)
          : of(random.foldIn(inputs.key, i.add(first)), i.mul(size).add(from), size);
      return [values, treeMap((grad: Value) => grad.mul(size / rows), grads)];
    };
    return scaled(
      spec.loops && count > 1 ? looped(one, count, inputs.params) : unrolled(one, count),
      size / rows,
    );
  });
  return sums.reduce(added);
}

const added = (a: Gradients, b: Gradients): Gradients => treeMap((x: Value, y: Value) => x.add(y), a, b);
const scaled = ([values, grads]: Gradients, by: number): Gradients => [
  treeMap((value: Value) => value.mul(by), values),
  grads,
];

const unrolled = (one: (i: number) => Gradients, count: number): Gradients =>
  Array.from({ length: count }, (_, i) => one(i)).reduce(added);

function looped(one: (i: Value) => Gradients, count: number, params: Params): Gradients {
  const [grads, stacks] = scan(
    (sum: Params, _x: undefined, i: Value) => {
      const [values, own] = one(i);
      return [treeMap((a: Value, b: Value) => a.add(b), sum, own), values] as const;
    },
    treeMap((param: Value) => np.zerosLike(param), params),
    undefined,
    { length: count },
  );
  return [treeMap((stack: Value) => np.sum(stack), stacks), grads];
}

/** A value of an optimizer's state, where it has one of this name. */
function stateValue(state: OptimizerState, name: string): Value | undefined {
  try {
    return valueIn(state, name);
  } catch (error) {
    if (error instanceof EspalierError && (error.code === "PATH_UNKNOWN" || error.code === "STATE_MISMATCH"))
      return undefined;
    throw error;
  }
}
