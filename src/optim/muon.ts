import { checkOptions, EspalierError } from "../core/index.ts";
import { np, type Value } from "../engine/index.ts";
import { adamRule } from "./adam.ts";
import {
  flag,
  fraction,
  type Leaves,
  leavesOf,
  type Mask,
  masked,
  notNegative,
  patterns,
  wholePositive,
  zeros,
} from "./leaves.ts";
import {
  blend,
  correction,
  initMoments,
  type Leaf,
  type LeafUpdate,
  nextCount,
  sumOfSquares,
  updateMoments,
  zeroCount,
} from "./moments.ts";
import { listRates, type Optimizer, readRates } from "./optimizer.ts";

/** Options of {@link muon}. */
export interface MuonOptions {
  /** Default: 2e-2. */
  readonly learningRate?: number | undefined;
  /** Decay of the average of gradients. Default: 0.95. */
  readonly momentum?: number | undefined;
  /** Looks ahead along the average. Default: true. */
  readonly nesterov?: boolean | undefined;
  /** Steps of the Newton-Schulz iteration. Default: 5. */
  readonly steps?: number | undefined;
  /** Keeps divisions away from zero. Default: 1e-8. */
  readonly epsilon?: number | undefined;
  /** Weight decay of matrices per step, times the learning rate. Default: 0. */
  readonly weightDecay?: number | undefined;
  /** Matrices that decay. Default: all. */
  readonly mask?: Mask | undefined;
  /**
   * Which parameters are stepped by Muon, all of them with two axes. Default: those with two axes. Embeddings and
   * the last layer are better left to Adam: `["**.w", "!embed", "!head"]`.
   */
  readonly matrices?: Mask | undefined;
  /** The learning rate of the other parameters, by Adam. Default: Muon's. */
  readonly adamLearningRate?: number | undefined;
  /** Default: 0.9. */
  readonly adamBeta1?: number | undefined;
  /** Default: 0.999. */
  readonly adamBeta2?: number | undefined;
  /** The weight decay of the other parameters. Default: 0. */
  readonly adamWeightDecay?: number | undefined;
}

/**
 * Muon: the average gradient of a matrix with its singular values brought to about 1. Other parameters are stepped by
 * AdamW with the same `nesterov`. Equals `optax.contrib.muon`; weights are [inputs, outputs].
 *
 * @example
 * ```ts
 * const optimizer = optim.muon({ learningRate: 0.02, adamLearningRate: 3e-4, matrices: ["**.w", "!head"] });
 * ```
 */
export function muon(options: MuonOptions = {}): Optimizer {
  checkOptions("muon", options, {
    learningRate: notNegative,
    momentum: fraction,
    nesterov: flag,
    steps: wholePositive,
    epsilon: notNegative,
    weightDecay: notNegative,
    mask: patterns,
    matrices: patterns,
    adamLearningRate: notNegative,
    adamBeta1: fraction,
    adamBeta2: fraction,
    adamWeightDecay: notNegative,
  });
  const { learningRate = 2e-2, momentum = 0.95, weightDecay = 0, mask, adamLearningRate } = options;
  const { nesterov = true, steps = 5, epsilon = 1e-8, matrices = isMatrix } = options;
  const { adamBeta1 = 0.9, adamBeta2 = 0.999, adamWeightDecay = 0 } = options;
  const defaults = {
    learningRate,
    momentum,
    weightDecay,
    adamLearningRate,
    adamBeta1,
    adamBeta2,
    adamWeightDecay,
  };
  return {
    kind: "muon",
    rates: listRates(defaults),
    init: (params) => {
      const leaves = leavesOf("muon", params);
      masked("muon", mask, leaves);
      const orthogonal = matricesAmong(leaves, matrices);
      const moments = initMoments("muon", params, (path, param) =>
        orthogonal(path) ? { m: zeros(param) } : { m: zeros(param), v: zeros(param) },
      );
      return { count: zeroCount(), ...moments };
    },
    update: (grads, state, params, rates) => {
      const rate = readRates("muon", defaults, rates);
      const { count, t } = nextCount("muon", state);
      const leaves = leavesOf("muon", params);
      const [orthogonal, decays] = [matricesAmong(leaves, matrices), masked("muon", mask, leaves)];
      const adamRates = {
        learningRate: rate.adamLearningRate ?? rate.learningRate,
        beta1: rate.adamBeta1,
        beta2: rate.adamBeta2,
      };
      const adam = adamRule(adamRates, t, { epsilon, nesterov });
      const muon = muonRule(rate, t, { epsilon, nesterov, steps });
      const decay = rate.learningRate.mul(rate.weightDecay);
      const adamDecay = adamRates.learningRate.mul(rate.adamWeightDecay);
      const { updates, moments } = updateMoments("muon", grads, state, params, (leaf) => {
        const isMuon = orthogonal(leaf.path);
        const { update, moments } = isMuon ? muon(leaf) : adam(leaf);
        if (isMuon && !decays(leaf.path)) return { update, moments };
        return { update: update.sub(leaf.param.mul(isMuon ? decay : adamDecay)), moments };
      });
      return { updates, state: { count, ...moments } };
    },
  };
}

