import { treeMap } from "../core/index.ts";
import { np, random, scan, type Value, valueAndGrad } from "../engine/index.ts";
import { applyGradients, type MonitorOptions } from "../learner/index.ts";
import type { Params } from "../nn/index.ts";
import type { Optimizer, OptimizerState, Rates } from "../optim/index.ts";
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
  const { params, state, rates } = inputs;
  return applyGradients({ optimizer, monitor, params, state, rates, grads, values });
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
