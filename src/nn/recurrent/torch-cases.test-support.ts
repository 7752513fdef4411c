import { expect } from "vitest";
import { flatten, treeLeaves, unflatten } from "../../core/index.ts";
import { type EngineName, grad, isFloat, np, Value, valueAndGrad } from "../../engine/index.ts";
import { expectSame } from "../../testing/compare.ts";
import type { Dense } from "../../testing/dense.ts";
import { parseTensor } from "../../testing/fixture.ts";
import { onEngine } from "../../testing/run.ts";
import type { Params } from "../model.ts";

/** A tree whose leaves are tensors as text. */
export type Text = string | readonly Text[] | { readonly [name: string]: Text };

/** A layer's numbers, which PyTorch has given: see scripts/fixtures/nn_sequence.py. */
export interface TorchCase {
  readonly layer: string;
  readonly args: readonly unknown[];
  readonly params: Text;
  readonly input: Text;
  readonly output: Text;
  readonly gradients: readonly string[];
}

/** A model in training. */
export interface TorchTraining {
  readonly layer: string;
  readonly args: readonly unknown[];
  readonly params: Text;
  readonly input: string;
  readonly targets: string;
  readonly rate: number;
  readonly losses: string;
  readonly trained: Text;
}

export const isTraining = (given: object): boolean => "trained" in given;

/** The one training among a fixture's cases. */
export function trainingOf(cases: readonly object[]): TorchTraining {
  const found = cases.find(isTraining);
  if (!found) throw new Error("the fixture has no training");
  return found as TorchTraining;
}

const tensor = (text: string): Dense => parseTensor(text) as Dense;
const tensors = (text: Text): Dense[] => treeLeaves<string>(text as never).map(tensor);

/** 1e-5 of the number, or of 1 where sums of parts around 1 come out smaller. */
const closeness = { tolerance: 1e-5, floor: 1 };

/** The sum of all elements, the i-th of each result times cos(i). */
const weighted = (results: readonly Value[]): Value =>
  results
    .map((y) => np.sum(np.multiply(y, np.reshape(np.cos(np.arange(y.size, { dtype: "f32" })), y.shape))))
    .reduce((a, b) => np.add(a, b));

/** Compares results and all gradients with PyTorch's. */
export async function holdCase(
  engine: EngineName,
  given: TorchCase,
  apply: (params: Params, input: unknown) => unknown,
): Promise<void> {
  const [paramsShape, inputShape] = [flatten(given.params, []), flatten(given.input, [])];
  const params = tensors(given.params);
  const compute = onEngine(engine, (values) => {
    const by = values.map((value, i) => ({ value, i })).filter(({ value }) => isFloat(value.dtype));
    const run = (leaves: readonly Value[]): Value[] => {
      const p = unflatten(paramsShape, leaves) as Params;
      const result = apply(p, unflatten(inputShape, leaves, params.length));
      return result instanceof Value ? [result] : treeLeaves<Value>(result as never);
    };
    const loss = (...floats: Value[]): Value => {
      const all = [...values];
      by.forEach(({ i }, k) => {
        all[i] = floats[k] as Value;
      });
      return weighted(run(all));
    };
    const grads = grad(loss, { argnums: by.map((_, k) => k) })(...by.map(({ value }) => value));
    return [...run(values), ...grads];
  });
  const results = await compute([...params, ...tensors(given.input)]);
  const expected = [...tensors(given.output), ...given.gradients.map(tensor)];
  expect(results).toHaveLength(expected.length);
  results.forEach((result, i) => {
    expectSame(`${given.layer} on ${engine}, number ${i}`, result, expected[i] as Dense, closeness);
  });
}

/** Trains by plain SGD and compares every loss and the last parameters with PyTorch's. */
export async function holdTraining(
  engine: EngineName,
  run: TorchTraining,
  lossOf: (params: Params, x: Value, targets: Value) => Value,
): Promise<void> {
  const shape = flatten(run.params, []);
  const step = onEngine(engine, ([x, targets, ...leaves]) => {
    const loss = (p: Params): Value => lossOf(p, x as Value, targets as Value);
    const [value, grads] = valueAndGrad(loss)(unflatten(shape, leaves) as Params);
    const slopes = treeLeaves<Value>(grads as never);
    return [value, ...leaves.map((leaf, i) => np.subtract(leaf, np.multiply(slopes[i] as Value, run.rate)))];
  });
  const batch = [tensor(run.input), tensor(run.targets)];
  const losses = tensor(run.losses).data;
  expect(losses).toHaveLength(100);
  expect(losses.at(-1)).toBeLessThan((losses[0] as number) / 1.1);
  let params: readonly Dense[] = tensors(run.params);
  for (const expected of losses) {
    const [loss, ...next] = await step([...batch, ...params]);
    expect(Math.abs(((loss as Dense).data[0] as number) - expected)).toBeLessThanOrEqual(1e-5);
    params = next;
  }
  tensors(run.trained).forEach((expected, i) => {
    expectSame(`parameter ${i} on ${engine}`, params[i] as Dense, expected, closeness);
  });
}
