import { np } from "../engine/index.ts";
import { blend } from "./blend.ts";
import { leavesOf, zeros } from "./leaves.ts";
import { initMoments, updateMoments } from "./moments.ts";
import type { Optimizer } from "./optimizer.ts";
import { checkOptions, fraction, notNegative, patterns } from "./options.ts";
import { type Mask, masked } from "./paths.ts";
import { listRates, readRates } from "./rates.ts";

/** How `lion` descends. */
export interface LionOptions {
  /** 1e-4 unless given: about a tenth of what Adam would take. */
  readonly learningRate?: number | undefined;
  /** How much of the average is in a step's direction; 0.9 unless given. */
  readonly beta1?: number | undefined;
  /** How slowly the average of gradients moves; 0.99 unless given. */
  readonly beta2?: number | undefined;
  /** Which share of the parameters each step takes off, times the learning rate; 1e-3 unless given. */
  readonly weightDecay?: number | undefined;
  /** Which parameters decay; all unless given. */
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
