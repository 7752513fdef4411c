import { checkOptions, option } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";
import {
  flag,
  fraction,
  leavesOf,
  type Mask,
  masked,
  notNegative,
  patterns,
  positive,
  wholePositive,
  zeros,
} from "./leaves.ts";
import { blend, initMoments, type Moments, nextCount, rms, updateMoments, zeroCount } from "./moments.ts";

import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link adafactor}. */
export interface AdafactorOptions {
  /** Default: 1e-2, relative to the size of each parameter. */
  readonly learningRate?: number | undefined;
  /** Parameters whose two largest axes are at least this long keep averages of rows and columns. Default: 128. */
  readonly minSizeToFactor?: number | undefined;
  /** Averages move by `t^-decay` in step t. Default: 0.8. */
  readonly decay?: number | undefined;
  /** Makes steps relative to the root mean square of each parameter. Default: true. */
  readonly relativeStep?: boolean | undefined;
  /** Largest root mean square of a parameter's step before rates; `Infinity` for no clipping. Default: 1. */
  readonly clipThreshold?: number | undefined;
  /** Decay of an average of steps. Default: none. */
  readonly momentum?: number | undefined;
  /** Weight decay per step, independent of the learning rate. Default: none. */
  readonly weightDecay?: number | undefined;
  /** Parameters that decay. Default: all. */
  readonly mask?: Mask | undefined;
  /** Added to squared gradients. Default: 1e-30. */
  readonly epsilon?: number | undefined;
}

/**
 * Adafactor: Adam's scaling with averages of rows and columns in place of one for every element, to save memory.
 * Equals `optax.adafactor`, whose `learning_rate=None` is `learningRate: 1`.
 *
 * @example
 * ```ts
 * const optimizer = optim.adafactor({ learningRate: 0.01 });
 * ```
 */
export function adafactor(options: AdafactorOptions = {}): Optimizer {
  checkOptions("adafactor", options, {
    learningRate: notNegative,
    minSizeToFactor: wholePositive,
    decay: positive,
    relativeStep: flag,
    clipThreshold: option.number({ above: 0, infinite: true }),
    momentum: fraction,
    weightDecay: notNegative,
    mask: patterns,
    epsilon: notNegative,
  });
  const { learningRate = 1e-2, momentum, weightDecay, mask, minSizeToFactor = 128 } = options;
  const { decay = 0.8, relativeStep = true, clipThreshold = 1, epsilon = 1e-30 } = options;
  const defaults = { learningRate, momentum, weightDecay };
  return {
    kind: "adafactor",
    rates: listRates(defaults),
    init: (params) => {
      masked("adafactor", mask, leavesOf("adafactor", params));
      const moments = initMoments("adafactor", params, (_path, param): Moments => {
        const axes = factoredAxes(param, minSizeToFactor);
        const squares: Moments = axes
          ? {
              vRow: zeros(param, without(param, axes.last)),
              vColumn: zeros(param, without(param, axes.first)),
            }
          : { v: zeros(param) };
        return momentum === undefined ? squares : { ...squares, m: zeros(param) };
      });
      return { count: zeroCount(), ...moments };
    },
    update: (grads, state, params, rates) => {
      const rate = readRates("adafactor", defaults, rates);
      const { count, t } = nextCount("adafactor", state);
      const decays = masked("adafactor", mask, leavesOf("adafactor", params));
      const beta = np.subtract(1, np.power(t, -decay));
      const { updates, moments } = updateMoments("adafactor", grads, state, params, (leaf) => {
        const { path, param } = leaf;
        const { scaled, squares } = scaleBySquares(leaf, beta, minSizeToFactor, epsilon);
        const size = rms(scaled).div(clipThreshold);
        const clipped = clipThreshold === Number.POSITIVE_INFINITY ? scaled : scaled.div(np.maximum(size, 1));
        const factor = relativeStep ? rate.learningRate.mul(np.maximum(rms(param), 1e-3)) : rate.learningRate;
        const m = rate.momentum ? blend(rate.momentum, leaf.moment("m"), clipped.mul(factor)) : undefined;
        const step = m ? m.neg() : clipped.mul(factor.neg());
        return {
          update: rate.weightDecay && decays(path) ? step.sub(param.mul(rate.weightDecay)) : step,
          moments: m ? { ...squares, m } : squares,
        };
      });
      return { updates, state: { count, ...moments } };
    },
  };
}

interface Axes {
  /** The second largest axis. */
  readonly first: number;
  /** The largest. */
  readonly last: number;
}

/** The two largest axes, the later ones among equals, if both are long enough. */
function factoredAxes({ shape }: Value, least: number): Axes | undefined {
  const sorted = shape
    .map((_, axis) => axis)
    .sort((x, y) => (shape[x] as number) - (shape[y] as number) || x - y);
  const [first, last] = [sorted.at(-2), sorted.at(-1)];
  if (first === undefined || last === undefined || (shape[first] as number) < least) return undefined;
  return { first, last };
}

const without = ({ shape }: Value, axis: number): readonly number[] => shape.filter((_, i) => i !== axis);

function scaleBySquares(
  { grad, moment }: { readonly grad: Value; moment(name: string, shape?: readonly number[]): Value },
  beta: Value,
  least: number,
  epsilon: number,
): { readonly scaled: Value; readonly squares: Moments } {
  const square = grad.square().add(epsilon);
  const axes = factoredAxes(grad, least);
  if (!axes) {
    const v = blend(beta, moment("v"), square);
    return { scaled: grad.mul(np.rsqrt(v)), squares: { v } };
  }
  const { first, last } = axes;
  const vRow = blend(beta, moment("vRow", without(grad, last)), np.mean(square, { axis: last }));
  const vColumn = blend(beta, moment("vColumn", without(grad, first)), np.mean(square, { axis: first }));
  const mean = np.mean(vRow, { axis: first > last ? first - 1 : first, keepdims: true });
  const ofRows = np.expandDims(np.rsqrt(vRow.div(mean)), last);
  const ofColumns = np.expandDims(np.rsqrt(vColumn), first);
  return { scaled: grad.mul(ofRows).mul(ofColumns), squares: { vRow, vColumn } };
}
