import type { Value, ValueLike } from "../engine/index.ts";
import { noUpdate } from "./apply.ts";
import { type Leaves, leavesOf, treeOf } from "./leaves.ts";
import { checkOptimizer, type Optimizer, type OptimizerState, type Rates } from "./optimizer.ts";
import { checkValue, patterns } from "./options.ts";
import { byPath, part, parts } from "./partition.ts";
import { type Mask, matchMask } from "./paths.ts";

/**
 * Trains all parameters but some. The optimizer never sees those that are frozen: no state is kept for them, their
 * gradients count in no norm (and are not even computed), and they stay as they are, bit for bit.
 *
 * @example
 * ```ts
 * const optimizer = optim.freeze("encoder", optim.adamw({ learningRate: 1e-4 }));
 * ```
 */
export function freeze(frozen: Mask, optimizer: Optimizer): Optimizer {
  const kind = "freeze";
  checkValue(kind, "frozen", frozen, patterns);
  checkOptimizer(kind, "the optimizer", optimizer);
  const trained = (leaves: Leaves): readonly boolean[] => matchMask(kind, frozen, leaves).map((yes) => !yes);
  return {
    kind,
    rates: optimizer.rates,
    init: (params) => {
      const leaves = leavesOf(kind, params);
      return optimizer.init(part(leaves, trained(leaves)));
    },
    update: <P>(grads: P, state: OptimizerState, params: P, rates?: Rates<ValueLike>) => {
      const leaves = leavesOf(kind, params);
      const inside = parts(kind, leaves, grads, trained(leaves));
      const next = optimizer.update(inside.grads, state, inside.params, rates);
      const updates = byPath(kind, next.updates);
      const all = leaves.values.map(
        (param, i): Value => updates.get(leaves.paths[i] as string) ?? noUpdate(param),
      );
      return { updates: treeOf(leaves.shape, all) as P, state: next.state };
    },
  };
}
