import { customGradient, np, stopGradient, type Value } from "../../engine/index.ts";

/** exp(x - max(x)) along the last axis, and 1 / their sums; where all are minus infinity both are 0. */
function exponentials(logits: Value, mayBeEmpty: boolean): { readonly exps: Value; readonly scale: Value } {
  const largest = stopGradient(np.max(logits, { axis: -1, keepdims: true }));
  const shift = mayBeEmpty ? np.where(np.isFinite(largest), largest, 0) : largest;
  const exps = np.exp(np.subtract(logits, shift));
  const sums = np.sum(exps, { axis: -1, keepdims: true });
  const scale = mayBeEmpty
    ? np.where(np.equal(sums, 0), 0, np.divide(1, np.where(np.equal(sums, 0), 1, sums)))
    : np.divide(1, sums);
  return { exps, scale };
}

/** How logits become weights. */
export interface Weighing {
  /** Whether a query may see no key at all: it gets zeros. */
  readonly mayBeEmpty: boolean;
  /** What weights are multiplied by once they are made, shaped like the logits: for dropout. */
  readonly factor?: Value | undefined;
}

/**
 * softmax(logits) @ values for stacks of matrices [n, queries, keys] and [n, keys, dim]. The sums divide the result,
 * which is smaller than the weights, and on the way back the product of weights and their cotangents is taken from
 * the result, too: fewer passes over [queries, keys] than a softmax and a product have by themselves.
 */
export function weighed(logits: Value, values: Value, { mayBeEmpty, factor }: Weighing): Value {
  const ones = factor ?? np.ones([]);
  const times = (x: Value, by: Value): Value => (factor ? np.multiply(x, by) : x);
  return customGradient(
    (x: Value, v: Value, by: Value): Value => {
      const { exps, scale } = exponentials(x, mayBeEmpty);
      return np.multiply(np.matmul(times(exps, by), v), scale);
    },
    ([x, v, by], result, cotangent) => {
      // The same as on the way forward, so that the compiler computes it once.
      const { exps, scale } = exponentials(x, mayBeEmpty);
      const scaled = np.multiply(cotangent, scale);
      const mean = np.sum(np.multiply(scaled, result), { axis: -1, keepdims: true });
      const ofWeights = np.matmul(scaled, np.swapaxes(v, -1, -2));
      return [
        np.multiply(exps, np.subtract(times(ofWeights, by), mean)),
        np.matmul(np.swapaxes(times(exps, by), -1, -2), scaled),
        np.zerosLike(by),
      ];
    },
  )(logits, values, ones);
}
