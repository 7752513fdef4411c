import { treeMap } from "../core/index.ts";
import { np, Value } from "../engine/index.ts";
import { noUpdate } from "./apply.ts";
import { stateIn } from "./chain.ts";
import { leavesLike, leavesOf } from "./leaves.ts";
import { lost, zeroCount } from "./moments.ts";
import { checkOptimizer, type Optimizer, type OptimizerState } from "./optimizer.ts";
import { allFinite } from "./sums.ts";

/**
 * Leaves parameters and the inner state as they are, bit for bit, where any gradient is infinite or not a number. The
 * state is `{ skipped, skippedInRow, inner }`: how often that was, and how often just now without a good step
 * between. All on the device: nothing waits for the answer.
 *
 * @example
 * ```ts
 * const optimizer = optim.skipNonFinite(optim.chain(optim.clipByGlobalNorm(1), optim.adam()));
 * ```
 */
export function skipNonFinite(optimizer: Optimizer): Optimizer {
  const kind = "skipNonFinite";
  checkOptimizer(kind, "the optimizer", optimizer);
  return {
    kind,
    rates: optimizer.rates,
    init: (params) => ({
      skipped: zeroCount(),
      skippedInRow: zeroCount(),
      ...withInner(optimizer.init(params)),
    }),
    update: (grads, state, params, rates) => {
      const { skipped, skippedInRow } = state;
      if (!(skipped instanceof Value)) return lost(kind, "skipped");
      if (!(skippedInRow instanceof Value)) return lost(kind, "skippedInRow");
      const given = leavesLike(kind, leavesOf(kind, params), grads, "gradients");
      const good = given.values
        .map(allFinite)
        .reduce((all, one) => np.logicalAnd(all, one), np.full([], 1, { dtype: "bool" }));
      const inner = stateIn(state, "inner");
      const next = optimizer.update(grads, inner, params, rates);
      const keep = (now: Value, old: Value): Value => np.where(good, now, old);
      return {
        updates: treeMap((update: Value) => keep(update, noUpdate(update)), next.updates),
        state: {
          skipped: keep(skipped, skipped.add(1)),
          skippedInRow: keep(np.zeros([], { dtype: "i32" }), skippedInRow.add(1)),
          ...withInner(treeMap(keep, next.state, inner)),
        },
      };
    },
  };
}

const withInner = (inner: OptimizerState): OptimizerState => (Object.keys(inner).length > 0 ? { inner } : {});
