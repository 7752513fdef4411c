import { expect } from "vitest";
import { flatten, treeLeaves, unflatten } from "../../core/index.ts";
import type { Dense } from "../../engine/conformance/dense.test-support.ts";
import { expectSame, parseTensor } from "../../engine/conformance/dense.test-support.ts";
import { onEngine } from "../../engine/conformance/run.test-support.ts";
import { type EngineName, grad, isFloat, np, Value } from "../../engine/index.ts";
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

export const tensor = (text: string): Dense => parseTensor(text) as Dense;
export const tensors = (text: Text): Dense[] => treeLeaves<string>(text as never).map(tensor);

/** 1e-5 of the number, or of 1 where sums of parts around 1 come out smaller. */
export const closeness = { tolerance: 1e-5, floor: 1 };

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
