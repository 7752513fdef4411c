import { shown } from "../core/index.ts";
import { leavesOf } from "./leaves.ts";
import { initNothing, updateMoments } from "./moments.ts";
import type { Optimizer } from "./optimizer.ts";
import { badOption, checkOptions, checkValue, finite, notNegative, patterns } from "./options.ts";
import { type Mask, masked } from "./paths.ts";
import { readRates } from "./rates.ts";

/**
 * Multiplies updates by a number that never changes.
 *
 * @example
 * ```ts
 * // The encoder learns at a tenth of whatever the learning rate is.
 * optim.groups({ encoder: optim.chain(optim.adam(), optim.scale(0.1)), "*": optim.adam() });
 * ```
 */
export function scale(factor: number): Optimizer {
  checkValue("scale", "factor", factor, finite);
  return {
    kind: "scale",
    rates: {},
    init: (params) => initNothing("scale", params),
    update: (grads, state, params, rates) => {
      readRates("scale", {}, rates);
      const { updates } = updateMoments("scale", grads, state, params, ({ grad }) => ({
        update: grad.mul(factor),
      }));
      return { updates, state: {} };
    },
  };
}

/**
 * Multiplies updates by a rate of any name, which is `initial` unless given.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.adam(), optim.scaleByRate("warmup", 1));
 * optimizer.update(grads, state, params, { learningRate, warmup });
 * ```
 */
export function scaleByRate(name: string, initial = 1): Optimizer {
  if (typeof name !== "string" || name === "")
    throw badOption("scaleByRate", `${shown(name)} names no rate`, 'give a name: scaleByRate("warmup")');
  checkValue("scaleByRate", name, initial, finite);
  return {
    kind: "scaleByRate",
    rates: { [name]: initial },
    init: (params) => initNothing("scaleByRate", params),
    update: (grads, state, params, rates) => {
      const factor = readRates("scaleByRate", { [name]: initial }, rates)[name];
      const { updates } = updateMoments("scaleByRate", grads, state, params, ({ grad }) => ({
        update: factor ? grad.mul(factor) : grad,
      }));
      return { updates, state: {} };
    },
  };
}

/** Which parameters decay. */
export interface DecayOptions {
  /** All unless given. */
  readonly mask?: Mask | undefined;
}

/**
 * Adds `weightDecay * params` to gradients, or to what a transform before it has made of them. Equals
 * `optax.add_decayed_weights`. `weightDecay` is a rate.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.addDecayedWeights(1e-4, { mask: "**.w" }), optim.sgd({ momentum: 0.9 }));
 * ```
 */
export function addDecayedWeights(weightDecay: number, options: DecayOptions = {}): Optimizer {
  const kind = "addDecayedWeights";
  checkValue(kind, "weightDecay", weightDecay, notNegative);
  checkOptions(kind, options, { mask: patterns });
  return {
    kind,
    rates: { weightDecay },
    init: (params) => {
      masked(kind, options.mask, leavesOf(kind, params));
      return {};
    },
    update: (grads, state, params, rates) => {
      const rate = readRates(kind, { weightDecay }, rates);
      const decays = masked(kind, options.mask, leavesOf(kind, params));
      const { updates } = updateMoments(kind, grads, state, params, ({ path, grad, param }) => ({
        update: decays(path) ? grad.add(param.mul(rate.weightDecay)) : grad,
      }));
      return { updates, state: {} };
    },
  };
}
