import { np, type Value } from "../engine/index.ts";
import { leavesOf, wide } from "./leaves.ts";
import { initNothing, updateMoments } from "./moments.ts";
import type { Optimizer } from "./optimizer.ts";
import { checkValue, positive } from "./options.ts";
import { readRates } from "./rates.ts";
import { sumOfSquares } from "./sums.ts";

/** The root of the sum of squares of all elements of a tree. */
export function globalNorm(tree: unknown): Value {
  const squares = leavesOf("globalNorm", tree, "values").values.map((value) => sumOfSquares(wide(value)));
  return squares.reduce((sum, square) => sum.add(square), np.zeros([])).sqrt();
}

/**
 * Scales gradients down where the norm of all of them together is above `maxNorm`. The state's `norm` is the one
 * before clipping. Equals `optax.clip_by_global_norm`. `maxNorm` is a rate.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.clipByGlobalNorm(1), optim.adam());
 * ```
 */
export function clipByGlobalNorm(maxNorm: number): Optimizer {
  const kind = "clipByGlobalNorm";
  checkValue(kind, "maxNorm", maxNorm, positive);
  return {
    kind,
    rates: { maxNorm },
    init: (params) => ({ ...initNothing(kind, params), norm: np.zeros([]) }),
    update: (grads, state, params, rates) => {
      const rate = readRates(kind, { maxNorm }, rates);
      const norm = globalNorm(grads);
      const factor = np.where(norm.less(rate.maxNorm), 1, rate.maxNorm.div(norm));
      const { updates } = updateMoments(kind, grads, state, params, ({ grad }) => ({
        update: grad.mul(factor),
      }));
      return { updates, state: { norm } };
    },
  };
}

/**
 * Cuts every element of the gradients to at most `maxAbs` either way. Equals `optax.clip`. `maxAbs` is a rate.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.clip(0.5), optim.sgd());
 * ```
 */
export function clip(maxAbs: number): Optimizer {
  checkValue("clip", "maxAbs", maxAbs, positive);
  return {
    kind: "clip",
    rates: { maxAbs },
    init: (params) => initNothing("clip", params),
    update: (grads, state, params, rates) => {
      const rate = readRates("clip", { maxAbs }, rates);
      const least = rate.maxAbs.neg();
      const { updates } = updateMoments("clip", grads, state, params, ({ grad }) => ({
        update: grad.clip(least, rate.maxAbs),
      }));
      return { updates, state: {} };
    },
  };
}
