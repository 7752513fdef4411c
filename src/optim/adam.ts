import { checkOptions } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";
import { flag, fraction, leavesOf, type Mask, masked, notNegative, patterns, zeros } from "./leaves.ts";
import {
  blend,
  correction,
  initMoments,
  type Leaf,
  type LeafUpdate,
  nextCount,
  updateMoments,
  zeroCount,
} from "./moments.ts";

import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link adam}. */
export interface AdamOptions {
  /** Default: 1e-3. */
  readonly learningRate?: number | undefined;
  /** Decay of the average of gradients. Default: 0.9. */
  readonly beta1?: number | undefined;
  /** Decay of the average of squared gradients. Default: 0.999. */
  readonly beta2?: number | undefined;
  /** Keeps divisions away from zero. Default: 1e-8. */
  readonly epsilon?: number | undefined;
  /** Divides by the largest average of squares there has been. */
  readonly amsgrad?: boolean | undefined;
  /** Looks ahead along the average of gradients, as optax's `nesterov` does (NAdam). */
  readonly nesterov?: boolean | undefined;
  /** Added to gradients as `weightDecay * params`. Default: none. */
  readonly weightDecay?: number | undefined;
}

/** Options of {@link adamw}. */
export interface AdamwOptions extends Omit<AdamOptions, "weightDecay"> {
  /** Weight decay per step, times the learning rate. Default: 1e-2. */
  readonly weightDecay?: number | undefined;
  /** Parameters that decay. Default: all. */
  readonly mask?: Mask | undefined;
}

const checks = {
  learningRate: notNegative,
  beta1: fraction,
  beta2: fraction,
  epsilon: notNegative,
  amsgrad: flag,
  nesterov: flag,
  weightDecay: notNegative,
};

/**
 * Adam: steps by the average gradient over the root of the average square. Equals `torch.optim.Adam`.
 *
 * @example
 * ```ts
 * const optimizer = optim.adam({ learningRate: 3e-4, beta2: 0.95 });
 * ```
 */
export function adam(options: AdamOptions = {}): Optimizer {
  checkOptions("adam", options, checks);
  return adamLike("adam", options, options.weightDecay, false, undefined);
}

/**
 * Adam with weight decay apart from the gradients. Equals `torch.optim.AdamW`.
 *
 * @example
 * ```ts
 * const optimizer = optim.adamw({ learningRate: 3e-4, weightDecay: 0.1, mask: ["!**.b", "!**.scale"] });
 * ```
 */
export function adamw(options: AdamwOptions = {}): Optimizer {
  checkOptions("adamw", options, { ...checks, mask: patterns });
  return adamLike("adamw", options, options.weightDecay ?? 1e-2, true, options.mask);
}

function adamLike(
  kind: string,
  options: AdamOptions,
  weightDecay: number | undefined,
  decoupled: boolean,
  mask: Mask | undefined,
): Optimizer {
  const { learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = options;
  const { amsgrad = false, nesterov = false } = options;
  const defaults = { learningRate, beta1, beta2, weightDecay };
  return {
    kind,
    rates: listRates(defaults),
    init: (params) => {
      masked(kind, mask, leavesOf(kind, params));
      const moments = initMoments(kind, params, (_path, param) => ({
        m: zeros(param),
        v: zeros(param),
        ...(amsgrad && { vMax: zeros(param) }),
      }));
      return { count: zeroCount(), ...moments };
    },
    update: (grads, state, params, rates) => {
      const rate = readRates(kind, defaults, rates);
      const { count, t } = nextCount(kind, state);
      const decays = masked(kind, mask, leavesOf(kind, params));
      const rule = adamRule(rate, t, { epsilon, amsgrad, nesterov });
      const { updates, moments } = updateMoments(kind, grads, state, params, (leaf) => {
        const { weightDecay: decay } = rate;
        if (!decay || !decays(leaf.path)) return rule(leaf);
        if (!decoupled) return rule({ ...leaf, grad: leaf.grad.add(leaf.param.mul(decay)) });
        const { update, moments } = rule(leaf);
        return { update: update.sub(leaf.param.mul(rate.learningRate.mul(decay))), moments };
      });
      return { updates, state: { count, ...moments } };
    },
  };
}

interface AdamRates {
  readonly learningRate: Value;
  readonly beta1: Value;
  readonly beta2: Value;
}

/** Adam's rule for one parameter. All that is the same for every parameter is computed here, once. */
export function adamRule(
  { learningRate, beta1, beta2 }: AdamRates,
  t: Value,
  options: { readonly epsilon: number; readonly amsgrad?: boolean; readonly nesterov?: boolean },
): (leaf: Leaf) => LeafUpdate {
  const { epsilon, amsgrad = false, nesterov = false } = options;
  const step = learningRate.div(correction(beta1, t)).neg();
  const scale = np.rsqrt(correction(beta2, t));
  const ahead = nesterov
    ? {
        m: learningRate
          .mul(beta1)
          .div(correction(beta1, t.add(1)))
          .neg(),
        g: step.mul(np.subtract(1, beta1)),
      }
    : undefined;
  return ({ grad, moment }) => {
    const m = blend(beta1, moment("m"), grad);
    const v = blend(beta2, moment("v"), grad.square());
    const vMax = amsgrad ? np.maximum(moment("vMax"), v) : undefined;
    const root = (vMax ?? v).sqrt().mul(scale).add(epsilon);
    const direction = ahead ? m.mul(ahead.m).add(grad.mul(ahead.g)) : m.mul(step);
    return { update: direction.div(root), moments: { m, v, ...(vMax && { vMax }) } };
  };
}
