import { np, type Value } from "../engine/index.ts";
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
export function applyUpdates<P>(params: P, updates: NoInfer<P>): P {
  const leaves = leavesOf("applyUpdates", params);
  const given = leavesLike("applyUpdates", leaves, updates, "updates");
  const next = leaves.values.map((param, i) => {
    const update = given.values[i] as Value;
    if (nothing.has(update)) return param;
    const sum = wide(param).add(update);
    return sum.dtype === param.dtype ? sum : sum.astype(param.dtype);
  });
  return treeOf(leaves.shape, next) as P;
}

const nothing = new WeakSet<Value>();

/** An update that leaves a parameter as it is: -0, because 0 added to -0 would give 0. */
export function noUpdate(param: Value): Value {
  const update = np.full(param.shape, -0);
  nothing.add(update);
  return update;
}
