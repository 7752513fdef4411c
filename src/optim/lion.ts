import { checkOptions } from "../core/index.ts";
import { np } from "../engine/index.ts";
import { fraction, leavesOf, type Mask, masked, notNegative, patterns, zeros } from "./leaves.ts";
import { blend, initMoments, updateMoments } from "./moments.ts";

import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link lion}. */
export interface LionOptions {
  /** Default: 1e-4, about a tenth of what Adam would take. */
  readonly learningRate?: number | undefined;
  /** Share of the average in a step's direction. Default: 0.9. */
  readonly beta1?: number | undefined;
  /** Decay of the average of gradients. Default: 0.99. */
  readonly beta2?: number | undefined;
  /** Weight decay per step, times the learning rate. Default: 1e-3. */
  readonly weightDecay?: number | undefined;
  /** Parameters that decay. Default: all. */
  readonly mask?: Mask | undefined;
}

/**
 * Lion: steps of one size, by the sign of an average gradient. Equals `optax.lion`.
 *
 * @example
 * ```ts
 * const optimizer = optim.lion({ learningRate: 1e-4, weightDecay: 0.1 });
 * ```
 */
export function lion(options: LionOptions = {}): Optimizer {
  checkOptions("lion", options, {
    learningRate: notNegative,
    beta1: fraction,
    beta2: fraction,
    weightDecay: notNegative,
    mask: patterns,
  });
  const { learningRate = 1e-4, beta1 = 0.9, beta2 = 0.99, weightDecay = 1e-3, mask } = options;
  const defaults = { learningRate, beta1, beta2, weightDecay };
  return {
    kind: "lion",
    rates: listRates(defaults),
    init: (params) => {
      masked("lion", mask, leavesOf("lion", params));
      return initMoments("lion", params, (_path, param) => ({ m: zeros(param) }));
    },
    update: (grads, state, params, rates) => {
      const rate = readRates("lion", defaults, rates);
      const decays = masked("lion", mask, leavesOf("lion", params));
      const [step, decay] = [rate.learningRate.neg(), rate.learningRate.mul(rate.weightDecay).neg()];
      const { updates, moments } = updateMoments(
        "lion",
        grads,
        state,
        params,
        ({ path, grad, param, moment }) => {
          const old = moment("m");
          const update = np.sign(blend(rate.beta1, old, grad)).mul(step);
          return {
            update: decays(path) ? update.add(param.mul(decay)) : update,
            moments: { m: blend(rate.beta2, old, grad) },
          };
        },
      );
      return { updates, state: moments };
    },
  };
}
