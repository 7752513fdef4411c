import { np } from "../engine/index.ts";
import { leavesLike, leavesOf, treeOf, wide } from "./leaves.ts";

/**
 * The next parameters: each plus its update, in its own element type.
 *
 * @example
 * ```ts
 * const { updates, state: next } = optimizer.update(grads, state, params, rates);
 * return { params: optim.applyUpdates(params, updates), state: next };
 * ```
 */
export function applyUpdates<P>(params: P, updates: P): P {
  const leaves = leavesOf("applyUpdates", params);
  const given = leavesLike("applyUpdates", leaves, updates, "updates");
  const next = leaves.values.map((param, i) => {
    const sum = wide(param).add(given.values[i] as typeof param);
    return sum.dtype === param.dtype ? sum : sum.astype(param.dtype);
  });
  return treeOf(leaves.shape, next) as P;
}

/**
 * An update that changes nothing, not even a sign: 0 added to -0 would give 0.
 */
export const noUpdate = (like: { readonly shape: readonly number[] }) => np.full(like.shape, -0);
