import { badOption, checkOptions } from "../core/index.ts";
import { flag, fraction, notNegative, zeros } from "./leaves.ts";
import { initMoments, type Moments, updateMoments } from "./moments.ts";
import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link sgd}. Each is a rate, and can change from step to step. */
export interface SgdOptions {
  /** Default: 1e-2. */
  readonly learningRate?: number | undefined;
  /** Share of the last step's direction that is kept. Default: none, without any state. */
  readonly momentum?: number | undefined;
  /** Looks ahead along the momentum. */
  readonly nesterov?: boolean | undefined;
  /** Added to gradients as `weightDecay * params`. Default: none. */
  readonly weightDecay?: number | undefined;
}

/**
 * Gradient descent, with momentum where asked. Equals `torch.optim.SGD`.
 *
 * @example
 * ```ts
 * const optimizer = optim.sgd({ learningRate: 0.1, momentum: 0.9, nesterov: true });
 * ```
 */
export function sgd(options: SgdOptions = {}): Optimizer {
  checkOptions("sgd", options, {
    learningRate: notNegative,
    momentum: fraction,
    nesterov: flag,
    weightDecay: notNegative,
  });
  const { learningRate = 1e-2, momentum, nesterov = false, weightDecay } = options;
  if (nesterov && momentum === undefined)
    throw badOption("sgd", "nesterov needs momentum", "give both: sgd({ momentum: 0.9, nesterov: true })");
  const defaults = { learningRate, momentum, weightDecay };
  return {
    kind: "sgd",
    rates: listRates(defaults),
    init: (params) =>
      initMoments(
        "sgd",
        params,
        (_path, param): Moments => (momentum === undefined ? {} : { m: zeros(param) }),
      ),
    update: (grads, state, params, rates) => {
      const rate = readRates("sgd", defaults, rates);
      const step = rate.learningRate.neg();
      const { updates, moments } = updateMoments("sgd", grads, state, params, ({ grad, param, moment }) => {
        const g = rate.weightDecay ? grad.add(param.mul(rate.weightDecay)) : grad;
        if (!rate.momentum) return { update: g.mul(step) };
        const m = moment("m").mul(rate.momentum).add(g);
        return { update: (nesterov ? g.add(m.mul(rate.momentum)) : m).mul(step), moments: { m } };
      });
      return { updates, state: moments };
    },
  };
}