const isMatrix = (_path: string, value: Value): boolean => value.ndim === 2;

function matricesAmong(leaves: Leaves, matrices: Mask): (path: string) => boolean {
  const chosen = masked("muon", matrices, leaves);
  leaves.values.forEach((value, i) => {
    if (value.ndim === 2 || !chosen(leaves.paths[i] as string)) return;
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `muon: matrices names "${leaves.paths[i]}", which is [${value.shape.join(", ")}]; Muon steps parameters with two axes`,
      { fix: 'name matrices only, e.g. ["**.w"], or leave the option out' },
    );
  });
  return chosen;
}

function muonRule(
  { learningRate, momentum }: { readonly learningRate: Value; readonly momentum: Value },
  t: Value,
  options: { readonly epsilon: number; readonly nesterov: boolean; readonly steps: number },
): (leaf: Leaf) => LeafUpdate {
  const now = correction(momentum, t);
  const ofAverage = options.nesterov ? momentum.div(correction(momentum, t.add(1))) : np.reciprocal(now);
  const ofGradient = np.subtract(1, momentum).div(now);
  const step = learningRate.neg();
  return ({ grad, param, moment }) => {
    const m = blend(momentum, moment("m"), grad);
    const average = m.mul(ofAverage);
    const direction = options.nesterov ? average.add(grad.mul(ofGradient)) : average;
    const [inputs = 1, outputs = 1] = param.shape;
    const size = Math.sqrt(Math.max(1, outputs / inputs));
    return {
      update: orthogonalize(direction, options.steps, options.epsilon).mul(step.mul(size)),
      moments: { m },
    };
  };
}

/** Keller Jordan's coefficients: steep at zero, so that five steps bring small singular values near 1. */
const [a, b, c] = [3.4445, -4.775, 2.0315];

/**
 * A matrix near the one with the same singular vectors and all singular values 1, by `steps` of a quintic
 * Newton-Schulz iteration: products only, no decomposition. After 5 steps, singular values that were above 0.003 of
 * the norm are between 0.68 and 1.2.
 */
export function orthogonalize(matrix: Value, steps: number, epsilon: number): Value {
  const [rows = 0, columns = 0] = matrix.shape;
  // The iteration works on the smaller side: f(X^T) = f(X)^T.
  const tall = rows > columns;
  const wide = tall ? matrix.T : matrix;
  let x = wide.div(sumOfSquares(wide).sqrt().add(epsilon));
  for (let i = 0; i < steps; i++) {
    const gram = np.matmul(x, x.T);
    const factor = gram.mul(b).add(np.matmul(gram, gram).mul(c));
    x = x.mul(a).add(np.matmul(factor, x));
  }
  return tall ? x.T : x;
}
