import { badOption, checkOptions, checkValue, shown, treeMap } from "../core/index.ts";
import { np, Value } from "../engine/index.ts";
import { stateIn } from "./chain.ts";
import {
  finite,
  fraction,
  leavesLike,
  leavesOf,
  type Mask,
  masked,
  notNegative,
  patterns,
  positive,
  wide,
} from "./leaves.ts";
import {
  allFinite,
  blend,
  initMoments,
  initNothing,
  lost,
  sumOfSquares,
  updateMoments,
  zeroCount,
} from "./moments.ts";
import {
  applyUpdates,
  checkOptimizer,
  noUpdate,
  type Optimizer,
  type OptimizerState,
  readRates,
} from "./optimizer.ts";

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
 * Multiplies updates by a rate of any name, `initial` by default.
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

/** Options of weight decay. */
export interface DecayOptions {
  /** Default: All. */
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

/** Options of {@link ema}. */
export interface EmaOptions {
  /** Decay of the average, a rate. Default: 0.999. */
  readonly decay?: number | undefined;
}

/**
 * Keeps a moving average of the parameters as they will be after this update, in the state's `average`, starting from
 * the first ones. It changes no updates; put it last in a chain. Equals `torch.optim.swa_utils.AveragedModel` with
 * `get_ema_multi_avg_fn`.
 *
 * @example
 * ```ts
 * const optimizer = optim.chain(optim.adam(), optim.ema({ decay: 0.999 }));
 * const smooth = optim.treeIn(state, "average"); // a tree like the parameters
 * ```
 */
export function ema(options: EmaOptions = {}): Optimizer {
  checkOptions("ema", options, { decay: fraction });
  const { decay = 0.999 } = options;
  return {
    kind: "ema",
    rates: { decay },
    init: (params) => initMoments("ema", params, (_path, param) => ({ average: wide(param) })),
    update: (grads, state, params, rates) => {
      const rate = readRates("ema", { decay }, rates);
      const next = applyUpdates(params, grads);
      const { moments } = updateMoments("ema", grads, state, next, ({ param, grad, moment }) => ({
        update: grad,
        moments: { average: blend(rate.decay, moment("average"), param) },
      }));
      return { updates: grads, state: moments };
    },
  };
}

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
