import { checkOptions } from "../core/index.ts";
import { np } from "../engine/index.ts";
import { flag, fraction, notNegative, zeros } from "./leaves.ts";
import { blend, initMoments, updateMoments } from "./moments.ts";

import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link rmsprop}. */
export interface RmspropOptions {
  /** Default: 1e-2. */
  readonly learningRate?: number | undefined;
  /** Decay of the average of squared gradients. Default: 0.99. */
  readonly decay?: number | undefined;
  /** Keeps divisions away from zero. Default: 1e-8. */
  readonly epsilon?: number | undefined;
  /** Adds epsilon under the square root, as optax does, and not after it, as PyTorch does. */
  readonly epsilonInRoot?: boolean | undefined;
  /** Divides by the standard deviation of gradients instead of their root mean square. */
  readonly centered?: boolean | undefined;
  /** Share of the last step's direction that is kept. Default: none. */
  readonly momentum?: number | undefined;
  /** Added to gradients as `weightDecay * params`. Default: none. */
  readonly weightDecay?: number | undefined;
}

/**
 * Descent by gradients divided by the root of their average square. Equals `torch.optim.RMSprop`.
 *
 * @example
 * ```ts
 * const optimizer = optim.rmsprop({ learningRate: 1e-3, centered: true });
 * ```
 */
export function rmsprop(options: RmspropOptions = {}): Optimizer {
  checkOptions("rmsprop", options, {
    learningRate: notNegative,
    decay: fraction,
    epsilon: notNegative,
    epsilonInRoot: flag,
    centered: flag,
    momentum: fraction,
    weightDecay: notNegative,
  });
  const { learningRate = 1e-2, decay = 0.99, momentum, weightDecay } = options;
  const { epsilon = 1e-8, epsilonInRoot = false, centered = false } = options;
  const defaults = { learningRate, decay, momentum, weightDecay };
  return {
    kind: "rmsprop",
    rates: listRates(defaults),
    init: (params) =>
      initMoments("rmsprop", params, (_path, param) => ({
        v: zeros(param),
        ...(centered && { mean: zeros(param) }),
        ...(momentum !== undefined && { m: zeros(param) }),
      })),
    update: (grads, state, params, rates) => {
      const rate = readRates("rmsprop", defaults, rates);
      const step = rate.learningRate.neg();
      const { updates, moments } = updateMoments(
        "rmsprop",
        grads,
        state,
        params,
        ({ grad, param, moment }) => {
          const g = rate.weightDecay ? grad.add(param.mul(rate.weightDecay)) : grad;
          const v = blend(rate.decay, moment("v"), g.square());
          const mean = centered ? blend(rate.decay, moment("mean"), g) : undefined;
          // Rounding can leave a variance below zero.
          const square = mean ? np.maximum(v.sub(mean.square()), 0) : v;
          const root = epsilonInRoot ? square.add(epsilon).sqrt() : square.sqrt().add(epsilon);
          const direction = g.div(root);
          const m = rate.momentum ? moment("m").mul(rate.momentum).add(direction) : undefined;
          return {
            update: (m ?? direction).mul(step),
            moments: { v, ...(mean && { mean }), ...(m && { m }) },
          };
        },
      );
      return { updates, state: moments };
    },
  };
}
